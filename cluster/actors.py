"""A bounded map over a pool of stateful actors: results come in the order of completion.

An item that raises, takes its worker down or runs too long becomes a `Failed` outcome; the
worker is replaced and the others go on.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, cast

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayActorError, RayError, RayTaskError

from cluster.config import PoolConfig
from cluster.items import Backlog, Done, Failed, Item, ValueT
from cluster.resources import Share, cluster_totals
from nar.errors import NarError

START_LIMIT_S = 300.0


class WorkerStartError(NarError):
    """No worker could be started: too little room in the cluster, or its state does not load."""


class WorkerLostError(NarError):
    """An item took its worker down, or longer than its limit."""


@dataclass(frozen=True, slots=True)
class Recruiter(Generic[ValueT]):
    """How to start a worker and how to ask it for an item.

    Attributes:
        start: Starts one actor.
        ask: Submits the item of that key to an actor.
    """

    start: Callable[[], ActorHandle[Any]]
    ask: Callable[[ActorHandle[Any], str], "ray.ObjectRef[ValueT]"]


@dataclass(slots=True)
class _Worker(Generic[ValueT]):
    """An actor with its calls in order; the first of them runs, since ``since`` or later."""

    handle: ActorHandle[Any]
    ready: "ray.ObjectRef[Any] | None"
    group: str
    calls: deque[tuple["ray.ObjectRef[ValueT]", Item]] = field(default_factory=deque)
    since: float = field(default_factory=time.monotonic)

    def awaited(self) -> "ray.ObjectRef[Any]":
        return self.calls[0][0] if self.ready is None else self.ready

    def pop(self) -> str:
        self.since = time.monotonic()
        return self.calls.popleft()[1].key


def starter(worker: type, share: Share, *arguments: object) -> Callable[[], ActorHandle[Any]]:
    """How to start one actor of a class, with its share of the cluster and its arguments."""
    actor: Any = ray.remote(worker).options(**share.options())
    return lambda: cast("ActorHandle[Any]", actor.remote(*arguments))


class ActorPool(Generic[ValueT]):
    """Equal actors that share a list of items.

    Args:
        recruiter: How to start and ask a worker.
        size: Number of actors.
        config: Bounds: calls in flight, tries, time.
    """

    def __init__(self, recruiter: Recruiter[ValueT], size: int, config: PoolConfig) -> None:
        self._recruiter = recruiter
        self._size = size
        self._config = config
        self._workers: list[_Worker[ValueT]] = []
        self._deaths: dict[str, int] = {}
        self._starts_failed = 0
        self._any_started = False

    def run(self, items: Sequence[Item]) -> Iterator[Done[ValueT] | Failed]:
        """Give every item's outcome exactly once, in order of completion.

        Raises:
            WorkerStartError: No worker starts.
        """
        backlog = Backlog(items)
        self._workers = [self._recruit("") for _ in range(min(self._size, len(items)))]
        try:
            while backlog or any(worker.calls for worker in self._workers):
                for worker in self._workers:
                    self._fill(worker, backlog)
                yield from self._collect(backlog)
        finally:
            for worker in self._workers:
                ray.kill(worker.handle)

    def _recruit(self, group: str) -> _Worker[ValueT]:
        handle = self._recruiter.start()
        return _Worker(handle, handle.__ray_ready__.remote(), group)

    def _fill(self, worker: _Worker[ValueT], backlog: Backlog) -> None:
        """Submit up to the bound; near the end one call each, so that none waits in vain."""
        room = self._config.max_in_flight if len(backlog) > len(self._workers) else 1
        while backlog and len(worker.calls) < room:
            item = backlog.take(worker.group)
            if not worker.calls:
                worker.since = time.monotonic()
            worker.calls.append((self._recruiter.ask(worker.handle, item.key), item))
            worker.group = item.group

    def _collect(self, backlog: Backlog) -> Iterator[Done[ValueT] | Failed]:
        """Wait for the first call to end or the first limit to pass, and settle what did."""
        waiting = {worker.awaited(): worker for worker in self._workers if worker.calls}
        patience = min(self._time_left(worker) for worker in waiting.values())
        ended, running = ray.wait(list(waiting), num_returns=1, timeout=max(patience, 0.0))
        for reference in ended:
            yield from self._settle(waiting[reference], backlog)
        for reference in running:
            if self._time_left(waiting[reference]) <= 0:
                yield from self._overrun(waiting[reference], backlog)

    def _time_left(self, worker: _Worker[ValueT]) -> float:
        limit = self._config.limit_s if worker.ready is None else START_LIMIT_S
        return worker.since + limit - time.monotonic()

    def _settle(self, worker: _Worker[ValueT], backlog: Backlog) -> Iterator[Done[ValueT] | Failed]:
        try:
            value = ray.get(worker.awaited())
        except RayTaskError as error:
            yield Failed(worker.pop(), _cause(error))
        except RayError as error:
            yield from self._bury(worker, backlog, error)
        else:
            if worker.ready is None:
                yield Done(worker.pop(), value)
            else:
                worker.ready, worker.since, self._any_started = None, time.monotonic(), True

    def _bury(self, worker: _Worker[ValueT], backlog: Backlog, error: RayError) -> Iterator[Failed]:
        """Replace a dead worker; only the call that ran is held to account for the death."""
        if worker.ready is not None:
            self._count_failed_start(error)
        else:
            key = worker.calls[0][1].key
            self._deaths[key] = self._deaths.get(key, 0) + 1
            if self._deaths[key] == self._config.max_attempts:
                reason = f"its worker process died on each of {self._deaths[key]} tries"
                yield Failed(worker.pop(), WorkerLostError(reason))
        self._replace(worker, backlog)

    def _overrun(self, worker: _Worker[ValueT], backlog: Backlog) -> Iterator[Failed]:
        if worker.ready is None:
            reason = f"took longer than its limit of {self._config.limit_s:g} s"
            yield Failed(worker.pop(), WorkerLostError(reason))
            self._replace(worker, backlog)
        elif not self._any_started:
            raise WorkerStartError(_no_room(self._config))
        else:
            worker.since = time.monotonic()

    def _replace(self, worker: _Worker[ValueT], backlog: Backlog) -> None:
        ray.kill(worker.handle)
        backlog.put_back([item for _, item in worker.calls])
        self._workers[self._workers.index(worker)] = self._recruit(worker.group)

    def _count_failed_start(self, error: RayError) -> None:
        self._starts_failed += 1
        in_init = isinstance(error, RayActorError) and error.actor_init_failed
        if in_init or self._starts_failed > self._size * self._config.max_attempts:
            last_line = str(error).strip().rpartition("\n")[2].strip()
            raise WorkerStartError(f"workers do not start: {last_line}") from error


def _cause(error: RayTaskError) -> Exception:
    return error.cause if isinstance(error.cause, Exception) else error


def _no_room(config: PoolConfig) -> str:
    totals = cluster_totals()
    has = ", ".join(f"{name}={totals.get(name, 0.0):g}" for name in ("CPU", "GPU", "memory"))
    return (
        f"no worker started within {START_LIMIT_S:g} s: each wants cpus={config.cpus:g}, "
        f"gpus={config.gpus}, memory_bytes={config.memory_bytes}; the cluster has {has}. "
        "Ask for less in ray_config.yaml, or free the cluster"
    )
