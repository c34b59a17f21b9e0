"""A bounded map over a pool of stateful actors: results come in the order of completion.

Ray Data would not do: it has no limit of time for an item, and can hang when an actor dies (Ray's
issues 45661 and 62746).

An item that raises becomes a `Failed` outcome. An item that takes its worker down, or exceeds its
limit of time or memory, is first tried again in a fresh process: the worker may have been at fault.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

import ray
from ray.actor import ActorHandle
from ray.exceptions import OutOfMemoryError, RayActorError, RayError, RayTaskError

from cluster.config import PoolConfig
from cluster.resources import Reservation, WorkerStartError, check_room, resource_table
from nar.base.errors import NarError

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Item:
    """One call of a worker.

    Attributes:
        key: Name of the item, unique in the run.
        group: Items of one group share what a worker has to load; a worker stays in its group
            as long as it can.
    """

    key: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Done(Generic[ValueT]):
    """What a worker returned for an item.

    Attributes:
        key: Name of the item.
        value: What came back.
        seconds: Worker time that the item took, failed tries included.
    """

    key: str
    value: ValueT
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an item has no value.

    Attributes:
        key: Name of the item.
        error: What its last try raised, or how its worker was lost.
        seconds: Worker time that all its tries took.
    """

    key: str
    error: Exception
    seconds: float = field(default=0.0, compare=False)


class Backlog:
    """Items that wait, by group."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._groups: dict[str, deque[Item]] = {}
        for item in items:
            self._groups.setdefault(item.group, deque()).append(item)

    def __len__(self) -> int:
        """Number of items that wait."""
        return sum(map(len, self._groups.values()))

    def take(self, group: str, others: Collection[str] = ()) -> Item:
        """The next item of a group; if the group is empty, of the longest other group.

        Args:
            group: The group of the worker.
            others: Groups of other workers, which are left to them while any other group has items.
        """
        waiting = self._groups.get(group) or self._longest(others) or self._longest(())
        return waiting.popleft()

    def _longest(self, others: Collection[str]) -> deque[Item]:
        free = (waiting for group, waiting in self._groups.items() if group not in others)
        return max(free, key=len, default=deque())

    def put_back(self, items: Sequence[Item]) -> None:
        """Return items, to be taken next in their order."""
        for item in reversed(items):
            self._groups[item.group].appendleft(item)


Loss = Literal["died", "timeout", "memory"]


class WorkerLostError(NarError):
    """An item took its worker down, or exceeded its limit of time or memory.

    Attributes:
        kind: ``died``, ``timeout`` or ``memory``.
        reason: The kind of loss in words.
    """

    def __init__(self, kind: Loss, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason

    def __reduce__(self) -> tuple[type["WorkerLostError"], tuple[Loss, str]]:
        """Cross process borders whole: the default would pass the message as one argument."""
        return type(self), (self.kind, self.reason)

    def after(self, tries: int) -> "WorkerLostError":
        """The same error, saying how often the item was tried."""
        return type(self)(self.kind, f"{self.reason} ({tries} tries)")


# Chosen: a worker imports torch and its libraries in half a minute, and a growing cluster takes
# minutes to add a node.
START_LIMIT_S = 300.0
Outcomes = Iterator[Done[ValueT] | Failed]


@dataclass(frozen=True, slots=True)
class WorkerKind(Generic[ValueT]):
    """How to start a worker, how to ask it for an item, and when it has done enough.

    Attributes:
        start: Starts one actor.
        ask: Submits the item of a key to an actor.
        is_spent: Whether the worker that returned this value should be replaced.
    """

    start: Callable[[], ActorHandle[Any]]
    ask: Callable[[ActorHandle[Any], str], "ray.ObjectRef[ValueT]"]
    is_spent: Callable[[ValueT], bool] = lambda _: False


@dataclass(slots=True)
class _Worker(Generic[ValueT]):
    """An actor with its calls in order; the first call runs, since ``since`` or later.

    Nothing is submitted before the actor is ready: the death of a process can lose the replies to
    earlier calls, and then a worker that died of an item would look as if it had never started.
    """

    handle: ActorHandle[Any]
    ready: "ray.ObjectRef[Any] | None"
    group: str
    first: list[Item]
    calls: deque[tuple["ray.ObjectRef[ValueT]", Item]] = field(default_factory=deque)
    since: float = field(default_factory=time.monotonic)
    settled: int = 0
    is_spent: bool = False

    def awaited(self) -> "ray.ObjectRef[Any]":
        return self.calls[0][0] if self.ready is None else self.ready

    @property
    def is_idle(self) -> bool:
        return self.ready is None and not self.items()

    def items(self) -> list[Item]:
        return [*self.first, *(item for _, item in self.calls)]


def starter(worker: type, share: Reservation, *arguments: object) -> Callable[[], ActorHandle[Any]]:
    """How to start one actor of a class, with its share of the cluster and its arguments.

    Raises:
        NoRoomError: No node can hold one.
    """
    check_room(share)
    actor: Any = ray.remote(worker).options(**share.options())
    return lambda: cast("ActorHandle[Any]", actor.remote(*arguments))


class ActorPool(Generic[ValueT]):
    """Equal actors that share a list of items.

    Args:
        kind: How to start and ask a worker.
        size: Number of actors.
        config: Bounds: calls in flight, tries, time, items of one process.
    """

    def __init__(self, kind: WorkerKind[ValueT], size: int, config: PoolConfig) -> None:
        self._kind = kind
        self._size = size
        self._config = config
        self._workers: list[_Worker[ValueT]] = []
        self._tries: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._starts_failed = 0
        self._any_started = False

    def run(self, items: Sequence[Item]) -> Outcomes[ValueT]:
        """Yield every item's outcome exactly once, in order of completion.

        Raises:
            WorkerStartError: No worker starts.
        """
        backlog = Backlog(items)
        self._workers = [self._start("") for _ in range(min(self._size, len(items)))]
        try:
            while backlog or any(worker.items() for worker in self._workers):
                for worker in list(self._workers):
                    self._fill(worker, backlog)
                if not backlog:
                    self._make_room()
                yield from self._collect(backlog)
        finally:
            for worker in self._workers:
                ray.kill(worker.handle)

    def _start(self, group: str, first: Sequence[Item] = ()) -> _Worker[ValueT]:
        handle = self._kind.start()
        return _Worker(handle, handle.__ray_ready__.remote(), group, list(first))

    def _fill(self, worker: _Worker[ValueT], backlog: Backlog) -> None:
        """Submit up to the bound; near the end one call a worker, so that no item waits in vain."""
        if worker.is_spent:
            if worker.calls or not backlog:
                return
            worker = self._replace(worker)
        if worker.ready is not None:
            return
        while worker.first:
            self._submit(worker, worker.first.pop(0))
        room = self._config.max_in_flight if len(backlog) > len(self._workers) else 1
        others = {other.group for other in self._workers if other is not worker}
        while backlog and len(worker.calls) < room:
            self._submit(worker, backlog.take(worker.group, others))

    def _make_room(self) -> None:
        """End idle workers to make room for workers that have items and wait for a place.

        A lost node takes the place of its worker with it, and another node may never come.
        """
        starting = sum(bool(worker.first) for worker in self._workers)
        for worker in [each for each in self._workers if each.is_idle][:starting]:
            ray.kill(worker.handle)
            self._workers.remove(worker)

    def _submit(self, worker: _Worker[ValueT], item: Item) -> None:
        if not worker.calls:
            worker.since = time.monotonic()
        worker.calls.append((self._kind.ask(worker.handle, item.key), item))
        worker.group = item.group

    def _collect(self, backlog: Backlog) -> Outcomes[ValueT]:
        """Wait until a call ends or a limit passes, and settle the calls to which that happened."""
        busy = [worker for worker in self._workers if worker.calls or worker.ready is not None]
        waiting = {worker.awaited(): worker for worker in busy}
        patience = min(self._time_left(worker) for worker in waiting.values())
        ended, running = ray.wait(list(waiting), num_returns=1, timeout=max(patience, 0.0))
        for reference in ended:
            yield from self._settle(waiting[reference], backlog)
        for reference in running:
            # The call may have ended in time while this process was busy: then only the look is
            # late.
            if self._time_left(waiting[reference]) <= 0 and not ray.wait([reference], timeout=0)[0]:
                yield from self._settle_overrun(waiting[reference], backlog)

    def _time_left(self, worker: _Worker[ValueT]) -> float:
        limit = self._config.limit_s if worker.ready is None else START_LIMIT_S
        return worker.since + limit - time.monotonic()

    def _settle(self, worker: _Worker[ValueT], backlog: Backlog) -> Outcomes[ValueT]:
        try:
            value = ray.get(worker.awaited())
        except RayTaskError as error:
            cause = _cause(error)
            if isinstance(cause, WorkerLostError):
                yield from self._retry_or_give_up(worker, backlog, cause)
            else:
                yield Failed(*self._pop(worker, cause))
        except RayError as error:
            yield from self._settle_death(worker, backlog, error)
        else:
            if worker.ready is not None:
                worker.ready, worker.since, self._any_started = None, time.monotonic(), True
            else:
                worker.is_spent = worker.is_spent or self._kind.is_spent(value)
                yield Done(*self._pop(worker, value))

    def _pop(self, worker: _Worker[ValueT], result: Any) -> tuple[str, Any, float]:  # noqa: ANN401
        """Remove a worker's first call: its key, its result or error, and all its seconds."""
        key = worker.calls.popleft()[1].key
        now = time.monotonic()
        seconds = self._seconds.pop(key, 0.0) + now - worker.since
        worker.since, worker.settled = now, worker.settled + 1
        bound = self._config.items_per_process
        worker.is_spent = worker.is_spent or (bound is not None and worker.settled >= bound)
        return key, result, seconds

    def _settle_death(
        self, worker: _Worker[ValueT], backlog: Backlog, error: RayError
    ) -> Iterator[Failed]:
        """Replace a dead worker; only the call that ran counts as a cause of the death."""
        if worker.ready is not None:
            self._count_failed_start(error)
            self._replace(worker, worker.items())
        elif isinstance(error, OutOfMemoryError):
            yield from self._retry_or_give_up(
                worker, backlog, WorkerLostError("memory", _NODE_IS_FULL)
            )
        else:
            yield from self._retry_or_give_up(worker, backlog, WorkerLostError("died", _DIED))

    def _settle_overrun(self, worker: _Worker[ValueT], backlog: Backlog) -> Iterator[Failed]:
        if worker.ready is None:
            reason = f"took longer than its limit of {self._config.limit_s:g} s"
            yield from self._retry_or_give_up(worker, backlog, WorkerLostError("timeout", reason))
        elif not self._any_started:
            raise WorkerStartError(_no_room(self._config))
        else:
            worker.since = time.monotonic()

    def _retry_or_give_up(
        self, worker: _Worker[ValueT], backlog: Backlog, error: WorkerLostError
    ) -> Iterator[Failed]:
        """Replace a worker. The item that ran goes first to the new worker, or is given up."""
        suspect = worker.calls[0][1]
        self._tries[suspect.key] += 1
        backlog.put_back(worker.items()[1:])
        if self._tries[suspect.key] < self._config.max_attempts:
            lost = time.monotonic() - worker.since
            self._seconds[suspect.key] = self._seconds.get(suspect.key, 0.0) + lost
            self._replace(worker, [suspect])
        else:
            yield Failed(*self._pop(worker, error.after(self._tries[suspect.key])))
            self._replace(worker)

    def _replace(self, worker: _Worker[ValueT], items: Sequence[Item] = ()) -> _Worker[ValueT]:
        """A new worker in a worker's place, which begins with these items."""
        ray.kill(worker.handle)
        successor = self._start(worker.group, items)
        self._workers[self._workers.index(worker)] = successor
        return successor

    def _count_failed_start(self, error: RayError) -> None:
        self._starts_failed += 1
        in_init = isinstance(error, RayActorError) and error.actor_init_failed
        if in_init or self._starts_failed > self._size * self._config.max_attempts:
            last_line = str(error).strip().rpartition("\n")[2].strip()
            raise WorkerStartError(f"workers do not start: {last_line}") from error


_DIED = "its worker process died"
_NODE_IS_FULL = "its worker process was ended because the machine had no memory left"


def _cause(error: RayTaskError) -> Exception:
    return error.cause if isinstance(error.cause, Exception) else error


def _no_room(config: PoolConfig) -> str:
    return (
        f"no worker started within {START_LIMIT_S:g} s: each wants cpus={config.cpus:g}, "
        f"gpus={config.gpus}, memory_bytes={config.memory_bytes}; the cluster has "
        f"{resource_table()}. Ask for less in ray_config.yaml, or free the cluster"
    )
