"""A user's own models: a factory in a Python file.

The file is run: only ever on the explicit request of the person whose machine it is.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from nar.architecture import Labels
from nar.capture import Capture, CaptureInputs, capture_module
from nar.capture.dispatch import one_line
from nar.errors import CaptureError, UnknownArchitectureError
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "file"
DEFAULT_SHAPE = (1, 3, 224, 224)
_WAY_OUT = (
    f"it was given one image {DEFAULT_SHAPE}; for other inputs let the factory return "
    "(module, inputs), or give the module or the factory an attribute `example_inputs`: "
    "a tensor, a tuple of positional or a dict of keyword arguments"
)


def is_file_name(name: str) -> bool:
    """Whether a name means a file of the user: ``path/to/file.py:factory``."""
    return name.rpartition(":")[0].endswith(".py")


def resolve_file(name: str) -> ArchitectureSpec:
    """The spec behind ``path/to/file.py:factory``; the file is not run yet.

    Raises:
        UnknownArchitectureError: There is no such file.
    """
    path, _, factory = name.rpartition(":")
    if not Path(path).is_file():
        raise UnknownArchitectureError(f"{name}: there is no file {path}")
    labels = Labels(
        name=name, source=SOURCE, library=Path(path).name, family="unknown", task="unknown"
    )
    return ArchitectureSpec(labels, partial(_capture, name, Path(path), factory))


def _capture(name: str, path: Path, factory: str) -> Capture:
    """Without memory for weights if the factory bears it, else as the user would run it."""
    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            return _capture_here(name, path, factory)
    except CaptureError:
        return _capture_here(name, path, factory)


def _capture_here(name: str, path: Path, factory: str) -> Capture:
    # The user's code can raise anything; the person wants the reason, not our traceback.
    try:
        with _importable(path.parent):
            made, offered = _call(name, _run(path), factory)
    except UnknownArchitectureError:
        raise
    except Exception as error:
        raise CaptureError(name, "-", one_line(error)) from error
    module, inputs = made if isinstance(made, tuple) else (made, offered)
    if not isinstance(module, nn.Module):
        wanted = f"wanted an nn.Module or (nn.Module, inputs), came {type(module).__name__}"
        raise CaptureError(name, "-", wanted)
    inputs = getattr(module, "example_inputs", None) if inputs is None else inputs
    if inputs is not None:
        return capture_module(module, _as_call(inputs), name=name)
    try:
        return capture_module(module, CaptureInputs((torch.empty(DEFAULT_SHAPE),)), name=name)
    except CaptureError as error:
        raise CaptureError(name, error.operator, f"{error.reason}; {_WAY_OUT}") from error


def _run(path: Path) -> ModuleType:
    found = spec_from_file_location(f"nar_file_{path.stem}", path)
    assert found is not None, "a .py suffix always has a loader"
    assert found.loader is not None, "and is no namespace package"
    module = module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def _call(name: str, module: ModuleType, factory: str) -> tuple[Any, Any]:
    """What the factory makes, and the inputs that stand beside the factory, if any."""
    target = getattr(module, factory, None)
    if target is None:
        callables = [key for key, value in vars(module).items() if callable(value)]
        raise unknown_architecture(name, callables, way_out=f"the file has no {factory}")
    made = target if isinstance(target, nn.Module) else target()
    return made, getattr(target, "example_inputs", None)


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
