"""Report: the page of figures from the lines that campaigns have written, a row each.

Run: python -m benchmark campaign report LOG. The newest line of a row counts; a line without a row
is named. The lines of the page are kept beside it, so that a campaign which is run again changes
its row and no other. What was found on the way is told in `track_record.yaml`, by hand.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

PAGE: Final = Path(__file__).parents[2] / "results/reliability.md"
# A line a row, as the campaign wrote it.
KEPT: Final = PAGE.with_suffix(".jsonl")
TRACK_RECORD: Final = Path(__file__).with_name("track_record.yaml")
MAX_FAULT_CHARS: Final = 300
# Of an entry of the track record.
KEYS: Final = ("fault", "found", "fixed", "command")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the page.

    Attributes:
        figure: What is measured.
        aim: What it should be.
        wanted: Of how many things the aim speaks.
    """

    figure: str
    aim: str
    wanted: int


# By the name of a campaign and its variant.
ROWS: Final[Mapping[str, Row]] = {
    "kills lite": Row(
        "acknowledged rows lost, writer killed, Milvus Lite", "0 in 200 kills, 100,000 rows", 200
    ),
    "kills server": Row("the same, a real Milvus server killed", "0 in 20 kills", 20),
    "model lite": Row("operations that differ from a dictionary, Lite", "0 in 200,000", 200_000),
    "model reader": Row("the same, rows in memory before Lite", "0 in 200,000", 200_000),
    "model server": Row("the same, a real Milvus server", "0 in 5,000", 5_000),
    "inputs": Row(
        "bad inputs over the wire", "1,000,000: no INTERNAL, no wrong OK, memory flat", 1_000_000
    ),
    "heavy": Row(
        "heaviest legal calls beside small searches",
        "small ones within 500 ms, memory below the deployed limit",
        10,
    ),
    "rolling": Row(
        "restarts under load, client with retry", "no failed call in 50, recovery <= 5 s", 50
    ),
    **{
        f"overload {kind}": Row(
            f"open loop at 1x, 2x, 5x of the peak, by {kind}",
            "goodput at 5x >= 90% of the peak, accepted p99 <= 500 ms, rest shed in < 10 ms",
            3,
        )
        for kind in ("vector", "graph")
    },
    "soak": Row(
        "70% of the peak for 60 minutes", "memory and descriptors flat, no call fails", 120
    ),
    "store": Row(
        "store hung, slow, gone, restarted, disk full",
        "clear status in time, nar_serving falls, recovery without a restart",
        18,
    ),
    **{
        f"damage {kind}": Row(
            f"files truncated and bits flipped: {kind}",
            "refused or recovered, never silently wrong",
            1,
        )
        for kind in ("atlas", "store")
    },
    "faults": Row(
        "bulk jobs broken: workers, drivers, nodes, Milvus, disks, steps, models",
        "100 runs: the identical digest, or a clear error that a rerun repairs",
        100,
    ),
    "rows lite": Row(
        "rows lost without being named: jobs, clients and failures in any order, Milvus Lite",
        "0 in 1,000 runs",
        1_000,
    ),
    "rows server": Row("the same, a real Milvus server", "0 in 1,000 runs", 1_000),
    **{
        f"week {store}": Row(
            f"a week of a zoo of one's own, {place}: the steps are below",
            "five days, each with the rows, labels and answers of a fresh build, by 300 models",
            1_500,
        )
        for store, place in (("lite", "Milvus Lite"), ("server", "a Milvus server"))
    },
    "statuses": Row("statuses that a test reaches, by method and cause", "all", 1),
}
HEAD: Final = """# Reliability

What was done to NAR again and again, and what came of it. `make campaigns` does all of it, in
hours, and writes this page; `make campaign-NAME OPTIONS='--help'` says what one of them can be
told, and `make reliability` puts what it came to here. The served index is the shipped atlas. The
rows stand in [reliability.jsonl](reliability.jsonl), too. Each run of the broken bulk jobs is a
line of [faults.jsonl](faults.jsonl): what was struck, how the job ended, what it said.

| figure | aim | measured | met | date, seed | command | machine |
|---|---|---|---|---|---|---|
"""
# Of which campaigns the steps have a table of their own, and how figures of CPU seconds end.
WEEKS: Final = ("week lite", "week server")
CPU: Final = "_cpu_s"
WEEK: Final = """
## The steps of a week

`make week`: Monday all models; Tuesday ten new, five gone, three changed through an import, one
that hangs, the driver killed; Wednesday another encoder beside, the switch, and back; Thursday the
store away, a full disk, a token taken away, two models gone and a label changed; Friday back to
Tuesday. CPU seconds are of all processes, Ray's and the server's too. `anew` is the build from
nothing, in one process, beside which all rows, labels and answers are compared.

"""
TRACK: Final = """
## What was found on the way

| fault | how it was found | fixed in | command |
|---|---|---|---|
"""


def newest_of(lines: Iterable[str]) -> dict[str, str]:
    """The newest line of each campaign, the rows of the page first and in their order.

    Args:
        lines: Of logs. Of two of one day the later one counts.
    """
    read = {line: json.loads(line) for line in lines}
    by_age = sorted(read, key=lambda line: read[line]["date"])
    newest = {read[line]["campaign"]: line for line in by_age}
    return {name: newest.pop(name) for name in ROWS if name in newest} | newest


def page_of(lines: Iterable[str], track_record: Iterable[Mapping[str, str]]) -> str:
    """The page.

    Args:
        lines: Of logs.
        track_record: Faults that were found.
    """
    newest = {name: json.loads(line) for name, line in newest_of(lines).items()}
    rows = [_row_of(row, newest.get(name)) for name, row in ROWS.items()]
    unmet = [line for name, line in newest.items() if name in ROWS and line["faults"]]
    found = [_cells(each[key] for key in KEYS) for each in track_record]
    return HEAD + "".join([*rows, *_unmet(unmet), *_week(newest)]) + TRACK + "".join(found)


def _week(newest: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What each step of a week cost, a column a store."""
    stores = {name: newest[name]["figures"] for name in WEEKS if name in newest}
    if not stores:
        return
    yield WEEK
    yield _cells(["step", *(f"{name.split()[1]}, CPU s" for name in stores)])
    yield _cells(["---"] * (1 + len(stores)))
    steps = dict.fromkeys(step for figures in stores.values() for step in figures)
    for step in steps:
        if step.endswith(CPU):
            values = (str(figures.get(step, "")) for figures in stores.values())
            yield _cells([step.removesuffix(CPU).replace("_", " "), *values])


def _row_of(row: Row, line: Mapping[str, Any] | None) -> str:
    if line is None:
        return _cells([row.figure, row.aim, "not run", "", "", "", ""])
    steps = line["campaign"] in WEEKS  # they have a table of their own
    figures = [
        f"{name} {value}"
        for name, value in line["figures"].items()
        if not (steps and name.endswith(CPU))
    ]
    size = f"{line['done']:,} of {line['wanted']:,} in {line['seconds']:,.0f} s"
    measured = "; ".join([size, *figures, f"{line['fault_count']} faults"])
    met = "yes" if line["met"] and line["wanted"] >= row.wanted else "no"
    if line["met"] and line["wanted"] < row.wanted:
        met = "at a smaller size"
    when = f"{line['date']}, {line['seed']}"
    return _cells(
        [row.figure, row.aim, measured, met, when, f"`{line['command']}`", line["machine"]]
    )


def _unmet(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for line in lines:
        first = line["faults"][0][:MAX_FAULT_CHARS]
        yield f"\n`{line['campaign']}`, the first of its faults: {first}\n"


def _cells(texts: Iterable[str]) -> str:
    return f"| {' | '.join(text.replace('|', '/').replace(chr(10), ' ') for text in texts)} |\n"


def main() -> None:
    """Write the page, and the lines that it is made of."""
    (log,) = map(Path, sys.argv[1:])
    newest = newest_of([*KEPT.read_text().splitlines(), *log.read_text().splitlines()])
    if without := ", ".join(newest.keys() - ROWS.keys()):
        sys.stderr.write(f"left out, as the page has no row for it: {without}\n")
    kept = [line for name, line in newest.items() if name in ROWS]
    KEPT.write_text("".join(f"{line}\n" for line in kept))
    PAGE.write_text(page_of(kept, yaml.safe_load(TRACK_RECORD.read_text())))


if __name__ == "__main__":
    main()
