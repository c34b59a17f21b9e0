"""What 10 and 100 million networks would take, from what smaller sizes took: results/scaling.md.

Part of `scale.py`, which writes the page anew with every size that it has run.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Steps = Mapping[str, Mapping[str, Any]]

DERIVED = (1_000_000, 10_000_000, 100_000_000)
DAY_S = 86_400
GIB = 2**10  # in MiB
# What one process of ours may hold.
PROCESS_GIB = 2
_OBJECTS = "a store of objects, which Arrow and Milvus read"


@dataclass(frozen=True, slots=True)
class Line:
    """A quantity as a constant and so much a network.

    Attributes:
        constant: Of no network at all.
        each: Of each network.
    """

    constant: float
    each: float

    def at(self, count: int) -> float:
        """The quantity at a size."""
        return self.constant + self.each * count


def line(points: Mapping[int, float]) -> Line | None:
    """The line through the two largest sizes; through the origin where there is one alone.

    A line that falls is taken as flat: what was measured differs by more than it grows.
    """
    if not points:
        return None
    large = max(points)
    if len(points) == 1:
        return Line(0.0, points[large] / large)
    small = sorted(points)[-2]
    each = max((points[large] - points[small]) / (large - small), 0.0)
    return Line(max(points[large] - each * large, 0.0), each)


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a size needs, and how much of it there is.

    Attributes:
        title: What.
        unit: Of the numbers on the page, and of the limit.
        measured: Of the steps of one size; None where it was not measured.
        limit: How much there may be, by the machine.
        remedy: What moves the limit.
    """

    title: str
    unit: str
    measured: Callable[[Steps], float | None]
    limit: float
    remedy: str


def needs(cores: int, memory_gib: float) -> Sequence[Need]:
    """Everything that grows with the size, on a machine like this one."""
    return (
        Need(
            f"draw, embed and index, {cores} cores",
            "h",
            lambda steps: _sum(_of(steps, step, "wall_s") for step in ("draw", "embed")),
            DAY_S / 3600,
            "more nodes: workers share nothing but files",
        ),
        Need(
            "memory of a worker",
            "GiB",
            lambda steps: _largest(steps, "worker"),
            PROCESS_GIB,
            "smaller shards",
        ),
        Need(
            "memory of Milvus",
            "GiB",
            lambda steps: _largest(steps, "Milvus"),
            memory_gib,
            "more query nodes, which share the segments; vectors of 16 bits; an index on disk",
        ),
        Need(
            "corpus on disk", "GiB", lambda steps: _of(steps, "disk", "corpus_mib"), 1_000, _OBJECTS
        ),
        Need(
            "Milvus on disk", "GiB", lambda steps: _of(steps, "disk", "milvus_mib"), 1_000, _OBJECTS
        ),
    )


def _of(steps: Steps, *path: str) -> float | None:
    value: Any = steps
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value is None else float(value)


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    measured = [value for value in known if value is not None]
    return sum(measured) if len(measured) == len(known) else None


def _largest(steps: Steps, kind: str) -> float | None:
    peaks = [_of(steps, step, "peak_mib", kind) for step in ("draw", "embed", "search")]
    return max((peak for peak in peaks if peak is not None), default=None)


HEAD = """\
# Ten and a hundred million

Written by `make scale` with [scale.md](scale.md), from the same runs: {sizes} DARTS networks
on {cores} cores with {memory:.0f} GiB. Nothing larger was run. Each quantity is the line through
the two largest sizes that have it: a constant, and so much a network. What the driver of many
workers takes is no such line; it was simulated, below.

| | constant | a million more | {titles} |
|---|---|---|{rules}|
"""
LIMITS = """
One such machine is too small for it from some size on: a build may take a day, a process of ours
{process} GiB, Milvus all the memory, files 1,000 GiB. What is reached first stands first.

| limit | reached at | what moves it |
|---|---|---|
"""
BOTTLENECKS = """
| networks | first bottleneck | beyond their limits |
|---|---|---|
"""


def page(sizes: Mapping[int, Steps], *, cores: int, memory_gib: float) -> str:
    """The page of what was measured so far."""
    every = needs(cores, memory_gib)
    lines = {need: _line_of(need, sizes) for need in every}
    head = HEAD.format(
        sizes=", ".join(f"{count:,}" for count in sizes),
        cores=cores,
        memory=memory_gib,
        titles=" | ".join(f"{count:,}" for count in DERIVED),
        rules="|".join("---" for _ in DERIVED),
    )
    derived = "".join(_row(need, found) for need, found in lines.items())
    reached = {
        need: _reached(need, lines[need])
        for need in sorted(every, key=lambda need: _reached(need, lines[need]))
        if lines[need]
    }
    limits = "".join(
        f"| {need.title}, {need.limit:,.0f} {need.unit} | {_count(at)} | {need.remedy} |\n"
        for need, at in reached.items()
    )
    firsts = "".join(_bottleneck(count, lines, reached) for count in DERIVED)
    return f"{head}{derived}{LIMITS.format(process=PROCESS_GIB)}{limits}{BOTTLENECKS}{firsts}"


def _reached(need: Need, found: Line | None) -> float:
    """How many networks take as much as there is."""
    return (need.limit - found.constant) / found.each if found and found.each else math.inf


def _count(networks: float) -> str:
    return f"{networks / 10**6:,.1f} million" if math.isfinite(networks) else "never"


def _line_of(need: Need, sizes: Mapping[int, Steps]) -> Line | None:
    """In the unit of the need."""
    scale = 3600 if need.unit == "h" else GIB
    found = {count: need.measured(steps) for count, steps in sizes.items()}
    return line({count: value / scale for count, value in found.items() if value is not None})


def _row(need: Need, found: Line | None) -> str:
    if found is None:
        return f"| {need.title} | {' | '.join('-' for _ in range(2 + len(DERIVED)))} |\n"
    numbers = (found.constant, found.each * 10**6, *(found.at(count) for count in DERIVED))
    return f"| {need.title}, {need.unit} | {' | '.join(f'{each:,.2f}' for each in numbers)} |\n"


def _bottleneck(
    count: int, lines: Mapping[Need, Line | None], reached: Mapping[Need, float]
) -> str:
    beyond = [need for need, at in reached.items() if at < count]
    told = [
        f"{need.title} ({found.at(count) / need.limit:,.1f} times)"
        for need in beyond
        if (found := lines[need])
    ]
    first = beyond[0].title if beyond else f"none; the next is {next(iter(reached)).title}"
    return f"| {count:,} | {first} | {', '.join(told) or '-'} |\n"
