"""What one suite runs against: a loop, rows in memory, Milvus Lite, a Milvus server."""

from collections.abc import Iterable, Sequence
from typing import Protocol, Self

import pytest
from oracle import DIM, Oracle
from waiting import wait_for

from nar.index.architecture_index import ArchitectureIndex
from nar.index.checks import check_rows
from nar.index.exact import ExactIndex
from nar.index.reader import Reader
from nar.index.rows import IndexRow
from nar.index.settings import IndexConfig

ENCODER = "e" * 64
BACKENDS = [
    "oracle",
    "exact",
    "reader",
    "lite",
    pytest.param("server", marks=pytest.mark.milvus_server),
]
# For tests that take their place from the fixture `config`.
on_both = pytest.mark.parametrize(
    "config", ["lite", pytest.param("server", marks=pytest.mark.milvus_server)], indirect=True
)


class Backend(Protocol):
    """An index whose content a test chooses.

    Attributes:
        examples: How many generated cases a test may ask of it.
    """

    examples: int

    def fill(
        self, rows: Sequence[IndexRow]
    ) -> "ArchitectureIndex | Reader | Oracle | InMemory": ...


class Loop:
    """The oracle itself: what the suite says is true; no other index depends on its cases."""

    examples = 20

    def fill(self, rows: Sequence[IndexRow]) -> Oracle:
        index = Oracle()
        index.upsert(rows)
        return index


class InMemory:
    """An exact index that is exchanged at every write."""

    def __init__(self, rows: Sequence[IndexRow]) -> None:
        self._held = ExactIndex([], dim=DIM)
        self.upsert(rows)

    def __getattr__(self, name: str) -> object:
        return getattr(self._held, name)

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        check_rows(rows, DIM)
        self._held = self._held.changed(rows)

    def delete(self, ids: Iterable[str]) -> int:
        before = self._held.count()
        self._held = self._held.changed([], gone=[*ids])
        return before - self._held.count()


class Exact:
    """What answers where no index was built."""

    examples = 60

    def fill(self, rows: Sequence[IndexRow]) -> InMemory:
        return InMemory(rows)


class Published:
    """A live collection; emptied rather than made anew, which takes a server seconds."""

    def __init__(self, config: IndexConfig, examples: int) -> None:
        self.examples = examples
        self.index = ArchitectureIndex(config)
        with self.index.build(ENCODER, DIM) as build:
            build.publish()
        self.front: ArchitectureIndex | Reader = self.index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.front.close()

    def fill(self, rows: Sequence[IndexRow]) -> ArchitectureIndex | Reader:
        held = [stored.row.id for page in self.index.live.pages() for stored in page]
        if held:
            self.front.delete(held)
        if rows:
            self.front.upsert(rows)
        return self.front


class Fronted(Published):
    """The same with a reader in front: its rows in memory answer."""

    def __init__(self, config: IndexConfig, examples: int) -> None:
        super().__init__(config, examples)
        self.front = reader = Reader(lambda _: self.index, config)
        reader.begin()
        wait_for(lambda: reader.holds_rows)
