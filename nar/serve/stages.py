"""Time that one call spends in each stage."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.by import By
from nar.encoding.embed import Embedder
from nar.graph import ComputationalGraph
from nar.serve.telemetry import STAGES, Telemetry
from nar.v1.retrieval_pb2 import StageTimings


class StageClock:
    """Adds up the stages of one call, however often each runs."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the body, without the time that it adds to other stages."""
        started, before = time.perf_counter(), sum(self._seconds.values())
        try:
            yield
        finally:
            elsewhere = sum(self._seconds.values()) - before
            self.add(name, time.perf_counter() - started - elsewhere)

    def add(self, name: str, seconds: float) -> None:
        """Add time that was measured elsewhere."""
        self._seconds[name] += seconds

    def report(self, telemetry: Telemetry) -> StageTimings:
        """The message for the caller; stages that ran are observed."""
        for name, seconds in self._seconds.items():
            if seconds:
                telemetry.stage_ran(name, seconds)
        nanoseconds = {f"{name}_ns": round(s * 1e9) for name, s in self._seconds.items()}
        return StageTimings(**nanoseconds)


@dataclass(frozen=True, slots=True)
class TimedEmbedder:
    """An embedder that reports its stages to the clock of one call."""

    embedder: Embedder
    clock: StageClock

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """As the embedder does: shape (graphs, dim)."""
        return self.embedder.embed(graphs, observe=self.clock.add)

    def weights(self, by: By) -> NDArray[np.float32]:
        """As the embedder says: shape (dim,)."""
        return self.embedder.weights(by)
