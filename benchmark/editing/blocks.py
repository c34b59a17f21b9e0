"""Edits of the blocks that a model repeats: a scale, squeeze-and-excitation, half of them."""

from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.editing.surgery import (
    at_home,
    blocks_of,
    convolutions,
    on_first_tensor,
    outputs_of,
    runs_of_blocks,
)
from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture import CaptureInputs
from nar.capture.torch_internals import registered_modules
from nar.zoo.building import Built

REDUCTION = 16
MIN_SQUEEZED = 8


def layer_scale(module: nn.Module, inputs: CaptureInputs) -> Built:
    """A learned vector scales what each block returns."""
    blocks = blocks_of(module)
    outputs = outputs_of(module, inputs, blocks)
    if not outputs:
        raise NotApplicableError("its blocks return no tensor")
    with at_home(module):
        for block, output in outputs.items():
            scale = nn.Parameter(torch.empty(_scale_shape(block, output)))
            block.register_parameter("added_scale", scale)
            block.register_forward_hook(_scaled)
    return module, inputs


def _scaled(block: nn.Module, _args: object, output: object) -> object:
    # Not always a parameter: where a model runs, other tensors may stand for its weights.
    scale = cast("Tensor", block.added_scale)
    return on_first_tensor(output, lambda tensor: tensor * scale)


def _scale_shape(block: nn.Module, output: Tensor) -> tuple[int, ...]:
    """Of one number a channel: channels come first where a block convolves, else last."""
    if output.ndim < 3:
        return (output.shape[-1],)
    widths = {size for weight in block.parameters() for size in weight.shape[:1]}
    first, last = output.shape[1], output.shape[-1]
    is_first = first in widths and (last not in widths or bool(convolutions(block)))
    return (first, *[1] * (output.ndim - 2)) if is_first else (last,)


class SqueezeExcitation(nn.Module):
    """Weighs channels by what they hold on average.

    Args:
        channels: How many.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = max(channels // REDUCTION, MIN_SQUEEZED)
        self.reduce = nn.Linear(channels, squeezed)
        self.expand = nn.Linear(squeezed, channels)

    def forward(self, maps: Tensor) -> Tensor:
        """Maps of shape (batch, channels, ...)."""
        means = maps.flatten(2).mean(2)
        weights = torch.sigmoid(self.expand(functional.relu(self.reduce(means))))
        return maps * weights.reshape(*weights.shape, *[1] * (maps.ndim - 2))


def squeeze_excitation(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Squeeze-and-excitation after the last convolution of each block."""
    last = [layers[-1] for layers in map(convolutions, blocks_of(module)) if layers]
    if not last:
        raise NotApplicableError("no block of it convolves")
    with at_home(module):
        for layer in dict.fromkeys(last):
            layer.add_module("added_excitation", SqueezeExcitation(layer.out_channels))
            layer.register_forward_hook(_excited)
    return module, inputs


def _excited(layer: nn.Module, _args: object, output: Tensor) -> Tensor:
    excitation = layer.get_submodule("added_excitation")
    excited: Tensor = excitation(output)
    return excited


def half_depth(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Every second one of blocks that follow each other and are alike goes."""
    dropped = 0
    for container, blocks in runs_of_blocks(module):
        for name in _every_second(container, blocks):
            del registered_modules(container)[name]
            dropped += 1
        # Lists count their modules by name.
        left = list(registered_modules(container).items())
        registered_modules(container).clear()
        for number, (name, block) in enumerate(left):
            registered_modules(container)[str(number) if name.isdigit() else name] = block
    if not dropped:
        raise NotApplicableError("no two blocks that follow each other are alike")
    return module, inputs


def _every_second(container: nn.Module, blocks: list[nn.Module]) -> list[str]:
    names = [name for name, block in registered_modules(container).items() if block is not None]
    dropped: list[str] = []
    for (before, block), (name, other) in pairwise(zip(names, blocks, strict=True)):
        if before not in dropped and _shapes(block) == _shapes(other):
            dropped.append(name)
    return dropped


def _shapes(block: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(weight.shape) for weight in block.parameters()]
