"""Shared by the benchmarks: best-of timing, peak memory, results beside the stored ones."""

import json
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

STORED = Path(__file__).parents[2] / "results/bench"
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
Row = dict[str, object]


def best_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The fastest of several runs: the one least disturbed by other processes."""
    return min(one_run(work) for _ in range(repeats))


def one_run(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_memory_mib() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(title: str, rows: list[Row]) -> None:
    """Print the rows, and what they are of the stored ones; keep them where the argument says.

    Stored figures lie in results/bench, a file a benchmark. What a benchmark compares itself with
    stands among its rows, and its ratio says how fast the machine is.
    """
    # A pipe has no width: no column is broken there.
    console = Console(width=None if sys.stdout.isatty() else 240)
    console.print(_table(title, rows))
    kept = STORED / f"{Path(sys.argv[0]).stem}.json"
    if kept.exists():
        stored = json.loads(kept.read_text())
        told = f"The same as ratios of what {kept.name} has stored, of {stored['date']}"
        console.print(_table(told, ratios(rows, stored["rows"])))
    if len(sys.argv) > 1:
        about = {"title": title, "date": f"{datetime.now(UTC):%Y-%m-%d}", "rows": rows}
        Path(sys.argv[1]).write_text(json.dumps(about, indent=2) + "\n")


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(*rows[0], title=title, title_justify="left")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    return table


def ratios(rows: list[Row], stored: list[Row]) -> list[Row]:
    """The same rows with every number divided by the stored one of its row and column.

    Example:
        >>> ratios([{"of": "numpy", "ms": "3.0 / 4.0"}], [{"of": "numpy", "ms": "2.0 / 4.0"}])
        [{'of': 'numpy', 'ms': '1.50 / 1.00'}]
    """
    before = dict(_keyed(stored))
    return [
        {
            name: _ratio(cell, before.get(key, {}).get(name)) if place else cell
            for place, (name, cell) in enumerate(row.items())
        }
        for key, row in _keyed(rows)
    ]


def _keyed(rows: list[Row]) -> Iterator[tuple[tuple[str, int], Row]]:
    """Each row by its first cell, and by how often that stood there before."""
    seen = Counter[str]()
    for row in rows:
        first = str(next(iter(row.values())))
        yield (first, seen[first]), row
        seen[first] += 1


def _ratio(now: object, before: object) -> str:
    numbers = [_NUMBER.findall(str(cell)) for cell in (now, before)]
    if not numbers[0] or len(numbers[0]) != len(numbers[1]):
        return "-"
    pairs = [[float(each.replace(",", "")) for each in pair] for pair in zip(*numbers, strict=True)]
    return " / ".join(f"{new / old:.2f}" if old else "-" for new, old in pairs)
