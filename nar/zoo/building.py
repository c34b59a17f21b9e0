"""From a recipe to a capture: build the model, make its inputs, and report whatever went wrong."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from nar.capture import Capture, CaptureInputs, capture_module
from nar.capture.dispatch import one_line
from nar.errors import CaptureError


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


@contextmanager
def weightless() -> Iterator[None]:
    """Modules made inside keep their weights on the meta device: no memory, no initialisation.

    Unlike ``torch.device("meta")`` this leaves constants alone, whose values constructors read.
    """
    hook = register_module_parameter_registration_hook(
        _without_memory  # type: ignore[arg-type]  # annotated as if it gave nothing back
    )
    try:
        yield
    finally:
        hook.remove()


def _without_memory(_module: nn.Module, _name: str, weight: nn.Parameter) -> nn.Parameter:
    if weight.is_meta:
        return weight
    return nn.Parameter(weight.to("meta"), requires_grad=weight.requires_grad)


def on_meta(recipe: Recipe) -> Built:
    """Follow a recipe without weights; the module's buffers move to the meta device too."""
    with weightless():
        module = recipe.build().to("meta")
    return module, recipe.inputs(module)


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
            module, inputs = place(recipe)
        except Exception as error:
            raise CaptureError(name, "-", one_line(error)) from error
        return capture_module(module, inputs, name=name)
