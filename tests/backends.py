"""The back ends that one suite runs against: exact search, Milvus Lite, a Milvus server."""

from collections.abc import Sequence
from typing import Protocol, Self

import pytest
from oracle import DIM, Oracle

from nar.config import IndexConfig
from nar.index.architecture_index import ArchitectureIndex, IndexRow

ENCODER = "e" * 64
BACKENDS = ["exact", "lite", pytest.param("server", marks=pytest.mark.milvus_server)]


class Backend(Protocol):
    """An index whose content a test chooses.

    Attributes:
        examples: How many generated cases a test may ask of it.
    """

    examples: int

    def fill(self, rows: Sequence[IndexRow]) -> ArchitectureIndex | Oracle: ...


class Exact:
    """The oracle itself: what the suite says is true."""

    examples = 200

    def fill(self, rows: Sequence[IndexRow]) -> Oracle:
        index = Oracle()
        index.upsert(rows)
        return index


class Published:
    """A live collection; emptied rather than made anew, which takes a server seconds."""

    def __init__(self, config: IndexConfig, examples: int) -> None:
        self.examples = examples
        self.index = ArchitectureIndex(config)
        with self.index.build(ENCODER, DIM) as build:
            build.publish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.index.close()

    def fill(self, rows: Sequence[IndexRow]) -> ArchitectureIndex:
        held = [stored.row.id for page in self.index.live.pages() for stored in page]
        if held:
            self.index.delete(held)
        if rows:
            self.index.upsert(rows)
        return self.index
