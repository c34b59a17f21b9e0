"""Sets of cells that are run together: one for each table of results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nar.errors import InvalidInputError
from nar.evaluation.cells import Cell
from nar.evaluation.datasets import NAS, REAL
from nar.evaluation.frozen import SEEDS

BASELINES: Final = (
    "random",
    "size",
    "operators",
    "labels-1-presence",
    "labels-2-presence",
    "labels-3-presence",
    "labels-2-log-counts",
    "labels-2-idf",
    "gin-untrained",
    "gcn-untrained",
    "gat-untrained",
    "paper-untrained",
    "gin",
    "gcn",
    "gat",
)
SPLITTINGS: Final = ("paper-node-number", "paper-motif-number", "paper-random", "paper")
LOSSES: Final = ("paper-ce", "paper-cl", "paper")
# What is asked at every distance of the curve: the best that learn nothing, and ours.
CURVE: Final = ("operators", "labels-2-presence", "labels-2-log-counts", "paper", "default")
EVERY: Final = (*BASELINES, "paper", "default")


@dataclass(frozen=True, slots=True)
class CellSet:
    """The cells behind one table.

    Attributes:
        title: Of the table.
        tasks: Data set and protocol of each part.
        methods: Rows of each part.
        printed: Number of the paper's table that is shown beside it; None if it has none.
    """

    title: str
    tasks: tuple[tuple[str, str], ...]
    methods: tuple[str, ...]
    printed: int | None = None

    def cells(self) -> Iterator[Cell]:
        """Every method on every task with every seed."""
        for data, protocol in self.tasks:
            for method in self.methods:
                for seed in SEEDS:
                    yield Cell(data, protocol, method, seed)


_PRINTED_TASKS: Final = ((REAL, "paper"), ("nas-4", "paper"))

SETS: Final[Mapping[str, CellSet]] = {
    "table1": CellSet("Table 1: comparison with baselines", _PRINTED_TASKS, EVERY, 1),
    "table2": CellSet("Table 2: ways of splitting", _PRINTED_TASKS, SPLITTINGS, 2),
    "table3": CellSet("Table 3: parts of the loss", _PRINTED_TASKS, LOSSES, 3),
    "family": CellSet("Families by the defining code", ((REAL, "family"),), EVERY),
    "distinct": CellSet("Designs never seen, of families seen", ((REAL, "distinct"),), EVERY),
    "unseen": CellSet("Families never seen", ((REAL, "unseen"),), EVERY),
    "twins": CellSet("The same design in another library", ((REAL, "twins"),), EVERY),
    "curve": CellSet("NAS difficulty curve", tuple((data, "paper") for data in NAS), CURVE),
}


def find_set(name: str) -> CellSet:
    """The set of a name.

    Raises:
        InvalidInputError: There is none.
    """
    if name not in SETS:
        raise InvalidInputError("set", f"wanted one of {', '.join(SETS)}, came {name!r}")
    return SETS[name]
