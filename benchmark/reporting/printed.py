"""The numbers that the paper prints in its Tables 1 to 4, and which methods of ours they are of."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmark.protocol.datasets import REAL
from benchmark.reporting.rows import METRICS
from nar.base.files import package_lines

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
