"""The benchmark on the cluster: cells in parallel, each kept until its code or data change."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import ray
import torch
from ray.actor import ActorHandle

from benchmark.cells import Cell, RankedCell, cell_path, content_of, run_cell, write_cell
from benchmark.methods.registry import find_method
from benchmark.reporting.sets import find_set
from benchmark.tasks import frozen
from benchmark.tasks.datasets import ASKING_FILES
from benchmark.tasks.questions import QUESTIONS_VERSION
from cluster.actors import ActorPool, Done, Item, WorkerKind, starter
from cluster.config import EvaluateConfig
from cluster.ledger import digest, file_digest
from cluster.resources import bound_memory, pool_size, worker_share
from nar.base.console import progress
from nar.base.errors import InvalidInputError
from nar.base.workspace import package_path
from nar.corpus import Corpus, read_cards, shipped_corpus


@dataclass(frozen=True, slots=True)
class EvaluateReport:
    """What a run did.

    Attributes:
        ran: Cells that were run.
        kept: Cells that were there already, of the same method, questions and data.
        failures: Why a cell is missing, by its name.
        seconds: Wall time.
    """

    ran: int
    kept: int
    failures: dict[str, str]
    seconds: float

    def __str__(self) -> str:
        """The report for a person, in one line."""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{self.ran} cells run{failed}, {self.kept} kept, in {self.seconds:.0f} s"


def chosen_cells(sets: Sequence[str], **wanted: Sequence[str] | Sequence[int]) -> list[Cell]:
    """The cells of some sets, each once, where asked for only those of some fields.

    Args:
        sets: Names of sets.
        wanted: What some fields of a cell may be; nothing is anything: ``method=["default"]``.

    Raises:
        InvalidInputError: There is no such set, or no cell of them is of what is wanted.
    """
    cells = list(dict.fromkeys(cell for name in sets for cell in find_set(name).cells()))
    for field, allowed in wanted.items():
        there = dict.fromkeys(getattr(cell, field) for cell in cells)
        if strange := [each for each in allowed if each not in there]:
            listed = ", ".join(map(str, there))
            raise InvalidInputError(field, f"wanted one of {listed}, came {strange[0]!r}")
        cells = [cell for cell in cells if not allowed or getattr(cell, field) in allowed]
    return cells


class EvaluateWorker:
    """Runs cells; keeps the data set that it has read."""

    def __init__(self, cache_directory: Path, memory_limit_bytes: int | None) -> None:
        bound_memory(memory_limit_bytes)
        torch.set_num_threads(1)
        self._cache_directory = cache_directory

    def run(self, cell: Cell) -> RankedCell:
        """Run one cell."""
        return run_cell(cell, cache_directory=self._cache_directory)


def evaluate(cells: Sequence[Cell], directory: Path, config: EvaluateConfig) -> EvaluateReport:
    """Run cells on the connected cluster; what is there already is not run again.

    Args:
        cells: What to run.
        directory: Gets a file a cell; on storage that every node sees.
        config: Sizes of the workers.

    Raises:
        InvalidInputError: A cell names no method.
        WorkerStartError: The cluster has no room.
    """
    started = time.monotonic()
    data = data_digest()
    contents = {str(cell): content(cell, data) for cell in cells}
    waiting = {
        str(cell): cell
        for cell in cells
        if content_of(cell_path(directory, cell)) != contents[str(cell)]
    }
    failures = {}
    with progress("evaluating", len(waiting)) as advance:
        for outcome in _pool(waiting, directory, config).run(_items(waiting)):
            if isinstance(outcome, Done):
                cell = waiting[outcome.key]
                path = cell_path(directory, cell)
                write_cell(path, outcome.value, content=contents[outcome.key])
            else:
                failures[outcome.key] = str(outcome.error)
            advance(1)
    kept = len(contents) - len(waiting)
    seconds = time.monotonic() - started
    return EvaluateReport(len(waiting) - len(failures), kept, failures, round(seconds, 1))


def _pool(
    waiting: dict[str, Cell], directory: Path, config: EvaluateConfig
) -> ActorPool[RankedCell]:
    share = worker_share(config)
    start = starter(EvaluateWorker, share, directory, config.memory_limit_bytes)

    def ask(worker: ActorHandle[EvaluateWorker], key: str) -> "ray.ObjectRef[RankedCell]":
        return worker.run.remote(waiting[key])

    return ActorPool(WorkerKind(start, ask), pool_size(config, share), config)


def _items(waiting: dict[str, Cell]) -> list[Item]:
    """Cells of one data set go to one worker, as far as that keeps all of them busy."""
    return [Item(key, group=cell.data) for key, cell in waiting.items()]


def content(cell: Cell, data: str) -> str:
    """Digest of everything that decides the ranking of a cell, as it is stated.

    Its names; what its method says of itself; the version of the questions; the data.
    """
    return digest(str(cell), find_method(cell.method).identity, str(QUESTIONS_VERSION), data)


@cache
def data_digest() -> str:
    """Digest of what the benchmark reads of its data: labels and networks, not how they are kept.

    A corpus that gains a column, or architectures without a frozen id, keeps the cells that were
    run on it, in whatever order it has them. It takes a second for the 30,000 cards that are
    shipped, which no process sees change.
    """
    asking = (read_cards(package_path("data", name, package="benchmark")) for name in ASKING_FILES)
    names = frozenset(frozen.read().column("name").to_pylist())
    known = (card for card in Corpus(shipped_corpus()).cards() if card.labels.name in names)
    cards = chain(known, *asking)
    networks = sorted(f"{card.labels} {card.block} {card.topology} {card.exact}" for card in cards)
    return digest(file_digest(package_path("data", frozen.FILE, package="benchmark")), *networks)
