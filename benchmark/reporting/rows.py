"""Rows of tables: what a method reached on one task, all seeds together."""

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final, Self

from pydantic import TypeAdapter

from benchmark.cells import CellResult
from benchmark.methods.registry import Method, find_method
from benchmark.scoring import metrics
from benchmark.scoring.evaluate import Difference, Evaluation, Scored, difference, summarise
from benchmark.tasks.asking import without_change
from benchmark.tasks.datasets import REAL
from nar.base.workspace import package_lines

METRICS: Final = tuple(name for each in metrics.LISTED for name in each.names())
_TITLES: Final[Mapping[str, str]] = {
    "success@1": "First right",
    "families@1": "First family right",
}
_DATA: Final = {REAL: "real", "nas-4": "nas"}
# The rows of all four tables; where one varies a part of NAR, its own NAR is the paper's.
_METHODS: Final = {
    "gcn": "gcn",
    "gat": "gat",
    "nar": "paper",
    "node_num": "paper-node-number",
    "motif_num": "paper-motif-number",
    "random": "paper-random",
    "ce": "paper-ce",
    "cl": "paper-cl",
    "ce+cl": "paper",
    "from_scratch": "paper",
    "nas_pretrained": "paper-from-nas",
}


def metric_title(metric: str) -> str:
    """As tables show it."""
    return _TITLES.get(metric, metric.upper())


@dataclass(frozen=True, slots=True)
class Kind:
    """What queries of one kind reached.

    Attributes:
        queries: How many asked, all seeds together.
        mean: Of the headline.
    """

    queries: int
    mean: float


@dataclass(frozen=True, slots=True)
class Row:
    """A method on one task, all seeds together.

    Attributes:
        method: What was run.
        evaluation: What it reached.
        difference: Of the headline, to the reference; None for the reference itself.
        kinds: The headline by how models were changed, where changed models ask.
        dim: Length of the vectors.
        learned: Architectures that were learned from, mean over seeds.
        seconds: Wall time, mean over seeds.
    """

    method: Method
    evaluation: Evaluation
    difference: Difference | None
    kinds: Mapping[str, Kind]
    dim: int
    learned: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        method = self.method
        named = {"method": method.name, "title": method.title, "learns": method.learns}
        cost = {"dim": self.dim, "learned": self.learned, "seconds": self.seconds}
        apart = asdict(self.difference) if self.difference else None
        kinds = {name: asdict(kind) for name, kind in self.kinds.items()}
        return {**named, **self.evaluation.to_dict(), **cost, "difference": apart, "kinds": kinds}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """What `to_dict` told.

        Raises:
            InvalidInputError: There is no such method any more.
        """
        cost = {name: told[name] for name in ("dim", "learned", "seconds")}
        return cls(
            method=find_method(told["method"]),
            evaluation=TypeAdapter(Evaluation).validate_python(told),
            difference=TypeAdapter(Difference | None).validate_python(told["difference"]),
            kinds=TypeAdapter(dict[str, Kind]).validate_python(told["kinds"]),
            **cost,
        )


def rows_of(
    methods: Sequence[Sequence[CellResult]], headline: str, *, by_kind: bool = False
) -> list[Row]:
    """A row a method; all are compared with the last.

    Args:
        methods: Cells of each method, a seed each, on one task; the last has every seed.
        headline: The metric that the task is judged by.
        by_kind: Whether queries are models that were changed in several ways.
    """
    scored = [[seed.scored for seed in seeds] for seeds in methods]
    reference = {seed.cell.seed: seed.scored for seed in methods[-1]}
    theirs = [[reference[seed.cell.seed] for seed in seeds] for seeds in methods]
    pairs = zip(scored[:-1], theirs[:-1], strict=True)
    apart = [*(difference(*pair, headline) for pair in pairs), None]
    kinds = [_by_kind(mine, headline) if by_kind else {} for mine in scored]
    return [_row(*each) for each in zip(methods, apart, kinds, strict=True)]


def best_idle(rows: Sequence[Row], metric: str) -> Row | None:
    """The best of the rows that are not trained, if there are any."""
    idle = [row for row in rows if not row.method.learns]
    return max(idle, key=lambda row: row.evaluation.scores[metric].mean, default=None)


def _row(seeds: Sequence[CellResult], apart: Difference | None, kinds: Mapping[str, Kind]) -> Row:
    whole = summarise([seed.scored for seed in seeds])
    learned, seconds = fmean(s.learned for s in seeds), fmean(s.seconds for s in seeds)
    method = find_method(seeds[0].cell.method)
    return Row(method, whole, apart, kinds, max(s.dim for s in seeds), learned, seconds)


def _by_kind(seeds: Sequence[Scored], metric: str) -> dict[str, Kind]:
    """Queries are called ``<original>@<rewrite>``."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for seed in seeds:
        for query, value in zip(seed.queries, seed.values[metric].tolist(), strict=True):
            values[without_change(query)[1]].append(value)
    return {kind: Kind(len(reached), fmean(reached)) for kind, reached in values.items()}


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A row as the paper prints it.

    Attributes:
        title: As our tables show it.
        method: Our implementation of the same.
        scores: By metric and depth, all of `METRICS`.
    """

    title: str
    method: str
    scores: Mapping[str, float]


def printed_rows(table: int | None, data: str) -> list[PrintedRow]:
    """The rows that a table of the paper has on a data set; most of ours have none."""
    wanted = (str(table), _DATA.get(data))
    every = csv.DictReader(package_lines("data", "printed.csv", package="benchmark"))
    rows = [row for row in every if (row["table"], row["dataset"]) == wanted]
    return [
        PrintedRow(
            f"printed: {row['row'].replace('_', ' ').upper()}",
            _METHODS[row["row"]],
            {metric: float(row[metric]) for metric in METRICS},
        )
        for row in rows
    ]
