"""NAR's records in the terms of Milvus and Milvus Lite: columns, index, rows and expressions.

Own labels stand in a column as they were written, and once more in Milvus' dynamic field, where
expressions find them: ``labels["text_team"]`` holds the text, ``labels["kind_team"]`` says that it
is one. A key for each kind makes comparisons mean the same in every store.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

import numpy as np
from pymilvus import DataType, MilvusClient
from pymilvus.milvus_client import IndexParams

from nar.base.errors import ConfigError
from nar.base.own_labels import LabelValue, kind_of
from nar.index import IndexKind
from nar.index.filters import (
    EVERYTHING,
    Condition,
    Filter,
    LabelCondition,
    Range,
    Terms,
    Wanted,
    combined,
)
from nar.index.rows import (
    COLUMNS,
    COUNTS,
    FINGERPRINTS,
    OWN,
    OWN_BYTES,
    TEXT_BYTES,
    Embedding,
    Hit,
    IndexRow,
)

# Measured in results/scale.md: with these settings a search finds 0.96 to 0.99 of the ten nearest
# of 30,000 to a million networks.
HNSW: Final = {"M": 16, "efConstruction": 200}
# Chosen: cells of an index of cells; Milvus' own advice for a million rows is 4 times their root.
_CELLS: Final = {"nlist": 4_096}
# The first Milvus that has any of these kinds, and that all servers which NAR meets are newer than.
_ANY: Final = (2, 0)


@dataclass(frozen=True, slots=True)
class _Build:
    """How an index of one kind is made.

    Attributes:
        since: The first version of Milvus that has it, by its documentation.
        settings: Its parameters.
        is_in_lite: Whether Milvus Lite has it, too.
    """

    since: tuple[int, int]
    settings: Mapping[str, object]
    is_in_lite: bool = False


_BUILD: Final[Mapping[IndexKind, _Build]] = {
    "FLAT": _Build(_ANY, {}, is_in_lite=True),
    "HNSW": _Build(_ANY, HNSW, is_in_lite=True),
    # Eight bits a number in place of 32: of the ten nearest of the shipped rows it finds 0.99.
    "HNSW_SQ": _Build((2, 5), {**HNSW, "sq_type": "SQ8"}, is_in_lite=True),
    "IVF_SQ8": _Build(_ANY, _CELLS, is_in_lite=True),
    # One bit a number; without the eight that refine the nearest of them it finds 0.85.
    "IVF_RABITQ": _Build((2, 6), {**_CELLS, "refine": True, "refine_type": "SQ8"}),
    # On the disk of the server, which has to be a fast one.
    "DISKANN": _Build((2, 2), {}),
}
# Searches find what they find by how far they look; measured in results/scale.md for HNSW.
MIN_EF: Final = 128
# Chosen: a cell of each 64; and so many times the wanted rows are compared by eight bits.
_LOOKED_AT, _REFINED = 64, 4


def check_kind(kind: IndexKind, version: str, uri: str) -> None:
    """Refuse a kind of index that a store does not have.

    Args:
        kind: The kind.
        version: The version of the server, ``2.3.5``; empty for Milvus Lite.
        uri: Where it is, for the error.

    Raises:
        ConfigError: Says which versions have it, and which kinds this store has.
    """
    build, number = _BUILD[kind], numbers(version)
    if build.is_in_lite if not version else not number or number >= build.since:
        return
    here = [
        name
        for name, each in _BUILD.items()
        if (each.is_in_lite if not version else number >= each.since)
    ]
    what = f"Milvus {version}" if version else "Milvus Lite"
    wanted = ".".join(map(str, build.since))
    raise ConfigError(
        f"index.kind: {kind} wants a Milvus server of version {wanted} or newer, and {uri} is "
        f"{what}, which has {', '.join(here)}"
    )


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version; empty where it says none.

    Example:
        >>> numbers("v2.6.9-dev"), numbers("of today")
        ((2, 6), ())
    """
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()


def search_settings(limit: int) -> dict[str, int]:
    """What every kind of index wants to know of a search; each takes its own, and no other.

    Args:
        limit: How many rows are wanted.
    """
    near = max(limit, MIN_EF)
    return {"ef": near, "nprobe": _LOOKED_AT, "search_list": near, "refine_k": _REFINED}


def column_schema(dim: int) -> Any:  # noqa: ANN401 -- pymilvus has no types
    """Every column of a row, its digest and a vector of this length."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=32)
    for name, limit in TEXT_BYTES.items():
        schema.add_field(name, DataType.VARCHAR, max_length=limit)
    for name in COUNTS:
        schema.add_field(name, DataType.INT64)
    for name in FINGERPRINTS:
        schema.add_field(name, DataType.VARCHAR, max_length=64)
    schema.add_field(OWN, DataType.VARCHAR, max_length=OWN_BYTES)
    schema.add_field("digest", DataType.VARCHAR, max_length=32)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dim)
    return schema


def vector_index(kind: IndexKind) -> IndexParams:
    """The parameters with which Milvus makes an index of this kind."""
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index(
        "embedding", index_type=kind, metric_type="COSINE", params=dict(_BUILD[kind].settings)
    )
    return indexes


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as it reads back, with the digest it was written with."""

    row: IndexRow
    digest: str


def record_of(row: IndexRow, digest: str) -> dict[str, object]:
    """A row as Milvus takes it."""
    record = {column: getattr(row, column) for column in (*COLUMNS, OWN)}
    return {**record, **_dynamic(row), "embedding": row.embedding, "digest": digest}


def _dynamic(row: IndexRow) -> dict[str, object]:
    """What the dynamic field holds of own labels, if only nothing: Lite would keep what was."""
    content: dict[str, object] = {}
    for key, value in row.labels.items():
        kind = kind_of(value)
        content |= {f"kind_{key}": kind, f"{kind}_{key}": _stored(value)}
    return {"labels": content}


def _stored(value: LabelValue) -> str | float | bool:
    """A value as the dynamic field holds it: a date as the number of its eight digits."""
    return int(value.strftime("%Y%m%d")) if isinstance(value, date) else value


def stored_row(record: dict[str, Any]) -> StoredRow:
    """A row as Milvus gave it."""
    embedding: Embedding = np.asarray(record["embedding"], dtype=np.float32)
    columns = {column: record[column] for column in (*COLUMNS, OWN)}
    return StoredRow(IndexRow(**columns, embedding=embedding), record["digest"])


def hit_of(entry: dict[str, Any]) -> Hit:
    """A hit as Milvus gave it."""
    columns = {column: entry["entity"][column] for column in (*COLUMNS, OWN)}
    return Hit(**columns, score=float(entry["distance"]))


_KINDS: Final = ("text", "number", "date", "flag")
# True of every row: a filter with nothing set, inside another filter, needs some expression.
_ANYTHING: Final = "id != ''"
# The escapes that Milvus and Milvus Lite share. Everything else stands for itself in both.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def expression(wanted: Filter, *, is_lite: bool = False) -> str:
    r"""The expression for rows that a filter lets pass; empty if all rows pass.

    Args:
        wanted: A filter on columns that the index has: see `nar.index.ranking.check_filter`.
        is_lite: Whether it is for Milvus Lite.

    Example:
        >>> expression(Filter(families=("resnet", "it's"), nodes=Range(1, 9)))
        "family in ['resnet', 'it\\'s'] and (nodes >= 1 and nodes <= 9)"
        >>> expression(Filter(none_of=(Filter(nodes=Range(1, 9)), Filter(tasks=("ocr",)))))
        "not (task in ['ocr'] or (nodes >= 1 and nodes <= 9))"
    """
    return "" if wanted == EVERYTHING else combined(wanted, _LITE_TERMS if is_lite else _TERMS).text


def equal_any(column: str, values: Iterable[str]) -> str:
    """The expression for rows in which a column equals any of the values.

    Args:
        column: A column of the index, never a text of a caller.
        values: Any text without surrogates; escaped here.
    """
    return f"{column} in [{', '.join(map(_literal, values))}]"


def any_pair(pairs: Sequence[tuple[str, str]]) -> str:
    """The expression for rows that any of the pairs of a column and a value fits.

    Args:
        pairs: Columns of the index, each with a value, which is any text without surrogates.

    Example:
        >>> any_pair([("topology", "a"), ("inference", "c"), ("topology", "b")])
        "topology in ['a', 'b'] or inference in ['c']"
    """
    columns: dict[str, list[str]] = {}
    for column, value in pairs:
        columns.setdefault(column, []).append(value)
    return " or ".join(equal_any(column, values) for column, values in columns.items())


class _Part(NamedTuple):
    """A part of an expression.

    Attributes:
        depth: How many operators stand one inside the other.
        text: Without parentheses around it.
    """

    depth: int
    text: str

    @property
    def inside(self) -> str:
        """Its text as an operand of an operator."""
        return f"({self.text})" if self.depth else self.text


def _compared(condition: Condition, wanted: Wanted) -> _Part:
    if isinstance(wanted, Range):
        return _within(condition.column, wanted)
    return _Part(0, equal_any(condition.column, wanted))


def _labelled(condition: LabelCondition) -> _Part:
    """A condition on an own label; its key holds letters, digits and underscores alone."""
    if condition.sign == "exists":
        return _Part(0, equal_any(_path("kind", condition.key), _KINDS))
    if condition.sign != "in":
        return _Part(0, _comparison(condition))
    return _joined(
        "or", [_Part(0, f"{path} in [{', '.join(texts)}]") for path, texts in _lists(condition)]
    )


def _labelled_in_lite(condition: LabelCondition) -> _Part:
    """The same for Milvus Lite, which knows no lists here.

    There, a row that lacks the label would meet no negation of a comparison either. A Milvus server
    joins no ``exists`` with anything, and needs none.
    """
    if condition.sign == "exists":
        return _Part(0, f"exists {_path('kind', condition.key)}")
    if condition.sign != "in":
        path = _path(condition.kinds[0], condition.key)
        return _Part(1, f"exists {path} and {_comparison(condition)}")
    several = []
    for path, texts in _lists(condition):
        equal = " or ".join(f"{path} == {text}" for text in texts)
        several.append(_Part(1, f"exists {path} and ({equal})"))
    return _joined("or", several)


def _path(kind: str, key: str) -> str:
    """Where the dynamic field holds something of a label."""
    return f'labels["{kind}_{key}"]'


def _comparison(condition: LabelCondition) -> str:
    path, value = _path(condition.kinds[0], condition.key), _label_literal(condition.values[0])
    return f"{path} {condition.sign} {value}"


def _lists(condition: LabelCondition) -> list[tuple[str, list[str]]]:
    """Where any of the values may stand, each place with the literals of its kind."""
    kinds: dict[str, list[str]] = {}
    for kind, value in zip(condition.kinds, condition.values, strict=True):
        kinds.setdefault(_path(kind, condition.key), []).append(_label_literal(value))
    return list(kinds.items())


def _label_literal(value: LabelValue) -> str:
    stored = _stored(value)
    if isinstance(stored, str):
        return _literal(stored)
    return str(stored).lower() if isinstance(stored, bool) else repr(stored)


def _within(column: str, wanted: Range) -> _Part:
    bounds = ((">=", wanted.minimum), ("<=", wanted.maximum))
    texts = [f"{column} {sign} {bound}" for sign, bound in bounds if bound is not None]
    return _Part(len(texts) - 1, " and ".join(texts))


def _literal(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


def _joined(word: str, parts: Sequence[_Part]) -> _Part:
    """Parts side by side, the shallowest joined first.

    Milvus 2.3.5 reads a chain as operators one inside the other, and refuses a search of more than
    about 46. The largest filters come to 30 this way.
    """
    pending = [(part.depth, number, part) for number, part in enumerate(parts)]
    heapify(pending)
    for number in range(len(parts), 2 * len(parts) - 1):
        first, second = heappop(pending)[2], heappop(pending)[2]
        depth = max(first.depth, second.depth) + 1
        heappush(pending, (depth, number, _Part(depth, f"{first.inside} {word} {second.inside}")))
    return pending[0][2]


_TERMS: Final[Terms[_Part]] = Terms(
    condition=_compared,
    label=_labelled,
    every=lambda parts: _joined("and", parts) if parts else _Part(0, _ANYTHING),
    some=lambda parts: _joined("or", parts),
    negated=lambda part: _Part(part.depth + 1, f"not ({part.text})"),
)
_LITE_TERMS: Final = replace(_TERMS, label=_labelled_in_lite)
