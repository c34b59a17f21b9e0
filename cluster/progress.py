"""How far a capture of many sources is: done, failed and rate of each."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LOG_EVERY_S = 10.0
Advance = Callable[[str, bool], None]


@dataclass(slots=True)
class SourceState:
    """How far one source is.

    Attributes:
        total: Models asked for.
        since: When its first began, monotonic seconds.
        until: When its last was settled.
        done: Models settled, failed ones included.
        failed: Models without a row.
    """

    total: int
    since: float
    until: float
    done: int = 0
    failed: int = 0

    @property
    def rate(self) -> float:
        """Models a second of wall time, while the source was worked at."""
        return self.done / max(self.until - self.since, 1e-3)

    def text(self) -> str:
        """Count, failures and rate, in a few words."""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}/{self.total}{failed}, {self.rate:.2f}/s"


class Board:
    """The state of every source.

    Args:
        totals: Models asked for, by source.
    """

    def __init__(self, totals: Mapping[str, int]) -> None:
        self.started = time.monotonic()
        self.wanted = sum(totals.values())
        self.done = 0
        self._totals = totals
        self._last = self.started
        self._states: dict[str, SourceState] = {}

    def count(self, source: str, is_row: bool) -> SourceState:
        """Note a model that is settled; a source begins where the job was then."""
        now = time.monotonic()
        new = SourceState(self._totals[source], self._last, now)
        state = self._states.setdefault(source, new)
        state.done, state.failed, state.until = state.done + 1, state.failed + (not is_row), now
        self.done, self._last = self.done + 1, now
        return state

    def line(self, sources: Iterable[str]) -> str:
        """How far everything is, and these sources."""
        left = (self._last - self.started) * (self.wanted - self.done) / max(self.done, 1)
        each = "; ".join(f"{name} {self._states[name].text()}" for name in sorted(sources))
        return f"capturing: {self.done}/{self.wanted}, {left:.0f} s left ({each})"


@contextmanager
def watching(totals: Mapping[str, int], console: Console) -> Iterator[Advance]:
    """Show how far each source is; the body calls with a source and whether it has a row more.

    A terminal gets a bar a source, a log file a line every ten seconds.

    Args:
        totals: Models asked for, by source.
        console: Where to.
    """
    board = Board(totals)
    if not console.is_terminal:
        yield _log_lines(board, console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TextColumn("{task.fields[state]}"), TimeRemainingColumn(), console=console
    ) as bars:
        everything = bars.add_task("capturing", total=board.wanted, state="")
        tasks = {name: bars.add_task(f"  {name}", total=totals[name], state="") for name in totals}

        def advance(source: str, is_row: bool) -> None:
            state = board.count(source, is_row)
            bars.advance(everything, 1)
            bars.update(tasks[source], completed=state.done, state=state.text())

        yield advance


def _log_lines(board: Board, console: Console) -> Advance:
    shown = board.started
    recent: set[str] = set()

    def advance(source: str, is_row: bool) -> None:
        nonlocal shown
        board.count(source, is_row)
        recent.add(source)
        now = time.monotonic()
        if board.done == board.wanted or now - shown >= LOG_EVERY_S:
            shown = now
            console.print(board.line(recent), soft_wrap=True)
            recent.clear()

    return advance
