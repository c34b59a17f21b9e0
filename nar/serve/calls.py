"""One call under way: its id, how long its caller waits, and where its time goes."""

import asyncio
import ipaddress
import math
import re
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias
from urllib.parse import unquote

import grpc
import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from nar.encoding.stored import GraphEmbedder
from nar.graphs.by import By
from nar.graphs.fingerprints import Fingerprinted, fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ragged import slices_within
from nar.serve.scopes import EVERYBODY, Scope
from nar.serve.status import GivenUpError
from nar.serve.telemetry import STAGES
from nar.v1 import retrieval_pb2
from nar.v1.retrieval_pb2 import StageTimings
from nar.wire.tracing import REQUEST_ID

SERVICE: Final[str] = retrieval_pb2.DESCRIPTOR.services_by_name[
    "ArchitectureRetrievalService"
].full_name

# Nodes embedded at a time: large enough that batches pay, small enough to stop soon (chosen).
NODES_A_BATCH: Final = 10_000
# What a request id may be: nothing that breaks a line of a log, and no more than an id needs.
_FIT_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Patience:
    """The deadline of one call and whether its caller is gone; threads and event loop share it.

    A thread cannot be stopped from outside: it asks here whether to go on.

    Args:
        seconds: How long the caller waits from now on.

    Example:
        >>> patience = Patience(60)
        >>> patience.check()
        >>> patience.give_up()
        >>> patience.check()
        Traceback (most recent call last):
        nar.serve.status.GivenUpError: nobody waits for this call any more
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._gone = threading.Event()
        self._callers: tuple[Patience, ...] = ()

    @classmethod
    def of_all(cls, callers: Sequence["Patience"]) -> Self:
        """The patience of work that several callers share: it lasts while any caller waits."""
        shared = cls(max(each.remaining_s for each in callers))
        shared._callers = tuple(callers)
        return shared

    @property
    def is_given_up(self) -> bool:
        """Whether the caller is gone; of shared work, whether every caller is."""
        callers = self._callers
        return self._gone.is_set() or (bool(callers) and all(each.is_given_up for each in callers))

    @property
    def remaining_s(self) -> float:
        """How long the caller still waits; negative once the time is over."""
        return self._end - time.monotonic()

    def give_up(self) -> None:
        """Note that the caller is gone."""
        self._gone.set()

    def check(self) -> None:
        """See that somebody still waits.

        Raises:
            GivenUpError: The caller is gone, or the time is over.
        """
        if self.is_given_up:
            raise GivenUpError("nobody waits for this call any more")
        if self.remaining_s <= 0:
            raise GivenUpError("the time of this call was over before all of it was done")


class Interval(NamedTuple):
    """When a stage began and ended, by `time.perf_counter`."""

    began: float
    ended: float


class StageClock:
    """Adds up the stages of one call, however often each runs.

    Args:
        patience: The caller's; no stage begins once it is over.
    """

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._seconds = dict.fromkeys(STAGES, 0.0)
        self._intervals: dict[str, Interval] = {}

    @property
    def seconds(self) -> Mapping[str, float]:
        """Time of the stages that ran, by name."""
        return {name: seconds for name, seconds in self._seconds.items() if seconds}

    @property
    def intervals(self) -> Mapping[str, Interval]:
        """When each stage that ran began first and ended last, by name."""
        # A copy: the thread of a call that was given up may add stages meanwhile.
        return dict(self._intervals)

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
            self._note(name, Interval(started, ended))

    def fingerprint(self, graph: ComputationalGraph) -> Fingerprinted:
        """Canonical order and fingerprints of a graph, as a stage."""
        with self.stage("fingerprint"):
            return fingerprinted(graph)

    def add(self, name: str, seconds: float) -> None:
        """Add time that was measured elsewhere and has just ended."""
        self._seconds[name] += seconds
        now = time.perf_counter()
        self._note(name, Interval(now - seconds, now))

    def join(self, other: "StageClock") -> None:
        """Add the stages of work that this call shared with others, from the clock of the work."""
        for name, seconds in other.seconds.items():
            self._seconds[name] += seconds
            self._note(name, other.intervals[name])

    def _note(self, name: str, interval: Interval) -> None:
        before = self._intervals.get(name, interval)
        first, last = min(before.began, interval.began), max(before.ended, interval.ended)
        self._intervals[name] = Interval(first, last)

    def timings(self) -> StageTimings:
        """The message with the time of each stage."""
        nanoseconds = {f"{name}_ns": round(s * 1e9) for name, s in self._seconds.items()}
        return StageTimings(**nanoseconds)


@dataclass(frozen=True, slots=True)
class TimedEmbedder:
    """An embedder that works in small batches and reports its stages to the clock of one call."""

    embedder: GraphEmbedder
    clock: StageClock

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Vectors of graphs, as the embedder makes them: shape (graphs, dim).

        Raises:
            GivenUpError: Nobody waits for the graphs that remain.
        """
        vectors = np.empty((len(graphs), self.embedder.dim), dtype=np.float32)
        for batch in slices_within([graph.nodes for graph in graphs], NODES_A_BATCH):
            self.clock.patience.check()
            vectors[batch] = self.embedder.embed(graphs[batch], observe=self._observe)
        return vectors

    def weights(self, by: By) -> NDArray[np.float32]:
        """The embedder's weights of the numbers of a vector: shape (dim,)."""
        return self.embedder.weights(by)

    def _observe(self, stage: str, seconds: float) -> None:
        self.clock.add(stage, seconds)
        self.clock.patience.check()


# Quoted: this is generic in the stubs only.
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
# The answer to a request; None where a stream has no further request.
Proceed = Callable[[], Awaitable[Message | None]]


@dataclass(slots=True)
class Call:
    """One call under way.

    Attributes:
        method: Name without the service: ``Search``.
        context: Deadline, metadata and the way to abort.
        clock: Times its stages, and knows how long its caller waits.
        request_id: Its id in log and reply: the id that the caller gave it, or a new one.
        work: The work of a thread for it, once begun; the work may outlive the call.
        took_s: How long the thread worked on it, once the work has ended.
        began: When it came, by `time.perf_counter`; None while a stream waits for its next request.
        request: The bytes of its request, while they are worked on.
        caller: Who calls: an address or a certificate, or the name of a token once it is known.
        scope: What the caller may see and do.
    """

    method: str
    context: Context
    clock: StageClock
    request_id: str
    work: Future[Any] | None = None
    took_s: float | None = None
    began: float | None = field(default_factory=time.perf_counter)
    request: bytes = b""
    caller: str = ""
    scope: Scope = EVERYBODY

    @property
    def age_s(self) -> float:
        """How long ago it came."""
        return 0.0 if self.began is None else time.perf_counter() - self.began

    def when_work_ends(self, then: Callable[[], None]) -> None:
        """Do something on this event loop as soon as no thread works on the call."""
        if self.work is None:
            then()
        else:
            later = partial(_on_loop, asyncio.get_running_loop(), then)
            self.work.add_done_callback(lambda _: later())


class Layer(Protocol):
    """Something done around a call."""

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed to the next layer, or refuse the call by raising."""


def time_remaining_s(context: Context) -> float | None:
    """How long the caller still waits; None where no deadline came."""
    remaining: float | None = context.time_remaining()
    return remaining


def clock_of(context: Context, max_call_s: float) -> StageClock:
    """The clock of a call whose work begins now."""
    remaining_s = time_remaining_s(context)
    return StageClock(Patience(min(max_call_s, math.inf if remaining_s is None else remaining_s)))


def request_id_of(context: Context) -> str:
    """The id that the caller gave a call, if it is fit for a log; otherwise a new one."""
    metadata = context.invocation_metadata() or ()
    given = next((value for key, value in metadata if key == REQUEST_ID), "")
    return str(given) if _FIT_ID.fullmatch(str(given)) else uuid.uuid4().hex


def caller_of(context: Context) -> str:
    """Who calls, as far as the connection says: a certificate, otherwise an address without a port.

    A host of IPv6 has a whole network of 64 bits for itself, so that is one caller.
    """
    for identity in context.peer_identities() or ():
        return f"certificate {identity.decode(errors='replace')}"
    kind, _, place = unquote(context.peer()).partition(":")
    host = place.rpartition(":")[0].strip("[]")
    with suppress(ValueError):
        return str(ipaddress.IPv6Network((host.partition("%")[0], 64), strict=False))
    return host or kind


def _on_loop(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    # The loop of a server that has stopped is closed, and nobody counts its calls any more.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(then)
