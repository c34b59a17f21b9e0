"""Cells: one method that learned one split, who answered its queries, and what that is worth."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.methods.reading import sparing
from benchmark.methods.registry import find_method
from benchmark.protocol.questions import Questions
from benchmark.protocol.tasks import Held, Task, load_task
from benchmark.scoring.evaluate import Scored, score
from benchmark.scoring.ranking import Matrix, Ranking, rank
from nar.base.errors import InvalidInputError

SAMPLED_ITEMS: Final = 1_500


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What is run.

    Attributes:
        data: One of `benchmark.protocol.datasets.DATASETS`.
        split: One of `benchmark.protocol.tasks.splits_of` it.
        method: One of `benchmark.methods.registry.METHODS`.
        seed: One of `benchmark.protocol.frozen.SEEDS`.
        held: Who asks: the test, or what selects a model.
    """

    data: str
    split: str
    method: str
    seed: int
    held: Held = "test"

    def __str__(self) -> str:
        """As files and messages name it."""
        ending = "" if self.held == "test" else f".{self.held}"
        return f"{self.data}.{self.split}.{self.method}.{self.seed}{ending}"


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Some vectors of a cell, drawn by lot, the same items whatever the method.

    Attributes:
        names: Of the items.
        vectors: Shape (items, dim).
        of: From how many they are drawn.
    """

    names: tuple[str, ...]
    vectors: NDArray[np.float32]
    of: int


@dataclass(frozen=True, slots=True, eq=False)
class CellResult:
    """What a cell reached under one protocol, as tables read it.

    Attributes:
        cell: What was run.
        scored: What every query reached.
        learned: Architectures that were learned from; 0 for a method that does not learn.
        dim: Length of the vectors.
        seconds: Wall time of learning and embedding.
    """

    cell: Cell
    scored: Scored
    learned: int
    dim: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class RankedCell:
    """What a cell keeps: who answered whom, and what that cost.

    Attributes:
        cell: What was run.
        rankings: The first answers to every query: protocols that ask the same among the same
            share one, by `Questions.digest`.
        learned: As in `CellResult`.
        dim: As in `CellResult`.
        seconds: As in `CellResult`.
        sample: Some of the vectors, if they are dense.
    """

    cell: Cell
    rankings: Mapping[str, Ranking]
    learned: int
    dim: int
    seconds: float
    sample: Sample | None = None

    def scored(self, asked: Questions) -> CellResult:
        """What it reached.

        Raises:
            InvalidInputError: The cell answers other questions.
        """
        return CellResult(
            self.cell, score(self.ranking(asked), asked), self.learned, self.dim, self.seconds
        )

    def ranking(self, asked: Questions) -> Ranking:
        """The answers to some questions.

        Raises:
            InvalidInputError: The cell answers other questions.
        """
        found = self.rankings.get(asked.digest())
        if found is None:
            reason = f"{self.cell} answers others than today's; delete its file, then run it again"
            raise InvalidInputError("questions", reason)
        return found


def run_cell(cell: Cell, *, cache_directory: Path) -> RankedCell:
    """Learn, embed, ask.

    Args:
        cell: What to run.
        cache_directory: See `benchmark.protocol.datasets.load_dataset`.

    Raises:
        InvalidInputError: There is no such cell.
    """
    find_method(cell.method)
    return run_on(cell, task_of(cell, cache_directory=cache_directory))


def task_of(cell: Cell, *, cache_directory: Path) -> Task:
    """What a cell learns and is asked.

    Raises:
        InvalidInputError: There is no such cell.
    """
    return load_task(
        cell.data, cell.split, cell.seed, cache_directory=cache_directory, held=cell.held
    )


def run_on(cell: Cell, task: Task) -> RankedCell:
    """Run a method on a task that is there already."""
    method = find_method(cell.method)
    started = time.perf_counter()
    with sparing() as spared:
        vectors = method.embed(task)
    seconds = time.perf_counter() - started + spared.seconds
    learned = len(task.train) if method.learns else 0
    rankings: dict[str, Ranking] = {}
    for asked in task.asked.values():
        digest = asked.digest()
        if digest not in rankings:
            rankings[digest] = rank(vectors, asked, method.weights(asked.by))
    sample = _sample(task, vectors)
    return RankedCell(cell, rankings, learned, vectors.shape[1], seconds, sample)


def questions_of(cell: Cell, *, cache_directory: Path) -> Mapping[str, Questions]:
    """What a cell answers, by protocol; nothing is learned.

    Raises:
        InvalidInputError: There is no such cell.
    """
    return task_of(cell, cache_directory=cache_directory).asked


def _sample(task: Task, vectors: Matrix) -> Sample | None:
    if not isinstance(vectors, np.ndarray):
        return None
    ids = next(iter(task.asked.values())).ids
    count = min(SAMPLED_ITEMS, len(vectors))
    drawn = np.sort(np.random.default_rng(0).choice(len(ids), count, replace=False))
    return Sample(tuple(ids[item] for item in drawn), vectors[drawn], len(ids))
