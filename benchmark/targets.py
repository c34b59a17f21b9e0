"""What was aimed at, beside what was reached: ``python -m benchmark targets``.

Reads the tables of a directory of results; a table that is not there is said to be missing.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmark.methods.registry import find_method
from benchmark.reporting.markdown import columns_of, markdown_table
from benchmark.reporting.rows import metric_title
from benchmark.reporting.sets import find_set
from benchmark.reporting.tables import read_part
from benchmark.tasks.datasets import REAL
from benchmark.tasks.task import find_protocol
from nar.corpus import shipped_corpus
from nar.corpus.manifest import Manifest

METHOD: Final = "default"
DECIMALS: Final = 3
_MISSING: Final = "not run"


@dataclass(frozen=True, slots=True)
class Target:
    """A number that is aimed at.

    Attributes:
        table: Set of cells whose table has it.
        data: Of the task.
        protocol: Of the task.
        metric: As in ``map@20``.
        aim: What is wanted, or more.
    """

    table: str
    data: str
    protocol: str
    metric: str
    aim: float


TARGETS: Final = (
    Target("distinct", REAL, "distinct-named", "map@20", 0.93),
    Target("distinct", REAL, "distinct-named-relatives-unjudged", "map@20", 0.95),
    Target("distinct", REAL, "distinct-composed-decoder", "map@20", 0.95),
    Target("distinct", REAL, "distinct-composed-encoder", "map@20", 0.95),
    Target("unseen", REAL, "unseen-named", "map@20", 0.82),
    Target("unseen", REAL, "unseen-named-relatives-unjudged", "map@20", 0.87),
    Target("lineage", REAL, "lineage-parents", "families@1", 0.40),
    Target("lineage", REAL, "lineage-parents", "families@5", 0.74),
    Target("lineage", REAL, "lineage-parents", "families@10", 0.86),
    Target("twins", REAL, "twins", "mrr@20", 0.97),
    Target("edits", REAL, "edits-family", "success@1", 0.985),
    Target("edits", REAL, "edits-original", "success@1", 0.93),
    Target("shares", REAL, "shares-original", "success@5", 0.87),
    Target("shares", REAL, "shares-family", "success@1", 0.84),
    Target("curve", "nas-4", "nas", "map@20", 1.0),
    Target("curve", "nas-8", "nas", "map@20", 1.0),
    Target("curve", "nas-12", "nas", "map@20", 0.98),
    Target("curve", "nas-16", "nas", "map@20", 0.33),
    Target("table1", REAL, "paper", "mrr@20", 0.976),
    Target("table1", REAL, "paper", "map@20", 0.949),
    Target("table1", REAL, "paper", "ndcg@20", 0.962),
)
# Of the area under the ROC curve: whether a new family is farther than a known one.
NOVELTY_AIM: Final = 0.93
_COMPARED: Final = (
    "table1",
    "family",
    "distinct",
    "unseen",
    "lineage",
    "twins",
    "rewrites",
    "edits",
    "parts",
    "shares",
    "curve",
)
# Where every column must be the best: whatever is asked in the table of a protocol.
FIRST: Final = tuple((table, *task) for table in _COMPARED for task in find_set(table).tasks)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is aimed at for changed models, by how they were changed.

    Attributes:
        table: Set of cells whose table has it.
        protocol: Of the task; its headline is aimed at.
        aims: Of the changes that are named.
        others: Of all others; None where nothing was aimed at.
    """

    table: str
    protocol: str
    aims: Mapping[str, float]
    others: float | None = None


_NEAR: Final = {"width_2": 0.95, "depth_1": 0.95, "other_head": 0.95}
CHANGES: Final = (
    Changes("rewrites", "rewrites", _NEAR, 1.0),
    Changes("rewrites", "rewrites-design", _NEAR, 1.0),
    Changes(
        "edits",
        "edits-family",
        {"norm": 0.95, "activation": 0.98, "activation_and_norm": 0.90},
        0.99,
    ),
    Changes(
        "parts",
        "parts-family",
        {"without_embedding": 0.97, "last_40": 0.88, "middle_half": 0.85},
    ),
    Changes(
        "parts",
        "parts-original",
        {"without_embedding": 0.98, "last_40": 0.92, "middle_half": 0.80},
    ),
)
_COMMAND: Final = "python -m benchmark targets --results results"
_INTRODUCTION: Final = (
    "Read off the tables beside this one, which say who asked and what answered. Numbers are "
    "compared as they are shown, with three decimals; 95%: bootstrap over whole families and "
    "seeds; ceiling: what no encoder can pass, for it cannot tell equal graphs apart."
)

Row = Mapping[str, Any]
# What stands on every page whose numbers are of another corpus than the one that ships.
OLDER: Final = "> Measured on a corpus that was made before the one that ships."


def is_older(results: Path) -> bool:
    """Whether a table of a directory was made from another corpus than the one that ships."""
    shipped = Manifest.read(shipped_corpus()).digest
    pages = (json.loads(path.read_text()) for path in results.glob("*.json"))
    tables = (page for page in pages if isinstance(page, dict))
    return any(table.get("corpus", shipped) != shipped for table in tables)


def as_markdown(directory: Path) -> str:
    """Every target, met or not."""
    columns = ("data, protocol", "number", "aim", "met", "reached", "95%", "ceiling")
    return "\n\n".join(
        [
            "# Targets",
            *([OLDER] if is_older(directory) else []),
            f"```sh\n{_COMMAND}\n```",
            _INTRODUCTION,
            markdown_table(
                (*columns, "best other", "best untrained baseline"),
                [
                    *(_target_line(target, directory) for target in TARGETS),
                    _novelty_line(directory),
                ],
            ),
            "NAR default above every other method, the untrained ones included:",
            markdown_table(
                ("data, protocol", "columns", "where not"),
                [_first_line(directory, *task) for task in FIRST],
            ),
            *(block for changes in CHANGES for block in _blocks_of(changes, directory)),
        ]
    ) + "\n"  # fmt: skip


def _target_line(target: Target, directory: Path) -> list[str]:
    part = read_part(directory, target.table, target.data, target.protocol)
    task = f"{target.data}, {target.protocol}"
    named = [task, metric_title(target.metric), f"{target.aim:.3f}"]
    if part is None:
        return [*named, _MISSING]
    ours, others = _our_row_and_others(part["rows"])
    score = ours["scores"][target.metric]
    return [
        *named,
        *_reached(score, target.aim),
        f"{part['ceiling']['scores'][target.metric]['mean']:.3f}",
        _best(others, target.metric),
        _best([row for row in others if not row["learns"]], target.metric),
    ]


def _novelty_line(directory: Path) -> list[str]:
    """The ceiling is 1, for no design asks whose graph was learned."""
    path = directory / "novelty.json"
    named = [f"{REAL}, novelty", "area under ROC", f"{NOVELTY_AIM:.3f}"]
    if not path.exists():
        return [*named, _MISSING]
    areas: list[Row] = json.loads(path.read_text())["areas"]
    ours, others = _our_row_and_others(areas)
    idle = [area for area in others if not find_method(area["method"]).learns]
    best = (max(areas, key=lambda area: area["mean"]) for areas in (others, idle))
    shown = (f"{each['mean']:.3f}, {find_method(each['method']).title}" for each in best)
    return [*named, *_reached(ours, NOVELTY_AIM), "1.000", *shown]


def _reached(score: Mapping[str, float], aim: float) -> list[str]:
    """Whether it is met, the mean, its interval."""
    mean = score["mean"]
    met = "yes" if _is_met(mean, aim) else f"no, by {aim - mean:.3f}"
    return [met, f"{mean:.3f}", f"{score['low']:.3f} to {score['high']:.3f}"]


def _best(rows: Sequence[Row], metric: str) -> str:
    best = max(rows, key=lambda row: row["scores"][metric]["mean"])
    return f"{best['scores'][metric]['mean']:.3f}, {best['title']}"


def _first_line(directory: Path, table: str, data: str, protocol: str) -> list[str]:
    part = read_part(directory, table, data, protocol)
    if part is None:
        return [f"{data}, {protocol}", _MISSING]
    ours, others = _our_row_and_others(part["rows"])
    metrics = columns_of(find_protocol(data, protocol).headline)
    lost: defaultdict[str, list[str]] = defaultdict(list)
    for metric in metrics:
        best = max(others, key=lambda row: row["scores"][metric]["mean"])
        theirs, mine = (round(row["scores"][metric]["mean"], DECIMALS) for row in (best, ours))
        if theirs >= mine:
            word = "the same" if theirs == mine else f"{theirs:.3f}"
            lost[best["title"]].append(f"{metric_title(metric)} {word}")
    won = f"{len(metrics) - sum(map(len, lost.values()))} of {len(metrics)}"
    ahead = (f"{title}: {', '.join(columns)}" for title, columns in lost.items())
    return [f"{data}, {protocol}", won, "; ".join(ahead)]


def _blocks_of(changes: Changes, directory: Path) -> list[str]:
    """A line a change, the strictest aim first: what NAR default reaches, and the best other."""
    headline = find_protocol(REAL, changes.protocol).headline
    said = f"{changes.protocol}, {metric_title(headline)} by change"
    part = read_part(directory, changes.table, REAL, changes.protocol)
    if part is None:
        return [f"{said}:", _MISSING]
    said += f" (ceiling of all together: {part['ceiling']['scores'][headline]['mean']:.3f}):"
    ours, others = _our_row_and_others(part["rows"])
    lines = []
    for kind, reached in ours["kinds"].items():
        aim = changes.aims.get(kind, changes.others)
        best = max(others, key=lambda row: row["kinds"][kind]["mean"])
        mark = "" if aim is None or _is_met(reached["mean"], aim) else ", missed"
        other = f"{best['kinds'][kind]['mean']:.3f}, {best['title']}"
        aimed = "-" if aim is None else f"{aim:.2f}"
        shown = f"{reached['mean']:.3f}{mark}"
        lines.append([kind, f"{reached['queries']:,}", aimed, shown, other])
    lines.sort(key=lambda line: line[2], reverse=True)
    return [said, markdown_table(("change", "queries", "aim", "reached", "best other"), lines)]


def _our_row_and_others(rows: Sequence[Row]) -> tuple[Row, list[Row]]:
    """Our row, and all others."""
    (ours,) = (row for row in rows if row["method"] == METHOD)
    return ours, [row for row in rows if row is not ours]


def _is_met(reached: float, aim: float) -> bool:
    return round(reached, DECIMALS) >= aim


def write_targets(results: Path) -> None:
    """Set what was aimed at beside what was reached, in the directory of the tables."""
    (results / "targets.md").write_text(as_markdown(results))
