"""The pool: every item has one outcome, whatever its worker does."""

import os
import threading
import time

import pytest
import ray
from stub_ray import pool_of
from waiting import wait_for

from cluster import actors
from cluster.actors import ActorPool, Done, Failed, Item, WorkerKind, WorkerLostError
from cluster.config import PoolConfig
from cluster.resources import WorkerStartError
from nar.base.errors import CaptureError

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


def kind(broken: bool = False) -> WorkerKind[str]:
    class Worker:
        """Does what the item's first word says."""

        def __init__(self, broken: bool) -> None:
            self.items: list[str] = []
            if broken:
                raise ValueError("no state to load")

        def work(self, item: str) -> str:
            self.items.append(item)
            deed = {
                "die": lambda: os._exit(1),
                "raise": lambda: CaptureError(item, "conv", "no kernel"),
                "hang": lambda: threading.Event().wait(),
            }.get(item.split()[0], lambda: None)()
            if isinstance(deed, Exception):
                raise deed
            return f"{item}: call {len(self.items)}"

    options = ray.remote(Worker).options(num_cpus=0)
    return WorkerKind(lambda _: options.remote(broken), lambda actor, key: actor.work.remote(key))


def outcomes(items: list[str], size: int = 2, **settings: float) -> dict[str, Done[str] | Failed]:
    pool = ActorPool(kind(), pool_of(size), PoolConfig.model_validate(settings))
    seen = list(pool.run([Item(item, item.split()[0]) for item in items]))
    assert sorted(outcome.key for outcome in seen) == sorted(items)
    return {outcome.key: outcome for outcome in seen}


def failures(seen: dict[str, Done[str] | Failed]) -> dict[str, str]:
    return {key: str(item.error) for key, item in seen.items() if isinstance(item, Failed)}


def test_every_item_is_done_once():
    assert failures(outcomes([f"ok {number}" for number in range(50)])) == {}


def test_no_items_start_no_workers():
    assert outcomes([]) == {}


def test_an_item_that_raises_keeps_its_error_and_its_worker():
    seen = outcomes(["raise 1", "ok 1"], size=1)
    assert failures(seen) == {"raise 1": "raise 1: capture failed at conv: no kernel"}
    assert isinstance(seen["raise 1"].error, CaptureError)
    assert seen["ok 1"].value == "ok 1: call 2"


def test_a_poison_item_is_given_up_and_its_neighbours_are_not():
    items = ["die 1", *(f"ok {number}" for number in range(20))]
    seen = failures(outcomes(items, max_in_flight=8, max_attempts=2))
    assert seen == {"die 1": "its worker process died (2 tries)"}


def test_an_item_whose_worker_dies_once_is_done_by_another(tmp_path):
    first_try = tmp_path / "tried"

    class Worker:
        def work(self, item: str) -> str:
            if item == "unlucky" and not first_try.exists():
                first_try.touch()
                os._exit(1)
            return item

    options = ray.remote(Worker).options(num_cpus=0)
    pool = ActorPool(
        WorkerKind(lambda _: options.remote(), lambda actor, key: actor.work.remote(key)),
        pool_of(2),
        PoolConfig(),
    )
    seen = list(pool.run([Item("unlucky"), *(Item(f"ok {number}") for number in range(9))]))
    assert len(seen) == 10
    assert Done("unlucky", "unlucky") in seen


def test_an_item_over_its_limit_is_given_up_after_its_tries():
    started = time.monotonic()
    seen = outcomes(["hang 1", *(f"ok {n}" for n in range(20))], limit_s=1.0)
    assert failures(seen) == {"hang 1": "took longer than its limit of 1 s (2 tries)"}
    assert seen["hang 1"].error.kind == "timeout"
    assert seen["hang 1"].seconds >= 2.0
    assert time.monotonic() - started < 60


def test_an_item_that_hangs_holds_up_nobody():
    order = []
    pool = ActorPool(kind(), pool_of(1), PoolConfig(patience_s=1.0, limit_s=3.0, max_attempts=1))
    items = ["hang 1", "hang 2", *(f"ok {number}" for number in range(9))]
    for each in pool.run([Item(item) for item in items]):
        order.append(each.key)
        if isinstance(each, Failed):
            assert str(each.error) == "took longer than its limit of 3 s (1 tries)"
            assert each.seconds >= 4.0  # those in which it was left, too
    assert order == [*items[2:], *items[:2]]


def test_a_process_that_begins_slowly_does_not_leave_every_item():
    class Worker:
        def __init__(self) -> None:
            self.has_imported = False

        def work(self, item: str) -> str:
            if not self.has_imported:  # stands for libraries that take longer than the patience
                threading.Event().wait(timeout=1.5)
                self.has_imported = True
            return item

    starts = []
    options = ray.remote(Worker).options(num_cpus=0)
    kind = WorkerKind(
        lambda _: starts.append(1) or options.remote(),
        lambda actor, key: actor.work.remote(key),
    )
    items = [Item(f"ok {number}") for number in range(9)]
    seen = list(ActorPool(kind, pool_of(1), PoolConfig(patience_s=0.5)).run(items))
    assert sorted(each.key for each in seen) == [each.key for each in items]
    assert len(starts) <= 4  # its patience doubles: 0.5 s, 1 s, 2 s


def test_where_each_item_is_slow_few_are_left():
    class Worker:
        def work(self, item: str) -> str:
            if item.startswith("slow"):
                threading.Event().wait(timeout=0.6)
            return item

    starts = []
    options = ray.remote(Worker).options(num_cpus=0)
    kind = WorkerKind(
        lambda _: starts.append(1) or options.remote(),
        lambda actor, key: actor.work.remote(key),
    )
    # A quick item between them does not make the place forget what it has lost.
    items = [Item(f"{pace} {number}") for number in range(10) for pace in ("slow", "quick")]
    seen = list(ActorPool(kind, pool_of(1), PoolConfig(patience_s=0.4)).run(items))
    assert sorted(each.key for each in seen) == sorted(each.key for each in items)
    assert len(starts) <= 4


def test_a_slow_item_that_no_other_waits_behind_goes_on(tmp_path):
    class Worker:
        def work(self, item: str) -> str:
            with (tmp_path / "begun").open("a") as file:
                file.write(item)
            while not (tmp_path / "released").exists():
                threading.Event().wait(timeout=0.02)
            return item

    options = ray.remote(Worker).options(num_cpus=0)
    kind = WorkerKind(lambda _: options.remote(), lambda actor, key: actor.work.remote(key))
    pool = ActorPool(kind, pool_of(1), PoolConfig(patience_s=0.5))

    def meanwhile() -> float:
        # Twice its patience: it was looked at in between.
        if pool.waited_for().get("slow", 0.0) > 1.0:
            (tmp_path / "released").touch()
        return 0.1

    assert list(pool.run([Item("slow")], meanwhile)) == [Done("slow", "slow")]
    assert (tmp_path / "begun").read_text() == "slow"


def test_an_item_that_loses_its_worker_begins_a_fresh_process():
    class Worker:
        def __init__(self) -> None:
            self.items: list[str] = []

        def work(self, item: str) -> str:
            self.items.append(item)
            if item == "fussy" and len(self.items) > 1:
                raise WorkerLostError("memory", "full")
            return item

    options = ray.remote(Worker).options(num_cpus=0)
    kind = WorkerKind(lambda _: options.remote(), lambda actor, key: actor.work.remote(key))
    pool = ActorPool(kind, pool_of(1), PoolConfig(max_in_flight=4))
    items = [*(f"ok {n}" for n in range(4)), "fussy", *(f"more {n}" for n in range(4))]
    seen = list(pool.run([Item(item) for item in items]))
    assert sorted(each.key for each in seen) == sorted(items)
    assert failures({each.key: each for each in seen}) == {}


@pytest.mark.parametrize("bound", ["items", "growth"])
def test_a_worker_that_has_done_enough_is_replaced(bound):
    plain, starts = kind(), []
    counted = WorkerKind(
        lambda avoided: starts.append(1) or plain.start(avoided),
        plain.ask,
        is_spent=lambda value: bound == "growth" and value.endswith("call 3"),
    )
    sizes = PoolConfig(items_per_process=3 if bound == "items" else None, max_in_flight=1)
    seen = list(
        ActorPool(counted, pool_of(1), sizes).run([Item(f"ok {number}") for number in range(9)])
    )
    assert [each.value[-6:] for each in seen] == ["call 1", "call 2", "call 3"] * 3
    assert len(starts) == 3


def test_a_worker_whose_state_does_not_load_ends_the_run():
    pool = ActorPool(kind(broken=True), pool_of(1), PoolConfig())
    with pytest.raises(WorkerStartError, match="no state to load"):
        list(pool.run([Item("ok 1")]))


def test_workers_that_find_no_room_end_the_run_with_the_sizes(monkeypatch):
    monkeypatch.setattr(actors, "START_LIMIT_S", 1.0)
    options = ray.remote(type("Huge", (), {})).options(num_cpus=1_000)
    pool = ActorPool(
        WorkerKind(lambda _: options.remote(), lambda actor, key: actor.__ray_ready__.remote()),
        pool_of(1),
        PoolConfig(cpus=1_000),
    )
    with pytest.raises(WorkerStartError, match=r"cpus=1000.*the cluster has 1 node of CPU="):
        list(pool.run([Item("ok 1")]))


def test_a_run_that_is_dropped_stops_its_workers():
    handles = []
    plain = kind()
    counted = WorkerKind(
        lambda avoided: handles.append(plain.start(avoided)) or handles[-1], plain.ask
    )
    run = ActorPool(counted, pool_of(1), PoolConfig()).run(
        [Item(f"ok {number}") for number in range(9)]
    )
    next(run)
    run.close()
    wait_for(lambda: is_dead(handles[0]))


def is_dead(handle: ray.actor.ActorHandle) -> bool:
    """Whether an actor is gone; it is killed without waiting for its end."""
    try:
        ray.get(handle.work.remote("ok"))
    except ray.exceptions.RayActorError:
        return True
    return False
