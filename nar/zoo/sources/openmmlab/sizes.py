"""Capture of networks that read the sizes of their maps from tensors: deformable attention."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from nar.capture import Capture, CaptureInputs
from nar.capture.torch_internals import SHAPE_AS_TENSOR
from nar.zoo.building import Built, Plan, on_meta
from nar.zoo.source import CaptureNamed, by_forward
from nar.zoo.sources.transformers.known_values import known_values


def by_sizes(
    build: Callable[[], nn.Module], inputs: Callable[[nn.Module], CaptureInputs]
) -> CaptureNamed:
    """As `by_forward`, with sizes that can be read. Arguments as there."""
    inner = by_forward(build, inputs, follow=_all_on_meta)

    def capture(name: str) -> Capture:
        with known_values(), _Sizes():
            return inner(name)

    return capture


def _all_on_meta(plan: Plan) -> Built:
    """As `on_meta`, with the weights that ``torch.Tensor(size)`` makes on the CPU all the same."""
    module, example = on_meta(plan)
    return module.to("meta"), example


class _Sizes(TorchFunctionMode):
    """Makes a tensor of a shape from its numbers, which are known, and not from the memory."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function, `torch._shape_as_tensor` by another."""
        if func is SHAPE_AS_TENSOR:
            return torch.as_tensor(args[0].shape, device=args[0].device)
        return func(*args, **(kwargs or {}))
