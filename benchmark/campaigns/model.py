"""Model: random operations on an index, a dictionary and exact numpy beside it; they never differ.

Hypothesis draws the operations and shrinks what fails to the shortest sequence, which is printed.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from milvus_server import milvus_server
from oracle import DIM, Oracle, row
from waiting import wait_for

from benchmark.campaigns.campaign import Options, Tally, main, option
from nar.index.architecture_index import ArchitectureIndex
from nar.index.filters import Filter, Range
from nar.index.reader import Reader
from nar.index.rows import Hit, IndexRow, architecture_id
from nar.index.settings import IndexConfig

TOLERANCE: Final = 1e-6
NAMES: Final = st.integers(0, 30).map("n{}".format)
NUMBERS: Final = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0])
FAMILIES: Final = ("a", "b", "it's \\ 'c'")
BOUND: Final = st.none() | st.integers(0, 9)
Subject = ArchitectureIndex | Reader
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
SOME_NAMES: Final = st.lists(NAMES, max_size=4, unique=True).map(tuple)
ENCODER: Final = "e" * 64
SEQUENCES: Final = 20
MAX_OPERATIONS: Final = 50
Open = Callable[[], Subject]


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
SEARCH: Final = st.builds(Search, st.tuples(NUMBERS, NUMBERS, NUMBERS), st.integers(1, 40), FILTERS)
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


@dataclass(frozen=True, kw_only=True)
class Model(Options):
    """How much, and of what."""

    operations: int = option(200_000, "operations in all")
    store: str = option("lite", "what is compared", ("lite", "reader", "server"))

    @property
    def variant(self) -> str:
        """The index."""
        return self.store


class Subjects:
    """The index under test, which can be restarted and rebuilt.

    Args:
        open_subject: Opens it.
        config: Where it is.
    """

    def __init__(self, open_subject: Open, config: IndexConfig) -> None:
        self._open, self._config = open_subject, config
        with ArchitectureIndex(config) as index:
            self._publish(index, [])
        self.subject = open_subject()

    def empty(self) -> Oracle:
        """Take all rows out; gives the oracle of an empty index."""
        hits = self.subject.search(np.eye(1, DIM, dtype=np.float32), 1_000)[0]
        if hits:
            self.subject.delete([hit.id for hit in hits])
        return Oracle()

    def do(self, operation: Operation, oracle: Oracle) -> None:
        """One operation, on index and oracle."""
        if isinstance(operation, Restart | Reload):
            self.subject.close()
            if isinstance(operation, Reload):
                with ArchitectureIndex(self._config) as index:
                    self._publish(index, list(oracle.rows.values()))
            self.subject = self._open()
            return
        operation(self.subject, oracle)

    def _publish(self, index: ArchitectureIndex, rows: list[IndexRow]) -> None:
        with index.build(ENCODER, DIM) as build:
            build.load(rows)
            build.publish()


def model(told: Model) -> Iterator[Tally]:
    """Ask and compare."""
    done, drawn, chunk, faults = 0, 0, 0, []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        uri = str(directory / "index.db")
        if told.store == "server":
            uri = stack.enter_context(milvus_server(directory, is_eager=True))
        config = IndexConfig(uri=uri, alias="model", follow_s=0.1)
        subjects = Subjects(_opener(told.store, config), config)
        stack.callback(lambda: subjects.subject.close())
        while done < told.operations and not faults:
            count = min(SEQUENCES, -(-(told.operations - done) // MAX_OPERATIONS))
            operations, fault = _sequences(subjects, told.seed + chunk, count)
            done, drawn, chunk = done + operations, drawn + count, chunk + 1
            faults += [f"seed {told.seed + chunk - 1}: {fault}"] if fault else []
            yield Tally(done, told.operations, {"sequences": drawn}, tuple(faults))


def _sequences(subjects: Subjects, number: int, count: int) -> tuple[int, str]:
    """Some sequences drawn from one seed: how many operations, and the shortest that failed."""
    done, said = 0, ""

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(OPERATIONS, min_size=MAX_OPERATIONS // 2, max_size=MAX_OPERATIONS))
    def holds(operations: Sequence[Operation]) -> None:
        nonlocal done, said
        oracle = subjects.empty()
        try:
            for operation in operations:
                done += 1
                subjects.do(operation, oracle)
        except Exception as error:
            # The last sequence that fails is the shortest.
            said = f"{type(error).__name__}: {error}; {list(operations)}"
            raise

    try:
        holds()
    except Exception as error:
        return done, said or repr(error)
    return done, ""


def _opener(store: str, config: IndexConfig) -> Open:
    def open_reader() -> Reader:
        reader = Reader(lambda _: ArchitectureIndex(config, encoder=ENCODER), config)
        reader.begin()
        wait_for(lambda: reader.holds_rows)
        return reader

    return open_reader if store == "reader" else lambda: ArchitectureIndex(config, encoder=ENCODER)


if __name__ == "__main__":
    main(Model, model)
