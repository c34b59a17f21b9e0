"""Operations on an index: each is done to it and to a dictionary, and says where they differ."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from hypothesis import strategies as st
from oracle import DIM, Oracle, row

from nar.index.architecture_index import ArchitectureIndex
from nar.index.filters import Filter, Range
from nar.index.reader import Reader
from nar.index.rows import Hit, IndexRow, architecture_id

TOLERANCE: Final = 1e-6
NAMES: Final = st.integers(0, 30).map("n{}".format)
NUMBERS: Final = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0])
FAMILIES: Final = ("a", "b", "it's \\ 'c'")
BOUND: Final = st.none() | st.integers(0, 9)
Subject = ArchitectureIndex | Reader


@dataclass(frozen=True, slots=True)
class Upsert:
    """Write rows, new ones or others in their place."""

    rows: tuple[tuple[str, tuple[float, ...], str, int], ...]

    def __call__(self, subject: Subject, oracle: Oracle) -> None:
        """On both."""
        rows = [
            row(name, 0.25, *vector, family=family, parameters=size, topology="abc"[size % 3] * 64)
            for name, vector, family, size in self.rows
        ]
        subject.upsert(rows)
        oracle.upsert(rows)


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete rows, be they there or not."""

    names: tuple[str, ...]

    def __call__(self, subject: Subject, oracle: Oracle) -> None:
        """On both, and as many of each."""
        ids = [architecture_id(name) for name in self.names]
        assert subject.delete(ids) == oracle.delete(ids), "another number of rows was deleted"


@dataclass(frozen=True, slots=True)
class Search:
    """Search with a filter, and without."""

    vector: tuple[float, ...]
    top_k: int
    wanted: Filter

    def __call__(self, subject: Subject, oracle: Oracle) -> None:
        """On both: the same hits in the same order."""
        vectors = np.zeros((2, DIM), dtype=np.float32)
        vectors[0, : len(self.vector) + 1], vectors[1, 0] = (0.1, *self.vector), 1
        same(
            subject.search(vectors, self.top_k, self.wanted),
            oracle.search(vectors, self.top_k, self.wanted),
        )


@dataclass(frozen=True, slots=True)
class LookUp:
    """Get rows by name, ids and fingerprints, and count."""

    names: tuple[str, ...]

    def __call__(self, subject: Subject, oracle: Oracle) -> None:
        """On both: the same rows, every column and the vector."""
        ids = [architecture_id(name) for name in self.names]
        assert subject.count() == oracle.count(), "another number of rows"
        assert subject.contains(ids) == oracle.contains(ids), "others are contained"
        assert digests(subject.get(self.names).values()) == digests(
            oracle.get(self.names).values()
        ), "other rows came"
        by_print = {"topologies": ["a" * 64]}
        assert digests(subject.find_by_fingerprint(**by_print)) == digests(
            oracle.find_by_fingerprint(**by_print)
        ), "other rows have the fingerprint"


@dataclass(frozen=True, slots=True)
class Restart:
    """Close the index and open it again."""


@dataclass(frozen=True, slots=True)
class Reload:
    """Build a collection of the same rows and switch to it."""


Operation = Upsert | Delete | Search | LookUp | Restart | Reload
ROW: Final = st.tuples(
    NAMES, st.tuples(NUMBERS, NUMBERS, NUMBERS), st.sampled_from(FAMILIES), st.integers(0, 9)
)
ROWS: Final = st.lists(ROW, max_size=8, unique_by=lambda each: each[0]).map(tuple)
FILTERS: Final = st.builds(
    Filter,
    names=st.lists(NAMES, max_size=2).map(tuple),
    families=st.lists(st.sampled_from([*FAMILIES, "none"]), max_size=2).map(tuple),
    parameters=st.builds(
        lambda low, high: Range(low, None if None in (low, high) else max(low, high)), BOUND, BOUND
    ),
)
SEARCH: Final = st.builds(Search, st.tuples(NUMBERS, NUMBERS, NUMBERS), st.integers(1, 40), FILTERS)
SOME_NAMES: Final = st.lists(NAMES, max_size=4, unique=True).map(tuple)
# What is asked for more often comes more often: a restart takes as long as a hundred searches.
OPERATIONS: Final = st.integers(0, 99).flatmap(
    lambda number: (
        st.builds(Restart)
        if number == 99
        else st.builds(Reload)
        if number == 98
        else (st.builds(Upsert, ROWS), st.builds(Delete, SOME_NAMES), SEARCH, SEARCH)[number % 4]
        if number < 80
        else st.builds(LookUp, SOME_NAMES)
    )
)


def same(mine: list[list[Hit]], theirs: list[list[Hit]]) -> None:
    """The same hits in the same order; scores are those of another arithmetic."""
    for one, other in zip(mine, theirs, strict=True):
        assert [hit.id for hit in one] == [hit.id for hit in other], "other hits, or another order"
        gaps = [abs(a.score - b.score) for a, b in zip(one, other, strict=True)]
        assert max(gaps, default=0.0) < TOLERANCE, "other scores"


def digests(rows: Iterable[IndexRow]) -> list[str]:
    """Of rows, in an order of their own."""
    return sorted(each.digest() for each in rows)
