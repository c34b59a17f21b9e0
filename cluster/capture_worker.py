"""The process that captures: bounded in memory, tidied up after every model.

It notes which files of the user's own a capture opens: a change of any of them makes the capture
stale. Python announces what it opens; what code in C opens by itself, or a network gives, it does
not, and that is said.
"""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.util import source_from_cache
from pathlib import Path
from resource import getpagesize
from typing import Any, Final
from weakref import ref

from nar.base.asking import Asking
from nar.base.errors import CaptureError, one_line
from nar.base.model_files import PYTHON
from nar.base.own_zoo import SCHEMA_FILE, ZOO_FILE
from nar.base.workspace import package_path
from nar.graphs.architecture import called
from nar.own import capture_architecture
from nar.own.guard import scratch_folder
from nar.zoo.sources import source_of
from nar.zoo.spec import ZooCapture

from .actors import WorkerLostError
from .provenance import INSTALLED, state_of
from .resources import bound_memory

_STATM = Path("/proc/self/statm")
# How torch's allocators, C++ and threads report what Python raises as a MemoryError.
_OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "bad_alloc", "Cannot allocate")


@dataclass(frozen=True, slots=True)
class WorkerCapture:
    """A capture, and the size of the process that made it.

    Attributes:
        capture: The capture of the requested model.
        resident_bytes: Memory of the process after the capture.
        read: Files of the user's own that were opened, each with its state.
        unchecked: What may decide the graph, and whose changes nobody notices, in words.
    """

    capture: ZooCapture
    resident_bytes: int
    read: dict[str, str] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()


class CaptureWorker:
    """Captures models; lives long, because importing a model library takes seconds.

    Args:
        memory_limit_bytes: Private memory that the process may have; None sets no bound.
    """

    def __init__(self, memory_limit_bytes: int | None) -> None:
        self._memory_limit_bytes = memory_limit_bytes
        bound_memory(memory_limit_bytes)

    def capture(self, name: str, asking: Asking, called_so: str = "") -> WorkerCapture:
        """Capture a model.

        Args:
            name: Its spec.
            asking: What the user states of it.
            called_so: The name of the result; empty for the spec.

        Raises:
            WorkerLostError: The model wanted more memory than the process may have.
            CaptureError: The model could not be captured.
        """
        with uncollected(), noted_reads() as noted:
            made = self._capture(name, asking)
        item = called(made.architecture, called_so or name)
        capture = replace(made, architecture=item)
        if source_of(name) is not None:  # its library's version says what it is made from
            return WorkerCapture(capture, resident_bytes())
        loaded = users_modules()
        states, unchecked = noted.states(loaded), noted.unchecked(loaded)
        return WorkerCapture(capture, resident_bytes(), states, unchecked)

    def _capture(self, name: str, asking: Asking) -> ZooCapture:
        try:
            return capture_architecture(name, asking)
        except SystemExit as error:
            raise CaptureError(name, "-", one_line(error)) from None
        except Exception as error:
            if self._memory_limit_bytes is not None and is_out_of_memory(error):
                raise self._memory_error() from None
            raise

    def _memory_error(self) -> WorkerLostError:
        limit_gb = (self._memory_limit_bytes or 0) / 1e9
        return WorkerLostError("memory", f"needed more memory than its limit of {limit_gb:g} GB")


class NotedReads:
    """What a process opens while a model is captured."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}
        self._unchecked: dict[str, None] = {}

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note what an audit event announces."""
        if event != "open":
            self._unchecked[f"a network was asked ({event})"] = None
            return
        path, _, flags = arguments
        is_written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        if isinstance(path, str | bytes | os.PathLike) and not is_written:
            whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 -- links stay
            is_lent = whole.startswith(f"{scratch_folder()}/")  # a home with links to the user's
            self._paths[os.path.realpath(whole) if is_lent else whole] = None

    def states(self, loaded: Sequence[str]) -> dict[str, str]:
        """The user's own files that were opened, by their paths from here, each with its state.

        Args:
            loaded: Files of the user's modules that are loaded: they were opened for an earlier
                model, and are not opened again.
        """
        opened = dict.fromkeys(map(_source, (*self._paths, *loaded)))
        users = (Path(each) for each in opened if _is_users(each))
        # What a zoo file declares of a model is compared already.
        own = sorted(str(each) for each in users if each.name not in _DECLARE and each.is_file())
        return {_from_here(each): state_of(Path(each)) for each in own}

    def unchecked(self, loaded: Sequence[str]) -> tuple[str, ...]:
        """What nobody notices the changes of.

        Args:
            loaded: As of `states`.
        """
        code = (_from_here(each) for each in loaded if not each.endswith(PYTHON))
        unseen = (f"{each} is code in C, which may read files unseen" for each in code)
        return (*self._unchecked, *unseen)


# What belongs to the machine, and to Ray, which unpacks a submitted directory below its own.
_SYSTEM: Final = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/tmp/ray/", "<")
_DECLARE: Final = frozenset({ZOO_FILE, SCHEMA_FILE})
_ASKS: Final = frozenset({"open", "socket.connect", "urllib.Request"})
# The model that is captured now, if any: the hook of a process has no other way.
_noted: Final[list[NotedReads]] = []


@contextmanager
def noted_reads() -> Iterator[NotedReads]:
    """Inside, what the process opens is noted."""
    _listen()
    _noted.append(NotedReads())
    try:
        yield _noted[-1]
    finally:
        _noted.clear()


@cache
def _listen() -> None:
    """Add the hook, which Python keeps until the process ends."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _noted and event in _ASKS:
            _noted[-1].note(event, arguments)

    sys.addaudithook(hook)


# Modules that were found not to be the user's, by name. A process has thousands after each
# model, and looking at each again took a fifth of the time of small models.
_passed_over: Final[dict[str, ref[Any]]] = {}


def users_modules() -> list[str]:
    """Files of the user's own modules that are loaded."""
    found = []
    for name, module in list(sys.modules.items()):
        known = _passed_over.get(name)
        if known is not None and known() is module:
            continue
        # Not by an attribute: a module that imports on demand would look for one everywhere.
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and _is_users(file):
            found.append(file)
        else:
            with suppress(TypeError):  # whatever stands there, and has no place for a reference
                _passed_over[name] = ref(module)
    return found


def _source(path: str) -> str:
    return source_from_cache(path) if path.endswith(".pyc") and "__pycache__" in path else path


@lru_cache(maxsize=65_536)  # Chosen: the modules of a process with all libraries loaded, tenfold.
def _is_users(path: str) -> bool:
    """Whether a path is of the user's: of no installation, of no system, and not of this job."""
    parts = Path(path).parts
    if INSTALLED.intersection(parts) or any(map(path.startswith, _not_own())):
        return False
    # An editable installation describes itself in the folder of its source.
    if any(part.endswith((".egg-info", ".dist-info")) for part in parts):
        return False
    return path.startswith(f"{Path.cwd()}/") or not path.startswith(_SYSTEM)


@cache
def _not_own() -> tuple[str, ...]:
    own = (package_path(), package_path(package=__package__), scratch_folder())
    folders = map(str, (*own, sys.prefix, sys.base_prefix))
    return tuple(f"{each}/" for each in folders)


def _from_here(path: str) -> str:
    """A path below the working directory from there: a submitted job has another directory."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection inside, one after: a forward makes objects and hardly any cycle."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        # Objects alive between two models stay alive (libraries, tables, caches): never walk them
        # again.
        gc.freeze()


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or a cause of it, says that memory ran out."""
    while error is not None:
        if isinstance(error, MemoryError) or any(word in str(error) for word in _OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def resident_bytes() -> int:
    """Memory of this process that is in RAM; 0 where the system does not say."""
    return int(_STATM.read_text().split()[1]) * getpagesize() if _STATM.exists() else 0
