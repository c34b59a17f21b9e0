"""Edits of layers: larger windows, attention in the place of convolutions, gates in MLPs."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.editing.surgery import (
    at_home,
    convolutions,
    replace_modules,
    runs_of_blocks,
    width_of,
)
from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture import CaptureInputs
from nar.capture.torch_internals import AnyConvolution
from nar.zoo.building import Built

HEAD_WIDTH = 32
SMALL_WINDOW, LARGE_WINDOW = 3, 7


def large_windows(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Windows of 7 where they were of 3: of depthwise convolutions, of all where none is."""
    small = [layer for layer in convolutions(module) if set(layer.kernel_size) == {SMALL_WINDOW}]
    depthwise = [layer for layer in small if layer.groups == layer.in_channels > 1]
    if not small:
        raise NotApplicableError("no convolution with windows of 3")
    with at_home(module):
        for layer in depthwise or small:
            _enlarge(layer)
    return module, inputs


def _enlarge(layer: AnyConvolution) -> None:
    rank, wider = len(layer.kernel_size), (LARGE_WINDOW - SMALL_WINDOW) // 2
    layer.kernel_size = (LARGE_WINDOW,) * rank
    layer.weight = nn.Parameter(torch.empty(*layer.weight.shape[:2], *layer.kernel_size))
    if not isinstance(layer.padding, str):
        pads = [layer.padding] * rank if isinstance(layer.padding, int) else layer.padding
        pairs = zip(pads, layer.dilation, strict=True)
        layer.padding = tuple(pad + wider * dilation for pad, dilation in pairs)
        layer._reversed_padding_repeated_twice = [
            pad for pad in reversed(layer.padding) for _ in range(2)
        ]


class MapAttention(nn.Module):
    """Self-attention over the positions of a map, in the place of a convolution.

    Args:
        channels: Of the map.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.heads = max(channels // HEAD_WIDTH, 1)
        self.to_all = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, maps: Tensor) -> Tensor:
        """Maps of shape (batch, channels, ...)."""
        positions = maps.flatten(2).transpose(1, 2)
        parts = [
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.to_all(positions).chunk(3, dim=-1)
        ]
        attended = functional.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)
        result: Tensor = self.out(attended)
        return result.transpose(1, 2).reshape(maps.shape)


def attention_in_last_stage(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Attention for the convolutions of the last stage that keep size and width of a map."""
    stages = [blocks for _, blocks in runs_of_blocks(module) if any(map(convolutions, blocks))]
    if not stages:
        raise NotApplicableError("no block of it convolves")
    replaced = 0
    with at_home(module):
        for block in stages[-1]:
            replaced += replace_modules(block, _attention_for)
    if not replaced:
        raise NotApplicableError("no convolution of its last stage keeps size and width")
    return module, inputs


def _attention_for(layer: nn.Module) -> nn.Module | None:
    if not isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        return None
    keeps = layer.in_channels == layer.out_channels and _keeps_size(layer)
    divides = layer.in_channels % max(layer.in_channels // HEAD_WIDTH, 1) == 0
    is_window = max(layer.kernel_size) > 1
    return MapAttention(layer.in_channels) if keeps and divides and is_window else None


def _keeps_size(layer: nn.Conv1d | nn.Conv2d | nn.Conv3d) -> bool:
    if set(layer.stride) != {1}:
        return False
    # timm pads some convolutions in their own forward.
    if isinstance(layer.padding, str) or "Same" in type(layer).__name__:
        return layer.padding != "valid"
    reaches = zip(layer.padding, layer.dilation, layer.kernel_size, strict=True)
    return all(2 * pad == dilation * (window - 1) for pad, dilation, window in reaches)


class _Gates(nn.Module):
    """What an MLP becomes when it is gated: a second way in, multiplied before the way out."""

    def __init__(self, into: nn.Module, out: nn.Module, widths: tuple[int, int]) -> None:
        super().__init__()
        self.gate = nn.Linear(*widths)
        self._read: list[Tensor] = []
        into.register_forward_hook(self._note)
        out.register_forward_pre_hook(self._multiply)

    def _note(self, _layer: nn.Module, args: tuple[Any, ...], _output: object) -> None:
        self._read[:] = [args[0]]

    def _multiply(self, _layer: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (args[0] * self.gate(self._read.pop()), *args[1:])


def gated_mlp(module: nn.Module, inputs: CaptureInputs) -> Built:
    """A gate beside the activation of every plain MLP."""
    layers = [layer for layer in dict.fromkeys(module.modules()) if width_of(layer) is not None]
    widths = [width_of(layer) for layer in layers]
    gates: list[tuple[nn.Module, _Gates]] = []
    with at_home(module):
        for number, (into, out) in enumerate(pairwise(layers)):
            way_in, way_out = widths[number], widths[number + 1]
            if way_in is None or way_out != way_in[::-1] or way_in[1] < 2 * way_in[0]:
                continue
            if number and widths[number - 1] == way_in:  # a gate is there already
                continue
            gates.append((into, _Gates(into, out, way_in)))
    if not gates:
        raise NotApplicableError("no plain MLP of two linear layers")
    for into, gate in gates:
        into.add_module("added_gate", gate)
    return module, inputs
