"""Exact search over rows in a dict: what every index must agree with."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from nar.index.checks import check_page, check_rows
from nar.index.filters import Filter, Range
from nar.index.ranking import check_filter, check_top_k, check_vectors, rank
from nar.index.rows import Hit, IndexEntry, IndexRow, architecture_id, is_id

DIM = 8
PLAIN: dict[str, object] = {
    "source": "timm",
    "library": "timm 1",
    "family": "resnet",
    "block": "cnn",
    "task": "image-classification",
    "tier": "named",
    "parameters": 10,
    "flops": 20,
    "nodes": 30,
    "topology": "a" * 64,
    "exact": "b" * 64,
    "inference": "c" * 64,
}


def row(name: str, *vector: float, **fields: object) -> IndexRow:
    """A row with plain values for all that is not given; the vector is filled up with zeros."""
    embedding = np.zeros(DIM, dtype=np.float32)
    embedding[: len(vector)] = vector
    return IndexRow(id=architecture_id(name), name=name, **PLAIN | fields, embedding=embedding)


def within(bounds: Range, value: int) -> bool:
    """The meaning of a range."""
    return (bounds.minimum is None or value >= bounds.minimum) and (
        bounds.maximum is None or value <= bounds.maximum
    )


def passes(wanted: Filter, item: IndexRow) -> bool:
    """The meaning of a filter."""
    own = all(
        within(asked, getattr(item, condition.column))
        if isinstance(asked, Range)
        else getattr(item, condition.column) in asked
        for condition, asked in wanted.conditions()
    )
    own = own and all(each.holds(item.labels) for each in wanted.labels)
    every = all(passes(each, item) for each in wanted.all_of)
    some = not wanted.any_of or any(passes(each, item) for each in wanted.any_of)
    none = not any(passes(each, item) for each in wanted.none_of)
    return own and every and some and none


class Oracle:
    """The calls of an ArchitectureIndex, answered by brute force."""

    def __init__(self) -> None:
        self.rows: dict[str, IndexRow] = {}

    def count(self) -> int:
        return len(self.rows)

    rows_answering = count

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        check_rows(rows, DIM)
        self.rows.update((item.id, item) for item in rows)

    def delete(self, ids: Iterable[str]) -> int:
        return sum(self.rows.pop(key, None) is not None for key in ids)

    def contains(self, ids: Iterable[str]) -> set[str]:
        return self.rows.keys() & set(ids)

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        ids = {key: key if is_id(key) else architecture_id(key) for key in keys}
        return {key: self.rows[one] for key, one in ids.items() if one in self.rows}

    def find_by_fingerprint(
        self,
        *,
        topologies: Sequence[str] = (),
        exacts: Sequence[str] = (),
        inferences: Sequence[str] = (),
    ) -> list[IndexRow]:
        matching = [
            item
            for item in self.rows.values()
            if item.topology in topologies or item.exact in exacts or item.inference in inferences
        ]
        return sorted(matching, key=lambda item: item.id)

    def page(self, after: str, limit: int, wanted: Filter | None = None) -> list[IndexEntry]:
        check_page(after, limit)
        check_filter(wanted or Filter())
        # Another thread may write.
        held = list(self.rows.values())
        kept = [item for item in held if passes(wanted or Filter(), item)]
        return sorted((item for item in kept if item.id > after), key=lambda item: item.id)[:limit]

    def search(
        self, vectors: NDArray[np.float32], top_k: int, wanted: Filter | None = None
    ) -> list[list[Hit]]:
        check_top_k(top_k)
        directions = check_vectors(vectors, DIM)
        check_filter(wanted or Filter())
        kept = [item for item in self.rows.values() if passes(wanted or Filter(), item)]
        return [self._nearest(direction, kept, top_k) for direction in directions]

    def _nearest(
        self, direction: NDArray[np.float32], kept: Sequence[IndexRow], top_k: int
    ) -> list[Hit]:
        hits = [item.hit(cosine(direction, item.embedding)) for item in kept]
        return rank(hits, top_k, complete=True) or []


def cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    """In double precision."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))
