"""How commands and jobs speak: progress and errors to stderr, the answer to stdout."""

import errno
import json
import os
import re
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Annotated, Any, Final, ParamSpec, Protocol

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from nar.base.errors import NarError
from nar.base.extras import missing_in
from nar.base.workspace import version

# Chosen: of so many items that ended last the median says how long one takes.
_MEDIAN_OF: Final = 1_000
# Chosen: time between two lines of progress, so that the log of an hour has a few hundred.
LOG_EVERY_S = 10.0
# Chosen: the longest that a log says nothing while a job waits for an item.
SILENT_S = 30.0
# Chosen: items in a line of progress that are waited for, each named.
_WAITED_FOR = 3
# Chosen: the width of output that is not a terminal, because other programs want a row on one line.
# A row has a name and a reason with a path in it, of 4,096 letters each at most.
_UNBOUNDED = 10_000

# As `nar.index.filters.CONTROLS`, but for the line breaks and tabs that a layout is made of.
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


class SafeConsole(Console):
    r"""A console for texts from outside: what would steer a terminal is shown as an escape.

    A `[tag]` or `:word:` in a text stays as it is.

    Args:
        options: As for `rich.console.Console`.

    Example:
        >>> SafeConsole(file=sys.stdout).print("a\x1b[2Jb")
        a\x1b[2Jb
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401
        """The text of a string, escaped before it is measured."""
        return super().render_str(_CONTROLS.sub(_escaped, text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The segments of a renderable; rich's own control segments are left alone."""
        for segment in super().render(renderable, options):
            if segment.control or not _CONTROLS.search(segment.text):
                yield segment
            else:
                yield Segment(_CONTROLS.sub(_escaped, segment.text), segment.style)


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


stdout = SafeConsole()
stderr = SafeConsole(stderr=True)
P = ParamSpec("P")

# Errors that a person can mend: no room, no right, a file too large for a limit, a broken disk.
DISK: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
)

# Exit codes beside 1, an error: of many models not one was captured; more failed than may.
NOTHING_CAPTURED: Final = 3
TOO_MANY_FAILED: Final = 4  # the codes after the 2 of a wrong usage

DEFAULT_WORK = Path("work")
Work = Annotated[Path, typer.Option("--work", help="Directory of corpus, checkpoint and index.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings.")]
Uri = Annotated[
    str | None,
    typer.Option(help="Path of an index (.db), or a Milvus server; by default index.db in --work."),
]
Server = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Ask this server in place of an index here.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nar {version()}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the traceback of an error.")]


class Advance(Protocol):
    """Counts what a job has done."""

    def __call__(
        self, number: int, /, *, group: str = "", failed: int = 0, seconds: float | None = None
    ) -> None:
        """Count items.

        Args:
            number: How many are done, failed ones included.
            group: Which group they belong to, where a job has groups.
            failed: How many items have failed.
            seconds: What an item took of one worker, where that is known.
        """

    def wait(self, running: Callable[[], Mapping[str, float]]) -> float:
        """Say what is waited for, if nothing was said for long.

        Args:
            running: Tells the items that workers are at, each with its seconds so far; called
                only where it is shown.

        Returns:
            After how many seconds to call again.
        """


@contextmanager
def progress(
    title: str,
    total: int,
    console: Console = stderr,
    *,
    groups: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[Advance]:
    """Show how far a job is and how long it still takes; the body reports the items it has done.

    A terminal gets a bar, and one a group; a log file gets a line every ten seconds, and at least
    every thirty where the body calls `Advance.wait`.

    Args:
        title: What the job does.
        total: How many items the job has.
        console: Where to show it.
        groups: Group -> how many of the items belong to it.
    """
    counts = _Counts(title, total, groups)
    if not console.is_terminal:
        yield _LogLines(counts, console)
        return
    # Most commands show no bar.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    pace = TextColumn("{task.fields[pace]}")
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, pace, *times, console=console) as bars:
        everything = bars.add_task(title, total=total, pace="")
        tasks = {name: bars.add_task(f"  {name}", total=groups[name], pace="") for name in groups}

        def show(number: int, group: str, state: "_Group | None") -> None:
            bars.advance(everything, number)
            if state:
                bars.update(tasks[group], completed=state.done, pace=str(state))

        yield _Bars(counts, show)


@dataclass(slots=True)
class _Group:
    """How far one group is; ``began`` and ``ended`` are monotonic seconds."""

    total: int
    began: float
    ended: float
    done: int = 0
    failed: int = 0

    def __str__(self) -> str:
        """Count, failures and items a second of wall time, in a few words."""
        failed = f", {self.failed} failed" if self.failed else ""
        # Two items may end in one tick of the clock.
        rate = self.done / max(self.ended - self.began, 1e-3)
        return f"{self.done}/{self.total}{failed}, {rate:.2f}/s"


@dataclass(slots=True)
class _Counts:
    """How far a job and each of its groups are."""

    title: str
    total: int
    groups: Mapping[str, int]
    began: float = field(default_factory=lambda: time.monotonic())
    pace: "Pace" = field(default_factory=lambda: Pace())
    ended: float = field(init=False)
    done: int = 0
    states: dict[str, _Group] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_MEDIAN_OF))
    running: Callable[[], Mapping[str, float]] = dict

    def __post_init__(self) -> None:
        self.ended = self.began

    def add(
        self, number: int, group: str, failed: int, seconds: float | None = None
    ) -> _Group | None:
        """Count items; gives the state of their group. A group begins where the job is then."""
        now = time.monotonic()
        if seconds is not None:
            self.seconds.append(seconds)
        state = None
        if group:
            state = self.states.setdefault(group, _Group(self.groups[group], self.ended, now))
            state.done, state.failed, state.ended = state.done + number, state.failed + failed, now
            self.changed.add(group)
        self.done, self.ended = self.done + number, now
        self.pace.note(now, self.done)
        return state

    def line(self) -> str:
        """How far everything is, with the groups that have changed since the last line."""
        # Before a first result nothing is known of the rest.
        left = f", {self.left_s():.0f} s left" if self.done else ""
        each = "; ".join(f"{name} {self.states[name]}" for name in sorted(self.changed))
        self.changed.clear()
        return f"{self.title}: {self.done}/{self.total}{left}" + (f" ({each})" if each else "")

    def left_s(self) -> float:
        """How long the rest takes, by the median of what is done: a slow start is no part of it."""
        if not self.seconds:
            return self.pace.left_s(self.ended, self.done, self.total)
        median = sorted(self.seconds)[len(self.seconds) // 2]
        return median * max(0, self.total - self.done) / max(len(self.running()), 1)

    def waiting(self) -> str:
        """The line with the items that take longest."""
        longest = sorted(self.running().items(), key=lambda each: -each[1])[:_WAITED_FOR]
        names = ", ".join(f"{name} ({taken_s:.0f} s)" for name, taken_s in longest)
        return f"{self.line()}; waiting for {names}" if names else self.line()


@dataclass(slots=True)
class Pace:
    """How long the rest of a job takes, by a clock that begins with its first result.

    Before it workers start, which they do once.

    Attributes:
        began: When the job began, in monotonic seconds.
    """

    began: float = field(default_factory=lambda: time.monotonic())
    _first: float | None = None
    _before: int = 0

    def note(self, now: float, done: int) -> None:
        """Note how much is done now."""
        if self._first is None:
            self._first, self._before = now, done

    def left_s(self, now: float, done: int, total: int) -> float:
        """How many seconds the rest takes, if it goes on as it went."""
        if self._first is None or done <= self._before:
            return seconds_left(now - self.began, done, total)
        return seconds_left(now - self._first, done - self._before, total - self._before)


def seconds_left(taken_s: float, done: int, total: int) -> float:
    """How long the rest of a job takes, if it goes on as it went.

    Example:
        >>> seconds_left(60, done=30, total=40)
        20.0
    """
    return taken_s * max(0, total - done) / max(done, 1)


class _LogLines:
    """Shows progress in a log."""

    def __init__(self, counts: _Counts, console: Console) -> None:
        self._counts, self._console = counts, console
        self._shown = counts.began

    def __call__(
        self, number: int, /, *, group: str = "", failed: int = 0, seconds: float | None = None
    ) -> None:
        counts = self._counts
        counts.add(number, group, failed, seconds)
        if counts.done == counts.total or counts.ended - self._shown >= LOG_EVERY_S:
            self._show(counts.line())

    def wait(self, running: Callable[[], Mapping[str, float]]) -> float:
        self._counts.running = running
        if time.monotonic() - self._shown >= SILENT_S:
            self._show(self._counts.waiting())
        return max(self._shown + SILENT_S - time.monotonic(), 0.0)

    def _show(self, line: str) -> None:
        self._shown = time.monotonic()
        self._console.print(line, soft_wrap=True)


class _Bars:
    """Shows progress on a terminal, which always says how far it is."""

    def __init__(self, counts: _Counts, show: Callable[[int, str, "_Group | None"], None]) -> None:
        self._counts, self._show = counts, show

    def __call__(
        self, number: int, /, *, group: str = "", failed: int = 0, seconds: float | None = None
    ) -> None:
        self._show(number, group, self._counts.add(number, group, failed, seconds))

    def wait(self, running: Callable[[], Mapping[str, float]]) -> float:
        self._counts.running = running
        return SILENT_S


def reporting_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn errors a caller can act on into one red line and exit code 1, ctrl-c into 130.

    A command that takes `Verbose` as ``verbose`` prints the traceback first where it is wanted.
    """
    return reporting_errors_as({})(command)


def reporting_errors_as(
    codes: Mapping[type[NarError], int],
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """`reporting_errors` with exit codes of their own for some errors.

    Args:
        codes: Exit code by class of error; the first class that fits counts.
    """
    return lambda command: _reporting(command, codes)


def _reporting(
    command: Callable[P, None], codes: Mapping[type[NarError], int]
) -> Callable[P, None]:
    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (NarError, OSError, ModuleNotFoundError) as error:
            reason = _reason_of(error)
            if reason is None:
                raise
            if kwargs.get("verbose"):
                stderr.print("".join(traceback.format_exception(error)), soft_wrap=True)
            stderr.print(Text.assemble(("error", "bold red"), f" {reason}"), soft_wrap=True)
            fitting = (code for kind, code in codes.items() if isinstance(error, kind))
            raise typer.Exit(next(fitting, 1)) from error
        except KeyboardInterrupt:
            stderr.print("interrupted; what is finished is kept")
            raise typer.Exit(130) from None

    return run


def _reason_of(error: NarError | OSError | ModuleNotFoundError) -> str | None:
    """The text of an error for a person; None for an error that no person can mend."""
    if isinstance(error, NarError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        missing = missing_in(error)
        return str(missing) if missing else None
    if error.errno not in DISK:
        return None
    cause = (error.strerror or str(error)).partition("\n")[0]
    file = f"the file {error.filename}" if error.filename else "a file"
    return f"{file} cannot be kept ({cause}); mend that, or name another directory, and run again"


def show(value: Mapping[str, object], view: Callable[[], RenderableType], *, as_json: bool) -> None:
    """Print one answer, for a program or for a person.

    Args:
        value: The answer for a program.
        view: Makes the answer for a person.
        as_json: Whether a program asks.
    """
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        # A terminal says how wide a line may be; in a pipe or a file, a line holds a whole row.
        has_width = stdout.is_terminal or "COLUMNS" in os.environ
        wide = SafeConsole(width=_UNBOUNDED)
        (stdout if has_width else wide).print(view())


def show_rows(name: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Print ``{name: rows}`` as `show` prints it as JSON, with one row in memory at a time."""
    sys.stdout.write(f"{{\n  {json.dumps(name)}: [")
    before = "\n"
    for row in rows:
        sys.stdout.write(before + indent(json.dumps(row, indent=2), "    "))
        before = ",\n"
    sys.stdout.write("\n  ]\n}\n")
