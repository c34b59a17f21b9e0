"""The one place that imports model libraries: on first use, offline, quiet, and whole.

A CPU build of torch cannot load the C++ operators of the registry's torchvision, and without them
neither torchvision nor what builds on it imports. Capture needs their schemas only.
"""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path
from types import ModuleType

import torch

from nar.errors import MissingLibraryError

# What torchvision's Python code registers fake kernels for while it is being imported.
_SCHEMAS: tuple[str, ...] = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
}
# A failed capture is told once, by its CaptureError; torch would print the traceback as well.
_LOG_LEVELS = {
    "timm": logging.ERROR,
    "torchvision": logging.ERROR,
    "transformers": logging.ERROR,
    "huggingface_hub": logging.ERROR,
    "torch._subclasses.fake_tensor": logging.CRITICAL,
}


def import_library(name: str) -> ModuleType:
    """Import a model library, or one of its modules, without network and without noise.

    Args:
        name: Dotted name; its first part is the library.

    Raises:
        MissingLibraryError: Says which extra installs the library: the one that bears its name.
    """
    library = name.partition(".")[0]
    if util.find_spec(library) is None:
        raise _missing(library)
    _prepare_process()
    with warnings.catch_warnings(), _unscripted():
        warnings.simplefilter("ignore")
        return import_module(name)


@contextmanager
def _unscripted() -> Iterator[None]:
    """Leave functions that a library would compile with TorchScript as they are.

    torch-geometric replaces functions of torch by ones that TorchScript cannot compile.
    """
    is_on = torch.jit._state._enabled.enabled
    torch.jit._state.disable()
    try:
        yield
    finally:
        if is_on:
            torch.jit._state.enable()


def library_version(library: str, distribution: str = "") -> str:
    """The distribution and version that is read, e.g. ``timm 1.0.31``.

    Args:
        library: Its import name.
        distribution: What installs it, where that has another name.

    Raises:
        MissingLibraryError: Says which extra installs the library.
    """
    package = installed(library, distribution)
    if package is None:
        raise _missing(library)
    return " ".join(package)


@cache
def installed(library: str, distribution: str = "") -> tuple[str, str] | None:
    """Name and version of the installed distribution that has a library; None if there is none.

    Args:
        library: Import name of it.
        distribution: What installs it, where that has another name. Where that is not said it is
            found too, only slower.
    """
    try:
        package = metadata.distribution(distribution or library)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(library, ())
        if not names:
            return None
        package = metadata.distribution(names[0])
    return package.name, package.version


def _missing(library: str) -> MissingLibraryError:
    return MissingLibraryError(f"{library} is not installed: pip install 'nar[{library}]'")


@cache
def _prepare_process() -> torch.library.Library | None:
    """Once a process: silence the libraries, and give torchvision the operators it wants.

    Returns:
        The library of stand-in operators, if any: they exist only as long as it does.
    """
    os.environ.update(_OFFLINE)
    for logger, level in _LOG_LEVELS.items():
        logging.getLogger(logger).setLevel(level)
    if util.find_spec("torchvision") is None or _load_native_operators():
        return None
    operators = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        operators.define(schema)
    return operators


def _load_native_operators() -> bool:
    """Whether torchvision's own C++ operators can be loaded into this build of torch."""
    torchvision = util.find_spec("torchvision")
    if torchvision is None or torchvision.origin is None:
        return False
    binaries = sorted(Path(torchvision.origin).parent.glob("_C*.so"))
    try:
        for binary in binaries:
            torch.ops.load_library(str(binary))
    except OSError:
        return False
    return bool(binaries)
