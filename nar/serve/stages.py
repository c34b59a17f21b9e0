"""Time that one call spends in each stage, and whether it is still worth to begin the next."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nar.encoding.batches import runs
from nar.encoding.stored import GraphEmbedder
from nar.graphs.by import By
from nar.graphs.fingerprints import Fingerprinted, fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.serve.patience import Patience
from nar.serve.telemetry import STAGES
from nar.v1.retrieval_pb2 import StageTimings

# Nodes embedded at a time: large enough that batches pay, small enough to stop soon.
NODES_A_BATCH: Final = 10_000


class Spell(NamedTuple):
    """From when to when, by `time.perf_counter`."""

    began: float
    ended: float


class StageClock:
    """Adds up the stages of one call, however often each runs.

    Args:
        patience: Of the caller; no stage begins without it.
    """

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._seconds = dict.fromkeys(STAGES, 0.0)
        self._spells: dict[str, Spell] = {}

    @property
    def seconds(self) -> Mapping[str, float]:
        """Time of the stages that ran, by name."""
        return {name: seconds for name, seconds in self._seconds.items() if seconds}

    @property
    def spells(self) -> Mapping[str, Spell]:
        """When each stage that ran began first and ended last, by name."""
        # A copy: the thread of a call that was given up goes on beside who reads.
        return dict(self._spells)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the body, without the time that it adds to other stages.

        Raises:
            GivenUpError: Nobody waits for what the body would do.
        """
        self.patience.check()
        started, before = time.perf_counter(), sum(self._seconds.values())
        try:
            yield
        finally:
            elsewhere = sum(self._seconds.values()) - before
            ended = time.perf_counter()
            self._seconds[name] += ended - started - elsewhere
            self._note(name, Spell(started, ended))

    def fingerprint(self, graph: ComputationalGraph) -> Fingerprinted:
        """Canonical order and fingerprints of a graph, as a stage."""
        with self.stage("fingerprint"):
            return fingerprinted(graph)

    def add(self, name: str, seconds: float) -> None:
        """Add time that was measured elsewhere and ends now."""
        self._seconds[name] += seconds
        now = time.perf_counter()
        self._note(name, Spell(now - seconds, now))

    def join(self, other: "StageClock") -> None:
        """Add what ran by the clock of work that was done for this call, too."""
        for name, seconds in other.seconds.items():
            self._seconds[name] += seconds
            self._note(name, other.spells[name])

    def _note(self, name: str, spell: Spell) -> None:
        before = self._spells.get(name, spell)
        first, last = min(before.began, spell.began), max(before.ended, spell.ended)
        self._spells[name] = Spell(first, last)

    def timings(self) -> StageTimings:
        """The message for the caller."""
        nanoseconds = {f"{name}_ns": round(s * 1e9) for name, s in self._seconds.items()}
        return StageTimings(**nanoseconds)


@dataclass(frozen=True, slots=True)
class TimedEmbedder:
    """An embedder that works in small batches and reports its stages to the clock of one call."""

    embedder: GraphEmbedder
    clock: StageClock

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """As the embedder does: shape (graphs, dim).

        Raises:
            GivenUpError: Nobody waits for the graphs that remain.
        """
        vectors = np.empty((len(graphs), self.embedder.dim), dtype=np.float32)
        for batch in runs([graph.nodes for graph in graphs], NODES_A_BATCH):
            self.clock.patience.check()
            vectors[batch] = self.embedder.embed(graphs[batch], observe=self._observe)
        return vectors

    def weights(self, by: By) -> NDArray[np.float32]:
        """As the embedder says: shape (dim,)."""
        return self.embedder.weights(by)

    def _observe(self, stage: str, seconds: float) -> None:
        self.clock.add(stage, seconds)
        self.clock.patience.check()
