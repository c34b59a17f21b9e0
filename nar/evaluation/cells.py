"""Cells: one method on one task. What every query reached is kept, so that tables can pool seeds.

A cell is a Parquet file, a row a query; its metadata say what was run, on what, for how long.
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from nar.errors import CorpusError
from nar.evaluation.evaluate import Scored, score
from nar.evaluation.methods import find_method
from nar.evaluation.tasks import Held, Task, load_task

_KEY: Final = b"nar.cell"
_WORDS: Final = ("query", "cluster")


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What is run.

    Attributes:
        data: One of `nar.evaluation.datasets.DATASETS`.
        protocol: One of `nar.evaluation.tasks.protocols_of` it.
        method: One of `nar.evaluation.methods.METHODS`.
        seed: One of `nar.evaluation.frozen.SEEDS`.
    """

    data: str
    protocol: str
    method: str
    seed: int

    def __str__(self) -> str:
        """As files and messages name it."""
        return f"{self.data}.{self.protocol}.{self.method}.{self.seed}"


@dataclass(frozen=True, slots=True, eq=False)
class CellResult:
    """What came of it.

    Attributes:
        cell: What was run.
        scored: What every query reached.
        learned: Architectures that were learned from; 0 for a method that learns nothing.
        dim: Length of the vectors.
        seconds: Wall time of learning and embedding.
    """

    cell: Cell
    scored: Scored
    learned: int
    dim: int
    seconds: float


def run_cell(cell: Cell, *, cache_directory: Path, held: Held = "test") -> CellResult:
    """Learn, embed, ask.

    Args:
        cell: What to run.
        cache_directory: See `nar.evaluation.datasets.load_dataset`.
        held: See `load_task`.

    Raises:
        InvalidInputError: There is no such cell.
    """
    find_method(cell.method)
    task = load_task(
        cell.data, cell.protocol, cell.seed, cache_directory=cache_directory, held=held
    )
    return run_on(cell, task)


def run_on(cell: Cell, task: Task) -> CellResult:
    """Run a method on a task that is there already."""
    method = find_method(cell.method)
    started = time.perf_counter()
    vectors = method.embed(task)
    seconds = time.perf_counter() - started
    learned = len(task.train) if method.learns else 0
    return CellResult(cell, score(vectors, task.asked), learned, vectors.shape[1], seconds)


def write_cell(path: Path, result: CellResult, *, content: str = "") -> None:
    """Write a cell whole or not at all.

    Args:
        path: Where.
        result: What came of it.
        content: Digest of everything that decides the result.
    """
    scored = result.scored
    about = {
        **asdict(result.cell),
        "gallery": scored.gallery,
        "learned": result.learned,
        "dim": result.dim,
        "seconds": round(result.seconds, 3),
        "content": content,
    }
    columns = {"query": scored.queries, "cluster": scored.clusters, **scored.values}
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about)})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    pq.write_table(table, part, compression="zstd")
    part.replace(path)


def content_of(path: Path) -> str | None:
    """The digest that a cell was written with; None if there is no readable cell."""
    try:
        return str(_about(pq.read_schema(path))["content"])
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None


def read_cell(path: Path) -> CellResult:
    """Read a cell back.

    Raises:
        CorpusError: It is missing or damaged.
    """
    try:
        table = pq.read_table(path)
        about = _about(table.schema)
        scored = Scored(
            tuple(table["query"].to_pylist()),
            tuple(table["cluster"].to_pylist()),
            about["gallery"],
            {name: table[name].to_numpy() for name in table.column_names if name not in _WORDS},
        )
        cell = Cell(about["data"], about["protocol"], about["method"], about["seed"])
        return CellResult(cell, scored, about["learned"], about["dim"], about["seconds"])
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise CorpusError(f"{path} holds no cell: {error}; run it again") from error


def _about(schema: pa.Schema) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((schema.metadata or {})[_KEY])
    return found
