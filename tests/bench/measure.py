"""Shared by the benchmarks: best-of timing, peak memory, and one table of results."""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table


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


def report(title: str, rows: list[dict[str, object]]) -> None:
    """Print the rows; with a path as argument, write them there as JSON too."""
    table = Table(*rows[0], title=title, title_justify="left")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    # A pipe has no width: no column is broken there.
    Console(width=None if sys.stdout.isatty() else 240).print(table)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps({"title": title, "rows": rows}, indent=2) + "\n")
