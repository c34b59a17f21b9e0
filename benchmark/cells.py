"""Cells: one method that learned one split, who answered its queries; and the files that keep this.

A cell is a Parquet file, a row a query of each ranking, so that tables are written anew without
learning; its metadata say what was run, on what, for how long. Some of its vectors stand in another
file beside it, to be drawn.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark.methods.reading import sparing
from benchmark.methods.registry import find_method
from benchmark.scoring.evaluate import Scored, score
from benchmark.scoring.ranking import NOBODY, Matrix, Ranking, rank
from benchmark.tasks.questions import Questions
from benchmark.tasks.task import Held, Task, load_task
from nar.base.errors import CorpusError, InvalidInputError
from nar.base.files import write_whole
from nar.graphs.ragged import owners

SAMPLED_ITEMS: Final = 1_500
_KEY: Final = b"nar.cell"


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What is run.

    Attributes:
        data: One of `benchmark.tasks.datasets.DATASETS`.
        split: One of `benchmark.tasks.task.splits_of` it.
        method: One of `benchmark.methods.registry.METHODS`.
        seed: One of `benchmark.tasks.frozen.SEEDS`.
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
        cache_directory: See `benchmark.tasks.datasets.load_dataset`.

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
            second = method.second(task, asked)
            rankings[digest] = rank(vectors, asked, method.weights(asked.by), second=second)
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


def cell_path(directory: Path, cell: Cell) -> Path:
    """File of a cell in the directory of an evaluation."""
    return directory / "cells" / f"{cell}.parquet"


def write_cell(path: Path, cell: RankedCell, *, content: str = "") -> None:
    """Write a cell whole or not at all.

    Args:
        path: Where.
        cell: What came of it.
        content: Digest of everything that decides it.
    """
    about = {
        **asdict(cell.cell),
        "rankings": list(cell.rankings),
        "learned": cell.learned,
        "dim": cell.dim,
        "seconds": round(cell.seconds, 3),
        "content": content,
    }
    table = _of_rankings(list(cell.rankings.values()))
    table = table.replace_schema_metadata({_KEY: json.dumps(about)})
    path.parent.mkdir(parents=True, exist_ok=True)
    if cell.sample is not None:
        _write(_sample_path(path), _as_table(cell.sample))
    _write(path, table)


def _of_rankings(rankings: Sequence[Ranking]) -> pa.Table:
    """All rankings in one table; the shorter ones end with `NOBODY`."""
    depth = max(ranking.items.shape[1] for ranking in rankings)
    items = [
        np.pad(each.items, ((0, 0), (0, depth - each.items.shape[1])), constant_values=NOBODY)
        for each in rankings
    ]
    number = owners([len(ranking.queries) for ranking in rankings])
    return pa.table(
        {
            "ranking": pa.array(number),
            "query": pa.array(np.concatenate([ranking.queries for ranking in rankings])),
            "nearest": pa.array(np.concatenate([ranking.nearest for ranking in rankings])),
            "items": _lists(np.concatenate(items)),
        }
    )


def _write(path: Path, table: pa.Table) -> None:
    write_whole(path, partial(pq.write_table, table, compression="zstd"))


def _lists(matrix: NDArray[np.generic]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])


def _matrix(table: pa.Table, column: str) -> NDArray[np.generic]:
    lists = table[column].combine_chunks()
    rows: NDArray[np.generic] = lists.flatten().to_numpy()
    return rows.reshape(len(table), lists.type.list_size)


def _sample_path(path: Path) -> Path:
    return path.with_suffix(".vectors.parquet")


def _as_table(sample: Sample) -> pa.Table:
    table = pa.table({"name": list(sample.names), "vector": _lists(sample.vectors)})
    return table.replace_schema_metadata({_KEY: json.dumps({"of": sample.of})})


def read_sample(path: Path) -> Sample:
    """The vectors that stand beside a cell.

    Args:
        path: Of the cell.

    Raises:
        CorpusError: They are missing or damaged.
    """
    try:
        table = pq.read_table(_sample_path(path))
        vectors = _matrix(table, "vector").astype(np.float32, copy=False)
        return Sample(tuple(table["name"].to_pylist()), vectors, _about(table.schema)["of"])
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise CorpusError(f"no vectors beside {path}: {error}; run the cell again") from error


def content_of(path: Path) -> str | None:
    """The digest that a cell was written with; None if there is no readable cell."""
    try:
        return str(_about(pq.read_schema(path))["content"])
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None


def read_cell(path: Path) -> RankedCell:
    """Read a cell back, without the sample of its vectors.

    Raises:
        CorpusError: It is missing or damaged.
    """
    try:
        table = pq.read_table(path)
        about = _about(table.schema)
        cell = Cell(*(about[field.name] for field in fields(Cell)))
        rankings = _rankings(table, about["rankings"])
        return RankedCell(cell, rankings, about["learned"], about["dim"], about["seconds"])
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise CorpusError(f"{path} holds no cell: {error}; run it again") from error


def _rankings(table: pa.Table, digests: Sequence[str]) -> dict[str, Ranking]:
    items = _matrix(table, "items").astype(np.int32, copy=False)
    number, queries, nearest = (
        table[column].to_numpy() for column in ("ranking", "query", "nearest")
    )
    return {
        digest: Ranking(digest, queries[rows], items[rows], nearest[rows])
        for which, digest in enumerate(digests)
        for rows in [number == which]
    }


def _about(schema: pa.Schema) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((schema.metadata or {})[_KEY])
    return about
