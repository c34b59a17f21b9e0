"""The one place that imports model libraries: on first use, offline, quiet, and whole.

A CPU build of torch cannot load the C++ operators of the registry's torchvision, and without them
neither torchvision nor what builds on it imports. Capture needs their schemas only.
"""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from nar.base.errors import MissingLibraryError
from nar.base.extras import missing_library

if TYPE_CHECKING:
    import torch

# What torchvision's Python code registers fake kernels for while it is being imported.
_SCHEMAS: tuple[str, ...] = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_OFFLINE = {"HF_HUB_OFFLINE": "1"}  # of the zoo: a user's own file may fetch what it wants
_QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
}
# Library -> the package of the group `apart` in pyproject.toml that installs it: no extra can.
APART = {
    "asteroid": "asteroid",
    "demucs": "demucs",
    "libmultilabel": "libmultilabel",
    "libreyolo": "libreyolo",
    "litgpt": "litgpt",
    "mmaction": "mmaction2",
    "mmocr": "mmocr",
    "mmpose": "mmpose",
    "neuralop": "neuraloperator",
    "pypots": "pypots",
    "pytorchvideo": "pytorchvideo",
}
# The CaptureError of a failed capture says why it failed; torch would log the traceback as well.
_LOG_LEVELS = {
    "timm": logging.ERROR,
    "torchvision": logging.ERROR,
    "transformers": logging.ERROR,
    "huggingface_hub": logging.ERROR,
    "lightning_fabric.utilities.seed": logging.ERROR,
    "speechbrain": logging.ERROR,
}


def import_library(name: str) -> ModuleType:
    """Import a model library, or one of its modules, without network and without noise.

    Args:
        name: Dotted name; its first part is the library.

    Raises:
        MissingLibraryError: The library is not installed; the error names the extra that does it.
    """
    library = name.partition(".")[0]
    if util.find_spec(library) is None:
        raise _missing(library)
    os.environ.update(_OFFLINE)
    with ready_for_libraries():
        return import_module(name)


@contextmanager
def ready_for_libraries() -> Iterator[None]:
    """Inside, model libraries can be imported, quietly and whole.

    Functions that a library would compile with TorchScript stay as they are: torch-geometric
    replaces functions of torch by functions that TorchScript cannot compile.
    """
    from nar.capture.torch_internals import unscripted

    _prepare_process()
    with warnings.catch_warnings(), unscripted():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def without_printing() -> Iterator[None]:
    """Keep from the standard output what a library would print there."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


def library_version(library: str, distribution: str = "") -> str:
    """The distribution and version that is read, e.g. ``timm 1.0.31``.

    Args:
        library: Its import name.
        distribution: Package that installs it, where that has another name.

    Raises:
        MissingLibraryError: The library is not installed; the error names the extra that does it.
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
        distribution: Package that installs it, where that has another name. Without it such a
            package is found too, only slower.
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
    error = missing_library(library)
    if library not in APART:
        return error
    return MissingLibraryError(f"{error}, and pip install --no-deps {APART[library]}")


@cache
def _prepare_process() -> "torch.library.Library | None":
    """Once a process: silence the libraries, and give torchvision the operators it wants.

    Returns:
        The library of stand-in operators, if any: they exist only as long as it does.
    """
    # To ask which version is installed needs no torch.
    import torch

    from nar.capture.torch_internals import FAKE_TENSOR_LOGGER

    os.environ.update(_QUIET)
    logging.getLogger(FAKE_TENSOR_LOGGER).setLevel(logging.CRITICAL)
    for logger, level in _LOG_LEVELS.items():
        logging.getLogger(logger).setLevel(level)
    _stand_in_for_native_audio()
    if util.find_spec("torchvision") is None or _load_native_operators():
        return None
    operators = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        operators.define(schema)
    return operators


def _stand_in_for_native_audio() -> None:
    """Tell torchaudio that it has no C++ part: it then does without, where it would refuse.

    Its registry builds are for CUDA only. Decoders and losses need that part, models do not.
    """
    import torch

    if util.find_spec("torchaudio") is None or torch.version.cuda:
        return
    absent = ModuleType("torchaudio._extension")
    absent.__dict__.update(
        _IS_TORCHAUDIO_EXT_AVAILABLE=False,
        _check_cuda_version=lambda: None,
        fail_if_no_align=lambda function: function,
    )
    sys.modules.setdefault(absent.__name__, absent)


def _load_native_operators() -> bool:
    """Whether torchvision's own C++ operators can be loaded into this build of torch."""
    torchvision = util.find_spec("torchvision")
    if torchvision is None or torchvision.origin is None:
        return False
    import torch

    binaries = sorted(Path(torchvision.origin).parent.glob("_C*.so"))
    try:
        for binary in binaries:
            torch.ops.load_library(str(binary))
    except OSError:
        return False
    return bool(binaries)
