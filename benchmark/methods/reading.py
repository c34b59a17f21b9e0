"""Graphs of a task as the default encoder reads them, once for all cells of a process.

Cutting graphs and reading their features takes most of the time of a cell, and is the same whatever
is learned of them. The seconds that a cell saved are added to its own, so that tables compare
methods as if each had read the graphs itself.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nar.encoding.default.samples import MotifOccurrences, motif_occurrences
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ragged import slices_within
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import FeatureSets, feature_sets, joined
from nar.motifs.partition import MotifPartition, split_all

Value = TypeVar("Value")

_NODES_A_RUN = 300_000


@dataclass(slots=True)
class SkippedWork:
    """What was not done again.

    Attributes:
        seconds: How long it took when it was done.
    """

    seconds: float = 0.0


_SPARED: ContextVar[SkippedWork | None] = ContextVar("spared", default=None)


@contextmanager
def sparing() -> Iterator[SkippedWork]:
    """Count what is not done again."""
    spared = SkippedWork()
    token = _SPARED.set(spared)
    try:
        yield spared
    finally:
        _SPARED.reset(token)


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Graphs, cut and read.

    Attributes:
        cut: Into motifs.
        sets: Their features.
        motifs: How they were cut.
    """

    cut: tuple[MotifPartition, ...]
    sets: FeatureSets
    motifs: MotifConfig


class _Last(Generic[Value]):
    """The last value that was made, to be had again: data sets and splits come one by one."""

    def __init__(self) -> None:
        self._key: object = None
        self._value: Value | None = None
        self._seconds = 0.0

    def get(self, key: object, make: Callable[[], Value]) -> Value:
        """The value of a key, made now if the last one was of another."""
        spared = _SPARED.get()
        if self._value is not None and self._key == key:
            if spared is not None:
                spared.seconds += self._seconds
            return self._value
        self._key = self._value = None  # Let go before the next is made.
        started = time.perf_counter()
        value = make()
        self._key, self._value, self._seconds = key, value, time.perf_counter() - started
        return value


_GRAPHS: _Last[Read] = _Last()
_MOTIFS: _Last[MotifOccurrences] = _Last()


def read(graphs: Sequence[ComputationalGraph], motifs: MotifConfig) -> Read:
    """Cut graphs and read their features."""
    # Numbers of objects stand for them: those that were read are kept alive.
    return _GRAPHS.get((tuple(map(id, graphs)), motifs), lambda: read_anew(graphs, motifs))


def read_motifs(every: Read, train: NDArray[np.int64]) -> MotifOccurrences:
    """What stage 1 learns from some of the graphs.

    Args:
        every: All graphs.
        train: Rows of the graphs that are learned from.
    """

    def make() -> MotifOccurrences:
        return motif_occurrences([every.cut[row] for row in train], every.motifs)

    return _MOTIFS.get((every, train.tobytes()), make)


def read_anew(graphs: Sequence[ComputationalGraph], motifs: MotifConfig) -> Read:
    """The same of graphs that no other cell reads: nothing of it is kept."""
    cut: list[MotifPartition] = []
    sets: list[FeatureSets] = []
    for part in slices_within([graph.nodes for graph in graphs], _NODES_A_RUN):
        partitions = split_all(graphs[part], motifs)
        sets.append(feature_sets(partitions, border_widths=motifs.border_widths))
        cut.extend(partitions)
    return Read(tuple(cut), joined(sets), motifs)
