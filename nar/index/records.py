"""Rows as Milvus takes and gives them, and what we make of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nar.index.rows import COLUMNS, Embedding, Hit, IndexRow


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
    """What a search gave."""
    columns = {column: entry["entity"][column] for column in COLUMNS}
    return Hit(**columns, score=float(entry["distance"]))
