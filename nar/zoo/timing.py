"""Where the time of a capture goes: seconds by step, whichever source builds the model."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Step = Literal["build", "forward", "graph"]


@dataclass(frozen=True, slots=True)
class CaptureSeconds:
    """Wall time of one capture, in seconds.

    Attributes:
        build: Finding the model and building it, the import of its library included.
        forward: Running it.
        graph: From the raw trace to the canonical graph and its fingerprints.
    """

    build: float = 0.0
    forward: float = 0.0
    graph: float = 0.0


_running: ContextVar[dict[str, float] | None] = ContextVar("laps", default=None)


class Laps:
    """The steps of one capture, added up: a model that is tried twice takes both tries."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def __enter__(self) -> "Laps":
        self._token = _running.set(self._seconds)
        return self

    def __exit__(self, *_: object) -> None:
        _running.reset(self._token)

    def seconds(self) -> CaptureSeconds:
        """The seconds measured so far."""
        return CaptureSeconds(**{step: round(taken, 4) for step, taken in self._seconds.items()})


@contextmanager
def lap(step: Step) -> Iterator[None]:
    """Count the body's time as a step's, less what laps inside it count; free outside `Laps`."""
    seconds = _running.get()
    if seconds is None:
        yield
        return
    before, started = sum(seconds.values()), time.perf_counter()
    try:
        yield
    finally:
        counted = sum(seconds.values()) - before
        taken = time.perf_counter() - started - counted
        seconds[step] = seconds.get(step, 0.0) + taken
