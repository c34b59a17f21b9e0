"""From a recipe to a capture: build the model, make its inputs, and report whatever went wrong."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from nar.capture import Capture, CaptureInputs
from nar.capture.forward.dispatch import one_line, trace_module
from nar.capture.graphs import to_capture
from nar.errors import CaptureError
from nar.zoo.timing import lap
from nar.zoo.uninitialised import Uninitialised


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to come by a model.

    Attributes:
        build: Makes the module on the default device.
        inputs: Makes one call of that module, on the default device too.
    """

    build: Callable[[], nn.Module]
    inputs: Callable[[nn.Module], CaptureInputs]


Built = tuple[nn.Module, CaptureInputs]


def on_meta(recipe: Recipe) -> Built:
    """Follow a recipe on the meta device: nothing takes memory, no weight is initialised.

    A constructor that reads values of its constants gets them, from a second try that keeps only
    parameters and buffers there.
    """
    try:
        with torch.device("meta"), Uninitialised():
            module = recipe.build()
    except (NotImplementedError, RuntimeError):
        with weightless(), Uninitialised():
            module = recipe.build()
    return module, recipe.inputs(module)


def for_real(recipe: Recipe) -> Built:
    """Follow a recipe on the CPU, with the same weights each time.

    For small models whose control flow or shapes depend on the values that they read.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = recipe.build()
    return module, recipe.inputs(module)


@contextmanager
def weightless() -> Iterator[None]:
    """Modules made inside keep their state, and nothing else, on the meta device."""
    hooks = [
        register_module_parameter_registration_hook(_parameter_on_meta),  # type: ignore[arg-type]
        register_module_buffer_registration_hook(_buffer_on_meta),  # type: ignore[arg-type]
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _parameter_on_meta(_module: nn.Module, _name: str, weight: nn.Parameter) -> nn.Parameter:
    """The parameter itself where it is there already, so that tied ones stay tied."""
    if weight.is_meta:
        return weight
    return nn.Parameter(weight.to("meta"), requires_grad=weight.requires_grad)


def _buffer_on_meta(_module: nn.Module, _name: str, buffer: Tensor | None) -> Tensor | None:
    return None if buffer is None else buffer.to("meta")


def capture_recipe(
    name: str, recipe: Recipe, *, place: Callable[[Recipe], Built] = on_meta
) -> Capture:
    """Build a model of a library and capture it, without the warnings it makes on the way.

    Args:
        name: Name of the model, for errors.
        recipe: How to come by it.
        place: Follows the recipe on some device.

    Raises:
        CaptureError: The model could not be built, or not be captured.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Model libraries raise anything while they build, and one model must not stop a job.
        try:
            with lap("build"):
                module, inputs = place(recipe)
        except Exception as error:
            raise CaptureError(name, "-", one_line(error)) from error
        with lap("forward"):
            trace = trace_module(module, inputs, name=name)
        with lap("graph"):
            return to_capture(trace, name=name)
