"""NAR's records in the terms of Milvus and Milvus Lite: columns, index, rows and expressions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

import numpy as np
from pymilvus import DataType, MilvusClient
from pymilvus.milvus_client import IndexParams

from nar.index import IndexKind
from nar.index.filters import EVERYTHING, Condition, Filter, Range, Terms, Wanted, combined
from nar.index.rows import COLUMNS, COUNTS, FINGERPRINTS, TEXT_BYTES, Embedding, Hit, IndexRow

# Measured in results/scale.md: with these settings a search finds 0.96 to 0.99 of the ten nearest
# of 30,000 to a million networks.
HNSW: Final = {"M": 16, "efConstruction": 200}
_BUILD: Final[dict[IndexKind, dict[str, int]]] = {"FLAT": {}, "HNSW": HNSW}


def column_schema(dim: int) -> Any:  # noqa: ANN401 -- pymilvus has no types
    """Every column of a row, its digest and a vector of this length."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=32)
    for name, limit in TEXT_BYTES.items():
        schema.add_field(name, DataType.VARCHAR, max_length=limit)
    for name in COUNTS:
        schema.add_field(name, DataType.INT64)
    for name in FINGERPRINTS:
        schema.add_field(name, DataType.VARCHAR, max_length=64)
    schema.add_field("digest", DataType.VARCHAR, max_length=32)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dim)
    return schema


def vector_index(kind: IndexKind) -> IndexParams:
    """The parameters with which Milvus makes an index of this kind."""
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index("embedding", index_type=kind, metric_type="COSINE", params=_BUILD[kind])
    return indexes


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as it reads back, with the digest it was written with."""

    row: IndexRow
    digest: str


def record_of(row: IndexRow, digest: str) -> dict[str, object]:
    """A row as Milvus takes it."""
    record = {column: getattr(row, column) for column in COLUMNS}
    return {**record, "embedding": row.embedding, "digest": digest}


def stored_row(record: dict[str, Any]) -> StoredRow:
    """A row as Milvus gave it."""
    embedding: Embedding = np.asarray(record["embedding"], dtype=np.float32)
    columns = {column: record[column] for column in COLUMNS}
    return StoredRow(IndexRow(**columns, embedding=embedding), record["digest"])


def hit_of(entry: dict[str, Any]) -> Hit:
    """A hit as Milvus gave it."""
    columns = {column: entry["entity"][column] for column in COLUMNS}
    return Hit(**columns, score=float(entry["distance"]))


# True of every row: a filter with nothing set, inside another filter, needs some expression.
_ANYTHING: Final = "id != ''"
# The escapes that Milvus and Milvus Lite share. Everything else stands for itself in both.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def expression(wanted: Filter) -> str:
    r"""The expression for rows that a filter lets pass; empty if all rows pass.

    Args:
        wanted: A filter on columns that the index has: see `nar.index.ranking.check_filter`.

    Example:
        >>> expression(Filter(families=("resnet", "it's"), nodes=Range(1, 9)))
        "family in ['resnet', 'it\\'s'] and (nodes >= 1 and nodes <= 9)"
        >>> expression(Filter(none_of=(Filter(nodes=Range(1, 9)), Filter(tasks=("ocr",)))))
        "not (task in ['ocr'] or (nodes >= 1 and nodes <= 9))"
    """
    return "" if wanted == EVERYTHING else combined(wanted, _TERMS).text


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


_TERMS: Final = Terms(
    condition=_compared,
    every=lambda parts: _joined("and", parts) if parts else _Part(0, _ANYTHING),
    some=lambda parts: _joined("or", parts),
    negated=lambda part: _Part(part.depth + 1, f"not ({part.text})"),
)
