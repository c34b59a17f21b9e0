"""Embedders that misbehave on purpose, around a real one."""

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nar.encoding.embed import Embedder
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.index.architecture_index import ArchitectureIndex


class Delegating:
    """An embedder that does something before each graph it embeds."""

    def __init__(self, embedder: Embedder, before: Callable[[], object]) -> None:
        self.name, self.dim, self.fingerprint = embedder.name, embedder.dim, embedder.fingerprint
        self._embedder, self._before = embedder, before
        self.weights = embedder.weights

    def embed(
        self, graphs: Sequence[ComputationalGraph], *, observe: Callable[[str, float], None]
    ) -> NDArray[np.float32]:
        self._before()
        return self._embedder.embed(graphs, observe=observe)

    def weights(self, by: By) -> NDArray[np.float32]:
        return self._embedder.weights(by)


class Watched:
    """An index that does something before it counts its rows."""

    def __init__(self, index: ArchitectureIndex, before: Callable[[], object]) -> None:
        self._index, self._before = index, before

    def __getattr__(self, name: str) -> object:
        return getattr(self._index, name)

    def count(self) -> int:
        self._before()
        return self._index.count()


class Gate:
    """Holds everyone who passes until it is opened, and counts them."""

    def __init__(self) -> None:
        self.arrived = 0
        self._open = threading.Event()
        self._lock = threading.Lock()
        self._last = time.monotonic()

    def __call__(self) -> None:
        with self._lock:
            self.arrived += 1
            self._last = time.monotonic()
        assert self._open.wait(300), "the gate was never opened"

    def has_waited(self, seconds: float) -> bool:
        """Whether it is so long ago that somebody came."""
        return time.monotonic() - self._last > seconds

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()


def fail() -> None:
    raise ZeroDivisionError("the secret of the engine room")
