"""Scratch: the temporary folder that a user's code may write to, and what points into it.

One folder serves a process and is removed with it: libraries that were imported meanwhile keep the
paths that they have read.
"""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Final

# Variables that name a folder which a library writes while it is imported or first called. Of
# Hugging Face and torch.hub only what is written: their caches are to be read.
_FOLDERS: Final = (
    "TMPDIR",
    "HF_MODULES_CACHE",
    "NUMBA_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "TRITON_CACHE_DIR",
)
# Variable -> the folder below the user's home that a library uses without it, and that is read
# where it is there: matplotlib searches the machine for fonts where it does not find its list.
_FOLDERS_OF_HOME: Final[Mapping[str, str]] = {
    "MPLCONFIGDIR": ".cache/matplotlib",
    "YOLO_CONFIG_DIR": ".config/Ultralytics",
}


@cache
def scratch_folder() -> Path:
    """The temporary folder of this process, without symbolic links on its way."""
    folder = Path(tempfile.mkdtemp(prefix="nar-")).resolve()
    atexit.register(partial(_remove, folder, os.getpid()))
    return folder


def _remove(folder: Path, owner: int) -> None:
    # A process that was forked has the same list of things to do at its end.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def writes_in_scratch() -> Iterator[None]:
    """Inside, temporary files and caches of libraries go into the scratch folder."""
    folder = scratch_folder()
    not_at_home = [
        name
        for name, usual in _FOLDERS_OF_HOME.items()
        if name not in os.environ and not Path("~", usual).expanduser().is_dir()
    ]
    with ExitStack() as before:
        for name in (*_FOLDERS, *not_at_home):
            before.callback(_set_variable, name, os.environ.get(name))
            os.environ[name] = str(folder)
        # Python reads TMPDIR once.
        before.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(folder)
        before.callback(setattr, sys, "dont_write_bytecode", sys.dont_write_bytecode)
        sys.dont_write_bytecode = True
        yield


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
