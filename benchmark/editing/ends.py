"""Edits of both ends of a model: another stem, a convolution before it, another head, none."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from benchmark.editing.surgery import (
    at_home,
    convolutions,
    is_layer,
    replace_modules,
    run_once,
    width_of,
)
from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture import CaptureInputs
from nar.capture.forward.placement import flat_tensors
from nar.capture.torch_internals import AnyConvolution
from nar.zoo.building import Built

MAX_CHANNELS = 16  # of what a model is given; more are features
_OF_RANK: dict[int, type[nn.Conv1d | nn.Conv2d | nn.Conv3d]] = {
    1: nn.Conv1d,
    2: nn.Conv2d,
    3: nn.Conv3d,
}


def stem_of_two(module: nn.Module, inputs: CaptureInputs) -> Built:
    """A second convolution, of windows of 3, after the first one."""
    first = _first_convolution(module)
    with at_home(module):
        first.add_module("added_convolution", _of_same_size(first, first.out_channels))
    first.register_forward_hook(_convolved_again)
    return module, inputs


def _convolved_again(layer: nn.Module, _args: object, output: Tensor) -> Tensor:
    again = layer.get_submodule("added_convolution")
    result: Tensor = again(functional.relu(output))
    return result


def pre_convolution(module: nn.Module, inputs: CaptureInputs) -> Built:
    """A convolution of windows of 3 that keeps the channels of an image, before the model."""
    first = _first_convolution(module)
    with at_home(module):
        first.add_module("added_convolution", _of_same_size(first, first.in_channels))
    first.register_forward_pre_hook(_convolved_before)
    return module, inputs


def _convolved_before(layer: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    before = layer.get_submodule("added_convolution")
    return (functional.relu(before(args[0])), *args[1:])


def _first_convolution(module: nn.Module) -> AnyConvolution:
    """The convolution that reads what a model is given."""
    first = next(iter(convolutions(module)), None)
    if first is None or first.in_channels > MAX_CHANNELS:
        raise NotApplicableError("no convolution reads its input")
    return first


def _of_same_size(layer: AnyConvolution, channels: int) -> AnyConvolution:
    return _OF_RANK[len(layer.kernel_size)](channels, channels, 3, padding=1)


def mlp_head(module: nn.Module, inputs: CaptureInputs) -> Built:
    """A hidden layer, as wide as the features, in every linear layer that gives an output."""
    heads = [layer for layer in _heads(module, inputs) if width_of(layer) is not None]
    if not heads:
        raise NotApplicableError("no linear layer gives its output")
    with at_home(module):
        for layer in heads:
            width, _ = width_of(layer) or (0, 0)
            layer.add_module("added_hidden", nn.Linear(width, width))
            layer.register_forward_pre_hook(_hidden)
    return module, inputs


def _hidden(layer: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    hidden = layer.get_submodule("added_hidden")
    return (functional.gelu(hidden(args[0])), *args[1:])


def features_only(module: nn.Module, inputs: CaptureInputs) -> Built:
    """The features that the layers that give an output read, in the place of the output."""
    heads = _heads(module, inputs)
    if not heads:
        raise NotApplicableError("no layer gives its output")
    replace_modules(module, lambda layer: nn.Identity() if layer in heads else None)
    return module, inputs


def _heads(module: nn.Module, inputs: CaptureInputs) -> list[nn.Module]:
    """Linear layers and convolutions whose result is an output of the model, each once."""
    made: list[tuple[nn.Module, Tensor]] = []
    given: list[Tensor] = []

    def note(layer: nn.Module, _args: object, output: object) -> None:
        made.extend((layer, tensor) for tensor in flat_tensors(output))

    def keep(_module: nn.Module, _args: object, output: object) -> None:
        given.extend(flat_tensors(output))

    layers = [layer for layer in module.modules() if is_layer(layer)]
    hooks = [layer.register_forward_hook(note) for layer in layers]
    run_once(module, inputs, [*hooks, module.register_forward_hook(keep)])
    of_output = [layer for layer, tensor in made if any(tensor is each for each in given)]
    return list(dict.fromkeys(of_output))
