"""From a recipe to a capture: build without weights, run, and report whatever went wrong."""

import warnings
from collections.abc import Callable

import torch
from torch import nn

from nar.capture import Capture, CaptureInputs, capture_module
from nar.errors import CaptureError, NarError

Recipe = Callable[[], tuple[nn.Module, CaptureInputs]]


def capture_weightless(name: str, recipe: Recipe) -> Capture:
    """Build a model and its inputs on the meta device, and capture the model in inference mode.

    Args:
        name: Name of the model, for errors.
        recipe: Makes the module and its inputs; no memory is taken, no weight initialised.

    Raises:
        CaptureError: The model could not be built, or not be captured.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.device("meta"):
                module, inputs = recipe()
        except NarError:
            raise
        # Model libraries raise anything while they build, and one model must not stop a job.
        except Exception as error:
            raise CaptureError(name, "-", one_line(error)) from error
        return capture_module(module.eval(), inputs, name=name)


def one_line(error: BaseException) -> str:
    """Type and first line of an error."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
