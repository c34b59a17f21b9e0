"""Columns that a corpus may lack: what capture saw beside the graphs, weights and details.

Corpora that were captured before have none of them; a row of which nothing was seen has empty
lists. Details are read where they are asked for: who wants graphs does not wait for them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nar.base.errors import CorpusError
from nar.graphs.details import MASKS, NOT_READ, NUMBERS, Details
from nar.graphs.weights import Weights

_TEXTS: Final = pa.list_(pa.string())
_WHOLE: Final = pa.list_(pa.int32())
# Chosen: more digits than a layer has are a hash or a time, and stay as they are.
_NUMBER: Final = re.compile(r"(?<!\d)(?:0|[1-9]\d{0,4})(?!\d)")

# Stands for a # that a path has itself, where # stands for a number.
_HASH: Final = "\x01"


def _field(name: str, kind: pa.DataType, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"description": description})


WEIGHTS_FIELD: Final = _field(
    "weights", _TEXTS, "last two parts of the name, shape, and number of weights"
)
# A graph repeats few sizes, and few paths but for their numbers, so each row names them once.
DETAILS_FIELDS: Final = (
    _field("sizes", _WHOLE, f"distinct sizes of the row, row-major: {', '.join(NUMBERS)}"),
    _field("node_sizes", _WHOLE, "which of the sizes each node has, canonical order"),
    _field("paths", _TEXTS, "distinct paths of modules, # for a number"),
    _field("path_numbers", _WHOLE, "these numbers, less those of the path before"),
    _field("node_paths", _WHOLE, "path of each node: 1 for the next, 0 for the last, or back"),
    _field("inputs", _TEXTS, "name, kind and shape of each input"),
    _field("outputs", _TEXTS, "name, kind and shape of each result"),
    _field("unread", _TEXTS, "what could not be read"),
)
DETAILS: Final = tuple(field.name for field in DETAILS_FIELDS)
_WORDS: Final = ("inputs", "outputs", "unread")
# How Parquet writes the columns. Measured on 366 models of all sources: a tenth to a half less.
BY_WORD: Final = tuple(f"{name}.list.element" for name in (WEIGHTS_FIELD.name, *_WORDS))
BY_BYTE: Final = ("node_sizes.list.element", "path_numbers.list.element", "node_paths.list.element")


def weights_column(items: Sequence[Weights | None]) -> pa.Array:
    """The column of weights; a row without weights has none in its list."""
    return pa.array([each.lines() if each else [] for each in items], WEIGHTS_FIELD.type)


def weights_in(table: pa.Table) -> list[Weights | None]:
    """The weights of each row of a table, which may lack the column.

    Raises:
        CorpusError: The column holds something else.
    """
    if WEIGHTS_FIELD.name not in table.column_names:
        return [None] * len(table)
    try:
        rows = table.column(WEIGHTS_FIELD.name).to_pylist()
        return [Weights.of_lines(lines) if lines else None for lines in rows]
    except ValueError as error:
        raise CorpusError(
            f"its column {WEIGHTS_FIELD.name} does not hold weights: {error}"
        ) from error


def details_columns(items: Sequence[Details | None]) -> list[pa.Array]:
    """The columns of `DETAILS_FIELDS`; a row without details has empty lists."""
    rows = [_row(each) if each else ((),) * len(DETAILS_FIELDS) for each in items]
    return [
        pa.array([row[place] for row in rows], field.type)
        for place, field in enumerate(DETAILS_FIELDS)
    ]


def _row(details: Details) -> tuple[Any, ...]:
    sizes, node_sizes = _distinct(details.numbers)
    # The newest path before each node: 0 is that path, 1 the next new one.
    newest = np.maximum.accumulate(np.concatenate([[NOT_READ], details.places]))[:-1]
    return (
        sizes.ravel(),
        node_sizes,
        [_NUMBER.sub("#", path.replace("#", _HASH)) for path in details.paths],
        list(_differences(details.paths)),
        details.places - newest,
        details.inputs,
        details.outputs,
        details.unread,
    )


def _distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct rows in the order in which they are met, and which of them each row is."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, first, inverse = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return rows[first[order]], np.argsort(order)[inverse]


def _differences(paths: Iterable[str]) -> Iterator[int]:
    """The numbers of paths, each less the number in its place in the path before that had one."""
    before: defaultdict[int, int] = defaultdict(int)
    for path in paths:
        for place, digits in enumerate(_NUMBER.findall(path)):
            yield int(digits) - before[place]
            before[place] = int(digits)


def _paths(templates: Iterable[str], differences: Sequence[int]) -> Iterator[str]:
    before: defaultdict[int, int] = defaultdict(int)
    left = iter(differences)
    for template in templates:
        whole, *rest = template.split("#")
        for place, (part, difference) in enumerate(zip(rest, islice(left, len(rest)), strict=True)):
            before[place] += difference
            whole += f"{before[place]}{part}"
        yield whole.replace(_HASH, "#")


def details_in(table: pa.Table) -> list[Details | None]:
    """The details of each row of a table, None where it has none; it may lack the columns.

    Args:
        table: Has the columns of cards.

    Raises:
        CorpusError: The columns do not fit together.
    """
    if not set(DETAILS) <= set(table.column_names):
        return [None] * len(table)
    columns = zip(*(table.column(name).to_pylist() for name in DETAILS), strict=True)
    counts = table.column("node_count").to_pylist()
    try:
        return [_details(row, count) for row, count in zip(columns, counts, strict=True)]
    except (ValueError, IndexError, OverflowError) as error:
        raise CorpusError(f"its columns of details do not fit together: {error}") from error


def _details(row: Sequence[Any], count: int) -> Details | None:
    sizes, node_sizes, templates, differences, node_paths, *texts = row
    if not node_sizes:
        return None
    table = np.array(sizes, dtype=np.int32).reshape(-1, len(NUMBERS))
    which = np.array(node_sizes)
    _require("sizes", bool((table >= NOT_READ).all()))
    _require("sizes", bool((table[:, NUMBERS.index("mask")] < len(MASKS)).all()))
    _require("node_sizes", len(which) == len(node_paths) == count and which.min() >= 0)
    paths, places = tuple(_paths(templates, differences)), list(_places(node_paths))
    _require("node_paths", min(places) >= NOT_READ and max(places) < len(paths))
    return Details(
        table[which], paths, np.array(places, dtype=np.int32), *(tuple(text) for text in texts)
    )


def _places(steps: Iterable[int]) -> Iterator[int]:
    newest = NOT_READ
    for step in steps:
        yield newest + step
        newest = max(newest, newest + step)


def _require(column: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"column {column}")
