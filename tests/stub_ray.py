"""A stub of Ray whose calls end at once: what is left is what the driver does."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from ray.exceptions import ActorDiedError

from cluster import actors
from cluster.actors import WorkerKind
from cluster.resources import PoolSize, Reservation


class Reference:
    """A call that has ended.

    Args:
        value: What it returned, or the error that it raised.
        has_ended: False of a call that does not end.
    """

    __slots__ = ("has_ended", "value")

    def __init__(self, value: object, *, has_ended: bool = True) -> None:
        self.value, self.has_ended = value, has_ended


class _Ready:
    def __init__(self, reference: Reference) -> None:
        self._reference = reference

    def remote(self) -> Reference:
        return self._reference


class Handle:
    """A worker, which is ready at once unless it is told otherwise.

    Args:
        ready: What ends when it is ready.
        node: Where it runs.
    """

    def __init__(self, ready: Reference | None = None, node: str = "") -> None:
        self.__ray_ready__ = _Ready(ready or Reference(None))
        self.node = node
        self.calls: list[Reference] = []


class StubRay:
    """The calls of Ray that a pool makes; of all that have ended it gives one at a time.

    Args:
        seed: In which order they end.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def wait(
        self, references: Sequence[Reference], *, timeout: float, num_returns: int = 1
    ) -> tuple[list[Reference], list[Reference]]:
        """One of the calls."""
        assert num_returns <= len(references), timeout
        drawn = references[self._random.randrange(len(references))]
        if drawn.has_ended:
            return [drawn], []
        return [each for each in references if each.has_ended][:1], []

    def get(self, reference: Reference) -> object:
        """What a call returned; raises what it raised."""
        if isinstance(reference.value, Exception):
            raise reference.value
        return reference.value

    def kill(self, handle: Handle) -> None:
        """End a worker: calls that have not ended say so."""
        for call in handle.calls:
            if not call.has_ended:
                call.value, call.has_ended = ActorDiedError(), True


@contextmanager
def stubbed_ray() -> Iterator[None]:
    """Let pools run on the stub."""
    with patch.object(actors, "ray", StubRay()):
        yield


def echoing() -> WorkerKind[Any]:
    """Workers that return the key of the item at once, and never end with an item ``hang``."""

    def ask(handle: Any, key: str) -> Any:
        call = Reference(key, has_ended=not key.startswith("hang"))
        handle.calls.append(call)
        return call

    return WorkerKind(start=lambda _: Handle(), ask=ask)  # type: ignore[arg-type, return-value]


def pool_of(count: int) -> PoolSize:
    """So many workers, which reserve nothing."""
    return PoolSize(Reservation(0, 0, None), count, count)
