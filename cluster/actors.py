"""A bounded map over a pool of stateful actors: results come in the order of completion.

Ray Data would not do: it has no limit of time for an item, and can hang when an actor dies (Ray's
issues 45661 and 62746).

An item that raises becomes a `Failed` outcome. An item that takes its worker down, or exceeds its
limit of time or memory, is first tried again in a fresh process: the worker may have been at fault.
An item that takes longer than the pool has patience is left, and begun anew when no other waits: a
model that hangs holds up nobody. Patience grows where items are left again and again.
"""

import heapq
import itertools
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Generic, Literal, TypeVar, cast

import ray
from ray.actor import ActorHandle
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError

from nar.base.console import stderr
from nar.base.errors import NarError

from .config import PoolConfig
from .resources import (
    PoolSize,
    Reservation,
    WorkerStartError,
    check_room,
    holders,
    node_of,
    resource_table,
    without_place,
)

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
    """Items that wait, by group, and the groups that workers have claimed.

    A step takes the same time for ten groups as for fifty thousand. A group that is empty is
    forgotten, and the free groups, those that no worker has claimed, lie in a heap. An entry of the
    heap that is no longer right is passed over: each change of a free group puts in another.

    Args:
        items: The items.
        is_streamed: Read them group by group, as workers need them, instead of all at once. The
            items of a group have to stand together then.
    """

    def __init__(self, items: Iterable[Item], *, is_streamed: bool = False) -> None:
        self._later = groupby(items, key=attrgetter("group"))
        self._groups: dict[str, deque[Item]] = {}
        self._claims: Counter[str] = Counter()
        self._free: list[tuple[int, int, str]] = []
        self._numbers = itertools.count()
        self._waiting = 0
        while not is_streamed and self._reads_group():
            pass

    def __bool__(self) -> bool:
        """Whether an item waits."""
        return self.count(1) > 0

    def count(self, wanted: int) -> int:
        """How many items wait; if they are streamed, no more are read than are wanted."""
        while self._waiting < wanted and self._reads_group():
            pass
        return self._waiting

    def take(self, group: str) -> Item:
        """The next item of a group; if the group is empty, of the longest free group.

        The worker claims the group that it gets, and gives up its own. Where no group is free, it
        shares the longest group of other workers.

        Args:
            group: The group of the worker.
        """
        if group not in self._groups:
            self._give_up(group)
            free = self._longest_free()
            group = max(self._groups, key=self._length) if free is None else free
            self._claims[group] += 1
        waiting = self._groups[group]
        item = waiting.popleft()
        self._waiting -= 1
        if not waiting:
            del self._groups[group]
        return item

    def put_back(self, items: Sequence[Item]) -> None:
        """Return items, to be taken next in their order."""
        for item in reversed(items):
            self._groups.setdefault(item.group, deque()).appendleft(item)
            self._offer(item.group)
        self._waiting += len(items)

    def _reads_group(self) -> bool:
        """Read the next items of one group; whether there were any."""
        for group, items in self._later:
            waiting = self._groups.setdefault(group, deque())
            before = len(waiting)
            waiting.extend(items)
            self._waiting += len(waiting) - before
            self._offer(group)
            return True
        return False

    def _length(self, group: str) -> int:
        return len(self._groups.get(group, ()))

    def _offer(self, group: str) -> None:
        """Put a group among the free groups, by its present length, unless a worker has it."""
        if not self._claims[group]:
            heapq.heappush(self._free, (-self._length(group), next(self._numbers), group))

    def _give_up(self, group: str) -> None:
        self._claims[group] -= 1
        if self._claims[group] <= 0:
            del self._claims[group]

    def _longest_free(self) -> str | None:
        while True:
            while self._free:
                length, _, group = heapq.heappop(self._free)
                if length == -self._length(group) and not self._claims[group]:
                    return group
            if not self._reads_group():
                return None


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
# Chosen: how often a pool looks at all its workers and at the nodes. A node that joins is used
# within the start of a process after it, and a look at 256 workers takes 0.1 ms.
LOOK_S: Final = 5.0
# Chosen: when and how often a job says that it waits for a place: at the second look, and then
# seldom, as it may wait for hours.
SAID_AFTER_S: Final = 4.0
SAID_EVERY_S: Final = 60.0  # seldom: a line a minute in the log of hours
# Chosen: a place that has left an item has twice as much patience from then on, until it has worked
# for so many seconds a second that it lost. Where most items are slow, as on a busy machine, a
# tenth of the time is lost, and what a new process takes to begin.
_WORK_PER_LOST_S: Final = 10.0
Outcomes = Iterator[Done[ValueT] | Failed]
# Starts one actor, on none of the nodes whose ids are given.
Start = Callable[[Collection[str]], ActorHandle[Any]]


@dataclass(frozen=True, slots=True)
class WorkerKind(Generic[ValueT]):
    """How to start a worker, how to ask it for an item, and when it has done enough.

    Attributes:
        start: Starts one actor, on none of some nodes; raises `WorkerStartError` where there is no
            other node.
        ask: Submits the item of a key to an actor.
        is_spent: Whether the worker that returned this value should be replaced.
    """

    start: Start
    ask: Callable[[ActorHandle[Any], str], "ray.ObjectRef[ValueT]"]
    is_spent: Callable[[ValueT], bool] = lambda _: False


@dataclass(slots=True, eq=False)
class _Worker(Generic[ValueT]):
    """An actor with its calls in order; the first call runs, since ``since`` or later.

    Nothing is submitted before the actor is ready: the death of a process can lose the replies to
    earlier calls, and then a worker that died of an item would look as if it had never started.

    ``leaves`` is how often a worker in this place has left an item, and ``owed_s`` for how long the
    place has to work before that is forgotten.
    """

    handle: ActorHandle[Any]
    ready: "ray.ObjectRef[Any] | None"
    group: str
    first: list[Item]
    calls: deque[tuple["ray.ObjectRef[ValueT]", Item]] = field(default_factory=deque)
    since: float = field(default_factory=time.monotonic)
    settled: int = 0
    leaves: int = 0
    owed_s: float = 0.0
    is_spent: bool = False
    is_gone: bool = False

    def awaited(self) -> "ray.ObjectRef[Any] | None":
        """What ends next; None of an idle worker."""
        if self.ready is not None:
            return self.ready
        return self.calls[0][0] if self.calls else None

    @property
    def has_items(self) -> bool:
        return bool(self.first or self.calls)

    @property
    def is_idle(self) -> bool:
        return self.ready is None and not self.has_items

    def items(self) -> list[Item]:
        return [*self.first, *(item for _, item in self.calls)]


def starter(worker: type, share: Reservation, *arguments: object) -> Start:
    """How to start one actor of a class, with its share of the cluster and its arguments.

    Raises:
        NoRoomError: No node can hold one.
    """
    check_room(share)
    remote: Any = ray.remote(worker)

    def start(avoided: Collection[str]) -> ActorHandle[Any]:
        if avoided:
            check_room(share, avoided=avoided)
        options = share.options(avoided)
        return cast("ActorHandle[Any]", remote.options(**options).remote(*arguments))

    return start


class ActorPool(Generic[ValueT]):
    """Equal actors that share a list of items.

    What the pool does for an item takes the same time for any number of workers and groups, but for
    the list of calls that it hands to Ray: only the worker whose call has ended is looked at.

    Args:
        kind: How to start and ask a worker.
        size: Number of actors; it is asked again and again how many there may be now.
        config: Bounds: calls in flight, tries, time, items of one process.
    """

    def __init__(self, kind: WorkerKind[ValueT], size: PoolSize, config: PoolConfig) -> None:
        self._kind = kind
        self._size = size
        self._config = config
        self._workers: list[_Worker[ValueT]] = []
        self._awaited: dict[ray.ObjectRef[Any], _Worker[ValueT]] = {}
        self._to_fill: list[_Worker[ValueT]] = []
        self._look_at = 0.0
        self._tries: Counter[str] = Counter()
        self._left: list[Item] = []
        self._gets_whole_time: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._bad_starts = _BadStarts(config.max_attempts)
        self._patience = _PlaceNotice()

    def run(
        self,
        items: Iterable[Item],
        meanwhile: Callable[[], float] = lambda: math.inf,
        *,
        is_streamed: bool = False,
    ) -> Outcomes[ValueT]:
        """Yield every item's outcome exactly once, in order of completion.

        Args:
            items: The items.
            meanwhile: Called before each wait; returns for how many seconds the wait may last.
            is_streamed: Read them as workers need them; those of a group stand together.

        Raises:
            WorkerStartError: No worker starts.
        """
        with self._size.wanted():
            yield from self._run(Backlog(items, is_streamed=is_streamed), meanwhile)

    def _run(self, backlog: Backlog, meanwhile: Callable[[], float]) -> Outcomes[ValueT]:
        try:
            self._hire(backlog)
            while self._waits(backlog) or any(worker.has_items for worker in self._workers):
                while self._to_fill:
                    self._fill(self._to_fill.pop(), backlog)
                if not backlog:
                    self._make_room()
                yield from self._collect(backlog, meanwhile())
        finally:
            for worker in self._workers:
                ray.kill(worker.handle)

    def _waits(self, backlog: Backlog) -> bool:
        """Whether an item waits; where no other does, those that were left wait again."""
        if self._left and not backlog:
            backlog.put_back(self._left)
            self._left = []
            self._to_fill = list(self._workers)
        return bool(backlog)

    def _hire(self, backlog: Backlog) -> None:
        """Start as many workers as there may be, and as there are items for."""
        more = self._size(self._bad_starts.nodes) - len(self._workers)
        for _ in range(min(more, backlog.count(more)) if more > 0 else 0):
            self._workers.append(self._start(""))

    def _start(self, group: str, first: Sequence[Item] = ()) -> _Worker[ValueT]:
        try:
            handle = self._kind.start(self._bad_starts.nodes)
        except WorkerStartError as error:
            raise self._bad_starts.error(error) from error
        worker: _Worker[ValueT] = _Worker(handle, handle.__ray_ready__.remote(), group, list(first))
        self._watch(worker)
        return worker

    def _watch(self, worker: _Worker[ValueT]) -> None:
        """Wait for what the worker does next, from now on."""
        worker.since = time.monotonic()
        awaited = worker.awaited()
        if awaited is not None:
            self._awaited[awaited] = worker
            self._look_at = min(self._look_at, worker.since + self._limit(worker))

    def _limit(self, worker: _Worker[ValueT]) -> float:
        if worker.ready is not None:
            return START_LIMIT_S
        limit, patience = self._config.limit_s, self._config.patience_s
        if patience is None or worker.calls[0][1].key in self._gets_whole_time:
            return limit
        # A process may be slow at its first item for what it imports, whichever item that is, and
        # on a busy machine many items in a row are slow.
        return min(limit, patience * 2.0**worker.leaves)

    def _fill(self, worker: _Worker[ValueT], backlog: Backlog) -> None:
        """Submit up to the bound; near the end one call a worker, so that no item waits in vain."""
        if worker.is_gone or worker.ready is not None:
            return
        if worker.is_spent:
            if backlog and not worker.calls:
                self._replace(worker)
            return
        while worker.first:
            self._submit(worker, worker.first.pop(0))
        is_near_end = backlog.count(len(self._workers) + 1) <= len(self._workers)
        room = 1 if is_near_end else self._config.max_in_flight
        while len(worker.calls) < room and backlog:
            item = backlog.take(worker.group)
            worker.group = item.group
            self._submit(worker, item)

    def _make_room(self) -> None:
        """End idle workers to make room for workers that have items and wait for a place.

        A lost node takes the place of its worker with it, and another node may never come.
        """
        starting = sum(bool(worker.first) for worker in self._workers)
        if starting:
            for worker in [each for each in self._workers if each.is_idle][:starting]:
                self._end(worker)
                self._workers.remove(worker)

    def _submit(self, worker: _Worker[ValueT], item: Item) -> None:
        worker.calls.append((self._kind.ask(worker.handle, item.key), item))
        if len(worker.calls) == 1:
            self._watch(worker)

    def waited_for(self) -> dict[str, float]:
        """The items that workers are at, each with the seconds that it has taken so far.

        This looks at every worker.
        """
        now = time.monotonic()
        busy = [worker for worker in self._workers if worker.calls]
        return {worker.calls[0][1].key: now - worker.since for worker in busy}

    def _collect(self, backlog: Backlog, most_s: float) -> Outcomes[ValueT]:
        """Wait until calls end or a look is due, and settle the calls to which that happened."""
        awaited = list(self._awaited)
        # All that have ended at once: while this process is busy, more and more end.
        ended, _ = ray.wait(awaited, num_returns=len(awaited), timeout=0)
        if not ended:
            patience = max(min(self._look_at - time.monotonic(), most_s), 0.0)
            ended, _ = ray.wait(awaited, num_returns=1, timeout=patience)
        for reference in ended:
            worker = self._awaited.pop(reference)
            self._to_fill.append(worker)
            yield from self._settle(worker, reference, backlog)
        if time.monotonic() >= self._look_at:
            yield from self._look(backlog)

    def _look(self, backlog: Backlog) -> Outcomes[ValueT]:
        """Look at every worker and at the nodes."""
        for reference, worker in list(self._awaited.items()):
            # The call may have ended in time while this process was busy: then only the look is
            # late.
            if self._time_left(worker) <= 0 and not ray.wait([reference], timeout=0)[0]:
                # Nobody waits for it any more: it ends, as lost, when its worker is replaced.
                self._awaited.pop(reference, None)
                yield from self._settle_overrun(worker, backlog)
        self._hire(backlog)
        starting = [worker.handle for worker in self._workers if worker.ready is not None]
        self._patience.look(starting, is_working=len(starting) < len(self._workers))
        left = min(map(self._time_left, self._awaited.values()), default=LOOK_S)
        self._look_at = time.monotonic() + min(max(left, 0.0), LOOK_S)

    def _time_left(self, worker: _Worker[ValueT]) -> float:
        return worker.since + self._limit(worker) - time.monotonic()

    def _settle(
        self, worker: _Worker[ValueT], ended: "ray.ObjectRef[Any]", backlog: Backlog
    ) -> Outcomes[ValueT]:
        try:
            value = ray.get(ended)
        except RayTaskError as error:
            cause = _cause(error)
            if isinstance(cause, WorkerLostError):
                yield from self._retry_or_give_up(worker, backlog, cause)
            else:
                yield Failed(*self._pop(worker, cause))
                self._watch(worker)
        except RayError as error:
            yield from self._settle_death(worker, backlog, error)
        else:
            if worker.ready is not None:
                worker.ready = None
                self._bad_starts.note_start()
            else:
                worker.is_spent = worker.is_spent or self._kind.is_spent(value)
                yield Done(*self._pop(worker, value))
                self._watch(worker)

    def _pop(self, worker: _Worker[ValueT], result: Any) -> tuple[str, Any, float]:  # noqa: ANN401
        """Remove a worker's first call: its key, its result or error, and all its seconds."""
        reference, item = worker.calls.popleft()
        self._awaited.pop(reference, None)
        key = item.key
        now = time.monotonic()
        took = now - worker.since
        seconds = self._seconds.pop(key, 0.0) + took
        worker.since, worker.settled = now, worker.settled + 1
        worker.owed_s = max(worker.owed_s - took, 0.0)
        if not worker.owed_s:
            worker.leaves = 0
        bound = self._config.items_per_process
        worker.is_spent = worker.is_spent or (bound is not None and worker.settled >= bound)
        return key, result, seconds

    def _settle_death(
        self, worker: _Worker[ValueT], backlog: Backlog, error: RayError
    ) -> Iterator[Failed]:
        """Replace a dead worker; only the call that ran counts as a cause of the death."""
        if worker.ready is not None:
            self._settle_bad_start(worker, error)
        elif isinstance(error, OutOfMemoryError):
            yield from self._retry_or_give_up(
                worker, backlog, WorkerLostError("memory", _NODE_IS_FULL)
            )
        else:
            yield from self._retry_or_give_up(worker, backlog, WorkerLostError("died", _DIED))

    def _settle_bad_start(self, worker: _Worker[ValueT], error: RayError) -> None:
        """Replace a worker that has not started; one without items only at the next look."""
        is_alone = all(each.ready is not None for each in self._workers)
        self._bad_starts.count(worker.handle, error, len(self._workers) if is_alone else None)
        if worker.first or len(self._workers) == 1:
            self._replace(worker, worker.items())
        else:
            self._end(worker)
            self._workers.remove(worker)

    def _settle_overrun(self, worker: _Worker[ValueT], backlog: Backlog) -> Iterator[Failed]:
        if worker.ready is None and self._limit(worker) < self._config.limit_s:
            self._leave(worker, backlog)
        elif worker.ready is None:
            reason = f"took longer than its limit of {self._config.limit_s:g} s"
            yield from self._retry_or_give_up(worker, backlog, WorkerLostError("timeout", reason))
        elif not self._bad_starts.any_started:
            raise WorkerStartError(_no_room(self._config))
        else:
            self._watch(worker)

    def _leave(self, worker: _Worker[ValueT], backlog: Backlog) -> None:
        """Leave a slow item until no other waits; where none does now, wait for it on."""
        reference, item = worker.calls[0]
        self._gets_whole_time.add(item.key)
        if not backlog and len(worker.calls) == 1:
            self._awaited[reference] = worker
            return
        self._left.append(item)
        self._note_lost_time(worker)
        backlog.put_back(worker.items()[1:])
        self._to_fill = list(self._workers)
        worker.leaves += 1
        worker.owed_s += _WORK_PER_LOST_S * (time.monotonic() - worker.since)
        self._replace(worker)

    def _note_lost_time(self, worker: _Worker[ValueT]) -> None:
        key = worker.calls[0][1].key
        self._seconds[key] = self._seconds.get(key, 0.0) + time.monotonic() - worker.since

    def _retry_or_give_up(
        self, worker: _Worker[ValueT], backlog: Backlog, error: WorkerLostError
    ) -> Iterator[Failed]:
        """Replace a worker. The item that ran goes first to the new worker, or is given up."""
        suspect = worker.calls[0][1]
        self._tries[suspect.key] += 1
        backlog.put_back(worker.items()[1:])
        self._to_fill = list(self._workers)
        if self._tries[suspect.key] < self._config.max_attempts:
            self._note_lost_time(worker)
            self._replace(worker, [suspect])
        else:
            yield Failed(*self._pop(worker, error.after(self._tries[suspect.key])))
            self._replace(worker)

    def _replace(self, worker: _Worker[ValueT], items: Sequence[Item] = ()) -> _Worker[ValueT]:
        """Start a new worker in a worker's place, which begins with these items."""
        self._end(worker)
        new = self._start(worker.group, items)
        new.leaves, new.owed_s = worker.leaves, worker.owed_s
        self._workers[self._workers.index(worker)] = new
        return new

    def _end(self, worker: _Worker[ValueT]) -> None:
        ray.kill(worker.handle)
        for reference in (worker.ready, *(call for call, _ in worker.calls)):
            if reference is not None:
                self._awaited.pop(reference, None)
        worker.is_gone = True


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


class _BadStarts:
    """Workers that did not start, by node; a node on which too many fail is left out.

    Args:
        most: How many may fail on one node.

    Attributes:
        nodes: The nodes that are left out: id -> name and reason.
        any_started: Whether any worker has started.
    """

    def __init__(self, most: int) -> None:
        self.nodes: dict[str, str] = {}
        self.any_started = False
        self._most = most
        self._failed: Counter[str] = Counter()
        self._in_a_row = 0

    def note_start(self) -> None:
        """Note that a worker has started."""
        self.any_started, self._in_a_row = True, 0

    def count(self, worker: ActorHandle[Any], error: RayError, workers: int | None) -> None:
        """Count a worker that has died before it was ready.

        Args:
            worker: The worker.
            error: What Ray says of it.
            workers: How many workers are starting; None while others work.

        Raises:
            WorkerStartError: No worker works, and so many have failed that none will start.
        """
        node = node_of(worker)
        reason = str(error).strip().rpartition("\n")[2].strip()
        self._failed[node.id] += 1
        self._in_a_row += 1
        if node.is_alive and self._failed[node.id] == self._most:
            self.nodes[node.id] = f"{node.name}: {reason}"
            said = f"left out, for no worker starts there: {self.nodes[node.id]}"
            stderr.print(said, soft_wrap=True)
        if workers is not None and self._in_a_row > workers * self._most:
            raise self.error(reason)

    def error(self, reason: object) -> WorkerStartError:
        """The error that no worker starts."""
        reasons = "; ".join(self.nodes.values())
        return WorkerStartError(f"workers do not start: {reasons or reason}")


class _PlaceNotice:
    """Says that a job waits for a place in the cluster."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._said_at = -SAID_EVERY_S

    def look(self, starting: Sequence[ActorHandle[Any]], *, is_working: bool) -> None:
        """Say it if no worker works, and some have waited for a place for long enough."""
        now = time.monotonic()
        if is_working:
            self._since = now
        elif now - max(self._since + SAID_AFTER_S, self._said_at + SAID_EVERY_S) > 0:
            waiting = len(without_place(starting))
            if waiting:
                self._said_at = now
                stderr.print(
                    f"waiting for a place for {waiting} worker{'s' * (waiting > 1)}: {holders()}",
                    soft_wrap=True,
                )
