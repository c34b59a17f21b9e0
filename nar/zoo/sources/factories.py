"""Models that a user's own Python file makes.

The file is run: only ever on the explicit request of the person whose machine it is.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor, nn

from nar.capture import Capture, CaptureInputs, capture_module
from nar.capture.forward.dispatch import one_line
from nar.errors import CaptureError, UnknownArchitectureError
from nar.zoo.building import weightless

DEFAULT_SHAPE = (1, 3, 224, 224)
_WAY_OUT = (
    f"it was given one image {DEFAULT_SHAPE}; for other inputs let the factory return "
    "(module, inputs), or give the module or the factory an attribute `example_inputs`: "
    "a tensor, a tuple of positional or a dict of keyword arguments"
)


def capture_factory(path: Path, factory: str, *, name: str) -> Capture:
    """The graph of a module made by a file; without weights if it bears that, else run for real.

    Args:
        path: The file. It may import its neighbours.
        factory: What makes the module: a function, a class, or the module itself.
        name: Name of the model, for errors.

    Raises:
        UnknownArchitectureError: The file has no such factory.
        CaptureError: The user's code failed, made no module, or wants other inputs than an image.
    """
    try:
        with warnings.catch_warnings(), weightless():
            warnings.simplefilter("ignore")
            module, inputs = _make(name, path, factory)
        return _capture_made(name, module, inputs)
    except CaptureError:
        module, inputs = _make(name, path, factory)
        return _capture_made(name, module, inputs)


def _capture_made(name: str, module: nn.Module, inputs: object) -> Capture:
    if inputs is not None:
        return capture_module(module, _as_call(inputs), name=name)
    try:
        return capture_module(module, CaptureInputs((torch.zeros(DEFAULT_SHAPE),)), name=name)
    except CaptureError as error:
        raise CaptureError(name, error.operator, f"{error.reason}; {_WAY_OUT}") from error


def _make(name: str, path: Path, factory: str) -> tuple[nn.Module, object]:
    """Run the file and its factory: a module, and its inputs or None.

    Raises:
        UnknownArchitectureError: The file has no such factory.
        CaptureError: The user's code failed, or made no module.
    """
    with _importable(path.parent):
        # A user's code can raise anything; its owner wants the reason, not our traceback.
        try:
            target = getattr(_run(path), factory, None)
            made = target() if callable(target) and not isinstance(target, nn.Module) else target
        except Exception as error:
            raise CaptureError(name, "-", one_line(error)) from error
    if target is None:
        raise UnknownArchitectureError(f"{name}: {path} defines no {factory}")
    module, inputs = made if isinstance(made, tuple) else (made, None)
    if not isinstance(module, nn.Module):
        wanted = f"wanted an nn.Module or (nn.Module, inputs), came {type(module).__name__}"
        raise CaptureError(name, "-", wanted)
    for holder in (module, target):
        inputs = getattr(holder, "example_inputs", None) if inputs is None else inputs
    return module, inputs


def _run(path: Path) -> ModuleType:
    found = spec_from_file_location(f"nar_file_{path.stem}", path)
    assert found is not None, "a .py suffix always has a loader"
    assert found.loader is not None, "and is no namespace package"
    module = module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def _as_call(inputs: object) -> CaptureInputs:
    if isinstance(inputs, CaptureInputs):
        return inputs
    if isinstance(inputs, dict):
        return CaptureInputs((), inputs)
    if isinstance(inputs, Tensor):
        return CaptureInputs((inputs,))
    return CaptureInputs(tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,))


@contextmanager
def _importable(directory: Path) -> Iterator[None]:
    """Let the file import its neighbours, as it could were it run as a script."""
    sys.path.insert(0, str(directory.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(directory.resolve()))
