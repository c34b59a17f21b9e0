"""Cells as files: the rankings are kept, so that tables are written anew without learning.

A cell is a Parquet file, a row a query of each ranking; its metadata say what was run, on what, for
how long. Some of its vectors stand in another file beside it, to be drawn.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark.cells import Cell, RankedCell, Sample
from benchmark.scoring.ranking import NOBODY, Ranking
from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.graphs.ragged import owners

_KEY: Final = b"nar.cell"


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
