"""A stub of Ray whose calls end at once: what is left is what the driver does."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from cluster import actors
from cluster.actors import WorkerKind


class Reference:
    """A call that has ended.

    Args:
        value: What it returned.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class _Ready:
    def remote(self) -> Reference:
        return Reference(None)


class Handle:
    """A worker that is ready at once."""

    __ray_ready__ = _Ready()


class StubRay:
    """The calls of Ray that a pool makes; of all that have ended it gives one at a time.

    Args:
        seed: In which order they end.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def wait(
        self, references: Sequence[Reference], num_returns: int, timeout: float
    ) -> tuple[list[Reference], list[Reference]]:
        """One of the calls."""
        assert num_returns <= len(references), timeout
        return [references[self._random.randrange(len(references))]], []

    def get(self, reference: Reference) -> object:
        """What a call returned."""
        return reference.value

    def kill(self, handle: Handle) -> None:
        """End nothing."""


@contextmanager
def stubbed_ray() -> Iterator[None]:
    """Let pools run on the stub."""
    with patch.object(actors, "ray", StubRay()):
        yield


def echoing() -> WorkerKind[Any]:
    """Workers that return the key of the item at once."""
    return WorkerKind(
        start=lambda _: Handle(),  # type: ignore[arg-type, return-value]
        ask=lambda _, key: Reference(key),  # type: ignore[arg-type, return-value]
    )
