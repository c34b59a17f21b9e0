"""Cells as files: what every query reached is kept, so that tables can pool seeds.

A cell is a Parquet file, a row a query; its metadata say what was run, on what, for how long. Some
of its vectors stand in another file beside it, to be drawn.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from nar.errors import CorpusError
from nar.evaluation.cells import Cell, CellResult, Sample
from nar.evaluation.scoring.evaluate import Scored

_KEY: Final = b"nar.cell"
_WORDS: Final = ("query", "cluster")


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
    if result.sample is not None:
        _write(_sample_path(path), _as_table(result.sample))
    _write(path, table)


def _write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    pq.write_table(table, part, compression="zstd")
    part.replace(path)


def _sample_path(path: Path) -> Path:
    return path.with_suffix(".vectors.parquet")


def _as_table(sample: Sample) -> pa.Table:
    flat = pa.array(sample.vectors.ravel(), pa.float32())
    vectors = pa.FixedSizeListArray.from_arrays(flat, sample.vectors.shape[1])
    table = pa.table({"name": list(sample.names), "vector": vectors})
    return table.replace_schema_metadata({_KEY: json.dumps({"of": sample.of})})


def read_sample(path: Path) -> Sample:
    """The vectors that stand beside a cell.

    Args:
        path: Of the cell.

    Raises:
        CorpusError: They are missing or damaged.
    """
    try:
        table = pq.read_table(_sample_path(path)).combine_chunks()
        vectors = table["vector"].chunk(0)
        flat = vectors.flatten().to_numpy().reshape(len(table), vectors.type.list_size)
        return Sample(tuple(table["name"].to_pylist()), flat, _about(table.schema)["of"])
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise CorpusError(f"no vectors beside {path}: {error}; run the cell again") from error


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
