"""What was aimed at, beside what was reached: ``nar benchmark targets``.

Reads the tables of a directory of results; a table that is not there is said to be missing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nar.corpus import shipped_corpus
from nar.corpus.manifest import Manifest
from nar.evaluation.benchmark.datasets import REAL, REWRITES
from nar.evaluation.reporting.markdown import markdown_table
from nar.evaluation.reporting.rows import METRICS, metric_title

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
    Target("table1", REAL, "paper", "mrr@20", 0.97),
    Target("table1", REAL, "paper", "map@20", 0.90),
    Target("table1", REAL, "paper", "ndcg@20", 0.93),
    Target("distinct", REAL, "distinct", "map@20", 0.97),
    Target("unseen", REAL, "unseen", "map@20", 0.94),
    Target("table1", "nas-4", "paper", "map@20", 1.0),
    Target("table1", "nas-4", "paper", "map@50", 1.0),
    Target("table1", "nas-4", "paper", "map@100", 1.0),
    Target("curve", "nas-8", "paper", "map@20", 0.98),
    Target("curve", "nas-12", "paper", "map@20", 0.92),
    Target("twins", REAL, "twins", "mrr@20", 0.95),
)
# Where every column must be the best.
FIRST: Final = (
    ("table1", REAL, "paper"),
    ("table1", "nas-4", "paper"),
    ("distinct", REAL, "distinct"),
    ("unseen", REAL, "unseen"),
)
# Of each rewrite as many first answers as this must be right; what is not named here: OTHERS.
EXACT: Final = (
    "renumbered",
    "input_size",
    "batch_2",
    "bfloat16",
    "float16",
    "eager_attention",
    "attention_by_hand",
)
OTHERS: Final = 0.95
REWRITE_TABLES: Final = ("rewrites", "rewrites-design")
_COMMAND: Final = "nar benchmark targets --results results"
_SAID: Final = (
    "Read off the tables beside this one, which say who asked and what answered. Numbers are "
    "compared as they are shown, with three decimals; 95%: bootstrap over whole families."
)

Row = Mapping[str, Any]
# What stands on every page whose numbers are of another corpus than the one that ships.
OLDER: Final = "> Measured on a corpus that was made before the one that ships."


def is_older(results: Path) -> bool:
    """Whether a table of a directory was made from another corpus than the one that ships."""
    shipped = Manifest.read(shipped_corpus()).digest
    tables = (json.loads(path.read_text()) for path in results.glob("*.json"))
    return any(table.get("corpus", shipped) != shipped for table in tables)


def read_rows(directory: Path, table: str, data: str, protocol: str) -> list[Row]:
    """The rows of a task in a table of results; none if there is no such table."""
    path = directory / f"{table}.json"
    if not path.exists():
        return []
    parts = json.loads(path.read_text())["parts"]
    return next(
        (part["rows"] for part in parts if (part["data"], part["protocol"]) == (data, protocol)),
        [],
    )


def as_markdown(directory: Path) -> str:
    """Every target, met or not."""
    return "\n\n".join(
        [
            "# Targets",
            *([OLDER] if is_older(directory) else []),
            f"```sh\n{_COMMAND}\n```",
            _SAID,
            markdown_table(
                (
                    *("data, protocol", "number", "aim", "met", "reached", "95%"),
                    *("best other", "best untrained baseline"),
                ),
                [_target_line(target, directory) for target in TARGETS],
            ),
            "NAR default above every other method, the untrained ones included:",
            markdown_table(
                ("data, protocol", "columns", "where not"),
                [_first_line(directory, *task) for task in FIRST],
            ),
            "Recall@1 by rewrite; in `rewrites` only the original is right, in `rewrites-design` "
            "whatever has its design:",
            markdown_table(("rewrite", "aim", *REWRITE_TABLES), _rewrite_lines(directory)),
        ]
    ) + "\n"  # fmt: skip


def _target_line(target: Target, directory: Path) -> list[str]:
    rows = read_rows(directory, target.table, target.data, target.protocol)
    task = f"{target.data}, {target.protocol}"
    named = [task, metric_title(target.metric), f"{target.aim:.2f}"]
    if not rows:
        return [*named, _MISSING]
    ours, others = _told_apart(rows)
    score = ours["scores"][target.metric]
    return [
        *named,
        "yes" if _is_met(score["mean"], target.aim) else f"no, by {target.aim - score['mean']:.3f}",
        f"{score['mean']:.3f}",
        f"{score['low']:.3f} to {score['high']:.3f}",
        _best(others, target.metric),
        _best([row for row in others if not row["learns"]], target.metric),
    ]


def _best(rows: Sequence[Row], metric: str) -> str:
    best = max(rows, key=lambda row: row["scores"][metric]["mean"])
    return f"{best['scores'][metric]['mean']:.3f}, {best['title']}"


def _first_line(directory: Path, table: str, data: str, protocol: str) -> list[str]:
    rows = read_rows(directory, table, data, protocol)
    if not rows:
        return [f"{data}, {protocol}", _MISSING]
    ours, others = _told_apart(rows)
    lost = []
    for metric in METRICS:
        best = max(others, key=lambda row: row["scores"][metric]["mean"])
        theirs, mine = (round(row["scores"][metric]["mean"], DECIMALS) for row in (best, ours))
        if theirs >= mine:
            word = "the same" if theirs == mine else f"{theirs:.3f}"
            lost.append(f"{metric_title(metric)}: {word}, {best['title']}")
    won = f"{len(METRICS) - len(lost)} of {len(METRICS)}"
    return [f"{data}, {protocol}", won, "; ".join(lost)]


def _rewrite_lines(directory: Path) -> list[list[str]]:
    """A line a rewrite, in the order of the tables, the strictest aim first."""
    tables = [read_rows(directory, name, REWRITES, name) for name in REWRITE_TABLES]
    kinds = [_told_apart(rows)[0]["kinds"] if rows else {} for rows in tables]
    names = sorted({**kinds[0], **kinds[1]}, key=_aim, reverse=True)
    return [
        [name, f"{_aim(name):.2f}", *(_reached(kind, name) for kind in kinds)] for name in names
    ]


def _aim(rewrite: str) -> float:
    return 1.0 if rewrite in EXACT else OTHERS


def _reached(kinds: Mapping[str, Mapping[str, float]], rewrite: str) -> str:
    if rewrite not in kinds:
        return _MISSING
    mean = kinds[rewrite]["mean"]
    return f"{mean:.3f}" if _is_met(mean, _aim(rewrite)) else f"{mean:.3f}, missed"


def _told_apart(rows: Sequence[Row]) -> tuple[Row, list[Row]]:
    """Our row, and all others."""
    (ours,) = (row for row in rows if row["method"] == METHOD)
    return ours, [row for row in rows if row is not ours]


def _is_met(reached: float, aim: float) -> bool:
    return round(reached, DECIMALS) >= aim


def write_targets(results: Path) -> None:
    """Set what was aimed at beside what was reached, in the directory of the tables."""
    (results / "targets.md").write_text(as_markdown(results))
