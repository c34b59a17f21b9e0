"""Rewrites of what goes in: how large it is, how many there are, of which type and layout."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from benchmark.rewriting.rewrite import NotApplicableError, Original, Rewrite, captured
from nar.base.errors import CaptureError
from nar.capture import CaptureInputs
from nar.capture.torch_internals import tree_map_only
from nar.graphs.graph import ComputationalGraph
from nar.zoo.building import Built

MORE_PIXELS = 32
# What each library calls the image size that a model is built for.
_SIZE_KNOBS = {"timm": "img_size", "torchvision": "image_size", "transformers": "image_size"}


def input_rewrites() -> tuple[Rewrite, ...]:
    """Other sizes, batches, types and layouts; the design does not depend on them."""
    return (
        Rewrite("input_size", "equal", other_size),
        Rewrite("batch_2", "equal", batch_of_two),
        Rewrite("bfloat16", "equal", partial(in_type, torch.bfloat16)),
        Rewrite("float16", "equal", partial(in_type, torch.float16)),
        Rewrite("channels_last", "equal", channels_last),
    )


def changed(inputs: CaptureInputs, change: Callable[[Tensor], Tensor]) -> CaptureInputs:
    """Inputs with every tensor changed."""
    args, kwargs = tree_map_only(Tensor, change, (inputs.args, dict(inputs.kwargs)))
    return CaptureInputs(args, kwargs)


def other_size(original: Original) -> ComputationalGraph:
    """More pixels or tokens; a model made for one image size is built for twice that size."""
    for attempt in _of_other_size(original):
        # A library raises anything for a size it does not take.
        try:
            module, inputs = attempt()
            return captured(original.name, module, inputs)
        except (CaptureError, NotApplicableError, TypeError, ValueError, RuntimeError):
            continue
    raise NotApplicableError("it takes one input size only")


def _of_other_size(original: Original) -> Iterator[Callable[[], Built]]:
    yield partial(_longer, original)
    yield partial(_built_for_twice_the_size, original)


def _longer(original: Original) -> Built:
    module, inputs = original.build()
    return module, changed(inputs, _enlarged)


def _enlarged(tensor: Tensor) -> Tensor:
    """Images get more pixels on both sides; rows of tokens or samples begin with half of them."""
    if tensor.dim() == 4:
        *outer, height, width = tensor.shape
        return tensor.new_empty(*outer, height + MORE_PIXELS, width + MORE_PIXELS)
    if tensor.dim() == 2:
        return torch.cat([tensor[:, : tensor.shape[1] // 2], tensor], dim=1)
    raise NotApplicableError(f"an input of shape {tuple(tensor.shape)} has no size")


def _built_for_twice_the_size(original: Original) -> Built:
    _, inputs = original.build()
    images = [tensor for tensor in _tensors(inputs) if tensor.dim() == 4]
    if not images:
        raise NotApplicableError("it takes no image")
    height, width = (2 * extent for extent in images[0].shape[-2:])
    module, inputs = original.build(**{_SIZE_KNOBS[original.library]: height})

    def resized(tensor: Tensor) -> Tensor:
        is_image = tensor.dim() == 4
        return tensor.new_empty(*tensor.shape[:2], height, width) if is_image else tensor

    return module, changed(inputs, resized)


def _tensors(inputs: CaptureInputs) -> list[Tensor]:
    values = (*inputs.args, *inputs.kwargs.values())
    return [value for value in values if isinstance(value, Tensor)]


def batch_of_two(original: Original) -> ComputationalGraph:
    """Every input twice."""
    module, inputs = original.build()
    return captured(original.name, module, changed(inputs, lambda x: torch.cat([x, x])))


def in_type(dtype: torch.dtype, original: Original) -> ComputationalGraph:
    """Weights and float inputs in another type."""
    module, inputs = original.build()
    moved = changed(inputs, lambda x: x.to(dtype) if x.is_floating_point() else x)
    return captured(original.name, module.to(dtype), moved)


def channels_last(original: Original) -> ComputationalGraph:
    """Images and convolutions with the channel as the innermost axis in memory."""
    module, inputs = original.build()
    layout = torch.channels_last
    if not any(tensor.dim() == 4 for tensor in _tensors(inputs)):
        raise NotApplicableError("it takes no image")
    moved = changed(inputs, lambda x: x.to(memory_format=layout) if x.dim() == 4 else x)
    module.to(memory_format=layout)  # type: ignore[call-overload]  # torch leaves it out
    return captured(original.name, module, moved)
