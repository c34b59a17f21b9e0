"""What a source of architectures offers: named models to capture, and what a capture gives."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from nar.base.errors import UnknownArchitectureError
from nar.base.suggestions import close_names
from nar.capture import Capture
from nar.graphs.architecture import Architecture, Labels
from nar.graphs.assumed import Assumed, Unread

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


@dataclass(frozen=True, slots=True)
class ArchitectureSpec:
    """A named model that has not been built yet.

    Attributes:
        labels: Name and labels, known before the model is.
        capture: Builds the model and captures its graph; raises `CaptureError`.
    """

    labels: Labels
    capture: Callable[[], Capture]


@dataclass(frozen=True, slots=True)
class ZooCapture:
    """A captured model of the zoo.

    Attributes:
        architecture: Labels, canonical graph and fingerprints.
        unknown_operators: How often each operator outside the vocabulary occurred.
        seconds: Where the time went.
        unknown_facts: See `Capture`.
        assumed: See `Capture`.
        unread: See `Capture`.
    """

    architecture: Architecture
    unknown_operators: dict[str, int]
    seconds: CaptureSeconds
    unknown_facts: dict[str, int] = field(default_factory=dict)
    assumed: Assumed | None = None
    unread: Unread | None = None


def unknown_architecture(
    name: str, candidates: Sequence[str], *, way_out: str
) -> UnknownArchitectureError:
    """The error for a name that no source has, with the names nearest to it.

    Args:
        name: What was asked for.
        candidates: All names it might have been.
        way_out: What to do where nothing is near.
    """
    near = close_names(name, candidates)
    hint = f"did you mean {', '.join(near)}?" if near else way_out
    return UnknownArchitectureError(f"{name}: no such architecture; {hint}")
