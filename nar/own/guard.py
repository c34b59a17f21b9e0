"""The guard of a user's own code: it reads, and what it was not asked to do is refused.

Code that is asked about starts no programs, opens no connections, and writes and deletes nothing
outside a temporary folder, unless its owner allows it. Python's audit hooks see the attempt and
quote it with its line; Landlock, where the kernel has it, refuses what libraries in C attempt.

It guards against accidents, such as a file that installs packages when it is imported. It is no
sandbox against malice.

The temporary folder that such code may write to, its scratch, serves a process and is removed with
it: libraries that were imported meanwhile keep the paths that they have read.
"""

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

from nar.base.asking import Allowance
from nar.base.errors import CaptureError, RefusedError
from nar.base.process import ProcessWide, raise_in_thread
from nar.capture import Capture
from nar.capture.forward.dispatch import is_own_code
from nar.graphs.assumed import Assumed
from nar.own.attempts import Attempt, attempt_of
from nar.own.landlock import restrict_thread

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
        for name in (*_FOLDERS, *not_at_home, "HOME"):
            before.callback(_set_variable, name, os.environ.get(name))
        os.environ |= dict.fromkeys((*_FOLDERS, *not_at_home), str(folder))
        # Python reads TMPDIR once.
        before.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(folder)
        before.callback(setattr, sys, "dont_write_bytecode", sys.dont_write_bytecode)
        sys.dont_write_bytecode = True
        yield


def lend_home() -> bool:
    """Give libraries a home in the scratch folder until writes are no longer refused.

    What is at the user's home is found there by links, and what lies in its hidden folders; what a
    library makes beside it for its settings is new.

    Returns:
        Whether they had another home before.
    """
    home, lent = Path.home(), scratch_folder() / "home"
    if home == lent:
        return False
    if not lent.exists():
        lent.mkdir()
        _link(home, lent)
    os.environ["HOME"] = str(lent)
    return True


def _link(home: Path, lent: Path) -> None:
    for each in _entries(home):
        for one in _entries(each) if each.name.startswith(".") and each.is_dir() else [each]:
            link = lent / one.relative_to(home)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(one)


def _entries(folder: Path) -> list[Path]:
    """What is in a folder; nothing where it is not there, or is not to be read by this user."""
    with suppress(OSError):
        return [*folder.iterdir()]
    return []


def is_new_at_home(path: str) -> bool:
    """Whether a path is new in a hidden folder of the user's home, or is such a folder."""
    home, whole = Path.home().resolve(), Path(path)
    parts = whole.relative_to(home).parts if whole.is_relative_to(home) else ()
    is_hidden = bool(parts) and parts[0].startswith(".")
    return is_hidden and not home.joinpath(*parts[:2]).exists()


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


Result = TypeVar("Result")

# Devices and what the kernel says of processes are no files that one could lose.
_NO_FILES: Final = ("/dev/", "/proc/")
# Caches of users, where most libraries do without when they may not write: that is no news.
_CACHES: Final = ("/.cache/", "/__pycache__/")
# Modules of Python that ask programs about this machine, and do without: that is no news either.
_LOOKING_AROUND: Final = frozenset({"ctypes.util", "platform", "uuid"})
# Code in C is refused by the kernel, whose error names no way out.
_OF_THE_KERNEL: Final = (
    "while a model is asked about, its code may not write outside a temporary folder, run programs "
    "or open connections: --allow writes, --allow commands, --allow network"
)
# Bytes; Linux gives the main thread as much. Where a machine sets no limit, a thread gets 2 MiB,
# which modules nested deeply outgrow.
_STACK_BYTES: Final = 8 * 2**20
# Chosen: seconds in which interrupted code may end. Code in C does not, and is left behind.
_GRACE_S: Final = 1.0


class Guard:
    """Runs a user's code, refuses what nobody asked for, and remembers what that was.

    Args:
        allowed: What is not refused.
    """

    def __init__(self, allowed: Collection[Allowance] = frozenset()) -> None:
        self._allowed = frozenset(allowed)
        self._refused: dict[str, None] = {}

    @property
    def refused(self) -> tuple[str, ...]:
        """What was refused, each once, in its order; code may have gone on in spite of it."""
        return tuple(self._refused)

    def run(self, action: Callable[[], Result]) -> Result:
        """The result of an action that runs in a thread of its own.

        Nothing lifts a restriction by the kernel from a thread, so the thread ends with the action.
        Inside of another guard the action simply runs, under that one.

        Raises:
            RefusedError: The action was refused something, and let the error pass.
            BaseException: Whatever else the action raises.
        """
        if threading.get_ident() in _guards or self._allowed.issuperset(Allowance):
            return action()
        _watch_this_process()
        outcome: Future[Result] = Future()
        work = partial(self._work, partial(copy_context().run, action), outcome)
        with ExitStack() as surroundings:
            for each in _WHILE_GUARDED:
                surroundings.enter_context(each)
            if Allowance.WRITES not in self._allowed:
                surroundings.enter_context(_WHILE_WRITES_ARE_REFUSED)
            thread = threading.Thread(target=work, name="nar-guarded", daemon=True)
            try:
                _start(thread)
                return outcome.result()
            except BaseException:
                if not outcome.done():
                    # As ctrl-c does in the main thread.
                    raise_in_thread(thread, KeyboardInterrupt)
                    thread.join(_GRACE_S)
                raise

    def watch(self, event: str, arguments: tuple[Any, ...], begun_at: str) -> None:
        """Refuse what an audit event of a guarded thread announces, unless it is allowed.

        Args:
            event: Its name.
            arguments: What Python says of it.
            begun_at: File and line that started the thread.

        Raises:
            RefusedError: It is refused.
        """
        attempt = attempt_of(event, arguments)
        if attempt is None or attempt.allowance in self._allowed or _is_harmless(attempt):
            return
        place = _place(sys._getframe(2), begun_at)
        lifts = f"(--allow {attempt.allowance} lets it)"
        reason = f"{place} wanted to {attempt.action}: refused {lifts}"
        if not _is_no_news(attempt, sys._getframe(2)):
            self._refused[reason] = None
        raise RefusedError(reason, attempt.paths)

    def _work(self, action: Callable[[], Result], outcome: "Future[Result]") -> None:
        try:
            with self._of_this_thread(""):
                restrict_thread(self._allowed, scratch_folder())
                result = action()
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    @contextmanager
    def _of_this_thread(self, begun_at: str) -> Iterator[None]:
        _guards[threading.get_ident()] = _Guarded(self, begun_at)
        try:
            yield
        finally:
            del _guards[threading.get_ident()]

    def run_child(self, run: Callable[[], None], begun_at: str) -> None:
        """Run what a thread does that a guarded thread has started.

        Args:
            run: What it does.
            begun_at: File and line that started it.
        """
        with self._of_this_thread(begun_at):
            run()


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A thread that is watched.

    Attributes:
        guard: Watches it.
        begun_at: File and line of the user's code that started it; empty for the first thread.
    """

    guard: Guard
    begun_at: str


# Guards by the identity of the threads that they watch: the hook of a process has no other way.
_guards: Final[dict[int, _Guarded]] = {}


def guarded_capture(capture: Callable[[], Capture], allowed: Collection[Allowance]) -> Capture:
    """A capture of a user's model, made under a guard; it lists what was refused meanwhile.

    Raises:
        CaptureError: As the capture raises it; the reason also says what was refused.
    """
    guard = Guard(allowed)
    try:
        made = guard.run(capture)
    except CaptureError as error:
        reason = "; ".join([error.reason, *_unsaid(error.reason, guard.refused)])
        raise CaptureError(error.model, error.operator, reason, error.path) from error
    if not guard.refused:
        return made
    assumed = made.assumed or Assumed()
    return replace(made, assumed=replace(assumed, skipped=assumed.skipped + guard.refused))


def _unsaid(reason: str, refused: Sequence[str]) -> list[str]:
    """What a reason does not say of refusals that may have led to it."""
    if refused:
        return [f"before that {each}" for each in refused[:1] if each not in reason]
    return [_OF_THE_KERNEL] if "Permission denied" in reason else []


def _start(thread: threading.Thread) -> None:
    """Start a thread with the stack of a main thread."""
    before = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    finally:
        threading.stack_size(before)


@cache
def _watch_this_process() -> None:
    """Add the hook, which Python keeps until the process ends."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    guarded = _guards.get(threading.get_ident()) if _guards else None
    if guarded is not None:
        guarded.guard.watch(event, arguments, guarded.begun_at)


def _is_harmless(attempt: Attempt) -> bool:
    """Whether everything that would be changed lies in the scratch folder or is no file."""
    free = (*_NO_FILES, f"{scratch_folder()}/")
    # A file without a name is opened by the name of its folder.
    return bool(attempt.paths) and all(f"{path}/".startswith(free) for path in attempt.paths)


def _is_no_news(attempt: Attempt, innermost: FrameType) -> bool:
    """Whether the code goes on without what it attempts, and the model is the same."""
    if any(part in path for part in _CACHES for path in attempt.paths):
        return True
    callers = list(_callers(innermost))
    if any(frame.f_globals.get("__name__") in _LOOKING_AROUND for frame in callers):
        return True
    # A library keeps its settings in a folder of its own.
    return any(map(is_new_at_home, attempt.paths)) and is_of_library(
        frame.f_code.co_filename for frame in callers
    )


def _callers(innermost: FrameType) -> Iterator[FrameType]:
    frame: FrameType | None = innermost
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_of_library(files: Iterable[str]) -> bool:
    """Whether a library runs, and no code of the user's that calls Python's own modules.

    Args:
        files: The files of code that runs, the innermost first.
    """
    return next(("site-packages" in each for each in files if _is_library_or_own(each)), False)


def _is_library_or_own(file: str) -> bool:
    return "site-packages" in file or is_own_code(file)


def _place(innermost: FrameType, begun_at: str) -> str:
    """File and line of the user's own code that is running.

    Args:
        innermost: Where a thread is; its file is named where nothing of the user runs.
        begun_at: What started the thread, if that is known.
    """
    own = (each for each in _callers(innermost) if is_own_code(each.f_code.co_filename))
    frame = next(own, None)
    if frame is None and begun_at:
        return begun_at
    nearest = frame or innermost
    path = Path(nearest.f_code.co_filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path.name
    return f"{shown}:{nearest.f_lineno}"


@contextmanager
def _followed_threads() -> Iterator[None]:
    """Inside, a thread that a guarded thread starts is guarded for as long as it lives."""
    start = threading.Thread.start

    def start_guarded(thread: threading.Thread) -> None:
        guarded = _guards.get(threading.get_ident())
        if guarded is not None:
            place = _place(sys._getframe(1), guarded.begun_at)
            child = partial(guarded.guard.run_child, thread.run, place)
            thread.run = child  # type: ignore[method-assign]
        start(thread)

    threading.Thread.start = start_guarded  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]


@contextmanager
def _handlers_not_installed() -> Iterator[None]:
    """Inside, guarded code may set handlers of signals, and nothing happens.

    Python installs handlers in the main thread only, and guarded code runs in another: what is
    imported there would fail, though nobody waits for its signals.
    """
    install = signal.signal

    def set_handler(number: int, handler: Any) -> Any:  # noqa: ANN401
        if threading.get_ident() in _guards:
            return signal.getsignal(number)
        return install(number, handler)

    signal.signal = set_handler  # type: ignore[assignment]
    try:
        yield
    finally:
        signal.signal = install


_WHILE_GUARDED: Final = (ProcessWide(_followed_threads), ProcessWide(_handlers_not_installed))
_WHILE_WRITES_ARE_REFUSED: Final = ProcessWide(writes_in_scratch)
