"""Models that a user's own Python file makes."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nar.capture import Capture, CaptureInputs
from nar.capture.forward.dispatch import reason_of, trace_module
from nar.capture.graphs import to_capture
from nar.errors import CaptureError, UnknownArchitectureError
from nar.zoo.building import weightless
from nar.zoo.sources.arguments import Arguments
from nar.zoo.sources.transformers.inputs import example_inputs
from nar.zoo.sources.user_code import as_at_home, run_file

DEFAULT_SHAPE = (1, 3, 224, 224)
# Of the module, or of what makes it; the second is what Lightning calls it.
_EXAMPLES = ("example_inputs", "example_input_array")
_WAY_OUT = (
    "for another shape give --input-shape, for other inputs let the factory return "
    "(module, inputs), or give the module or the factory an attribute `example_inputs`: a tensor, "
    "a tuple of positional or a dict of keyword arguments"
)


def capture_factory(
    path: Path,
    factory: str,
    arguments: Arguments,
    input_shape: Sequence[int] | None,
    *,
    name: str,
) -> Capture:
    """The graph of a module made by a file; without weights if it bears that, else with them.

    The file is run once, its factory a second time where the module is built with weights.

    Args:
        path: The file. It may import its neighbours, and lie in a package.
        factory: What makes the module: a function, a class, or the module itself.
        arguments: What it is called with.
        input_shape: A tensor of which the module is given, whatever inputs it brings.
        name: Name of the model, for errors.

    Raises:
        UnknownArchitectureError: The file has no such factory.
        CaptureError: The user's code failed, made no module, or wants other inputs than an image
            or, if it is a model of transformers, than those of its class.
    """
    with as_at_home(path):
        target = _target(name, path, factory)
        try:
            with weightless():
                made = _made(name, target, arguments)
            return _captured(name, *made, input_shape)
        except CaptureError:
            return _captured(name, *_made(name, target, arguments), input_shape)


def _captured(
    name: str, module: nn.Module, inputs: object, input_shape: Sequence[int] | None
) -> Capture:
    if input_shape:
        inputs = torch.zeros(*input_shape)
    if inputs is not None:
        return _traced(name, module, CaptureInputs.of(inputs))
    usual = _usual_inputs(name, module)
    try:
        return _traced(name, module, usual)
    except CaptureError as error:
        given = ", ".join(usual.kwargs) or f"one image {DEFAULT_SHAPE}"
        reason = f"{error.reason}; it was given {given}; {_WAY_OUT}"
        raise CaptureError(name, error.operator, reason) from error


def _traced(name: str, module: nn.Module, inputs: CaptureInputs) -> Capture:
    return to_capture(trace_module(module, inputs, name=name), name=name)


def _usual_inputs(name: str, module: nn.Module) -> CaptureInputs:
    """What a module is given that brings no inputs: what transformers gives its own, or an image.

    Raises:
        CaptureError: A user's model of transformers lacks a setting that says of what size.
    """
    image = CaptureInputs.of(torch.zeros(DEFAULT_SHAPE))
    # Who has made such a model has imported its library.
    library = sys.modules.get("transformers")
    if library is None or not isinstance(module, library.PreTrainedModel):
        return image
    try:
        known = example_inputs(module)
    except Exception as error:
        raise CaptureError(name, "-", f"{reason_of(error)}; {_WAY_OUT}") from error
    return known if known.kwargs else image


def _target(name: str, path: Path, factory: str) -> Any:  # noqa: ANN401
    # A user's code can raise anything, SystemExit too; its owner wants the reason.
    try:
        target = getattr(run_file(path), factory, None)
    except (Exception, SystemExit) as error:
        raise CaptureError(name, "-", reason_of(error)) from error
    if target is None:
        raise UnknownArchitectureError(f"{name}: {path} defines no {factory}")
    return target


def _made(name: str, target: Any, arguments: Arguments) -> tuple[nn.Module, object]:  # noqa: ANN401
    """What a factory makes: a module, and its inputs or None."""
    is_module = isinstance(target, nn.Module)
    try:
        is_called = callable(target) and not is_module
        made = target(*arguments.by_position, **arguments.by_name) if is_called else target
    except (Exception, SystemExit) as error:
        raise CaptureError(name, "-", reason_of(error)) from error
    module, inputs = _pair(name, made)
    for holder in (module, target):
        for attribute in _EXAMPLES:
            inputs = getattr(holder, attribute, None) if inputs is None else inputs
    return module, inputs


def _pair(name: str, made: object) -> tuple[nn.Module, object]:
    """A module and its inputs, from what a factory returns.

    Raises:
        CaptureError: It is neither a module nor a module with its inputs.
    """
    module, inputs = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if isinstance(module, nn.Module) and not isinstance(inputs, nn.Module):
        return module, inputs
    came = type(made).__name__
    if isinstance(made, tuple):
        came = f"({', '.join(type(part).__name__ for part in made)})"
    if isinstance(inputs, nn.Module):
        came += ": let one factory return each module"
    raise CaptureError(name, "-", f"wanted an nn.Module or (nn.Module, inputs), came {came}")
