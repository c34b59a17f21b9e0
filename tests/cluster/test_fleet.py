"""A fleet that changes: nodes join, some are bad, and there may be none for a while."""

import subprocess
import sys
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from nodes import ROOT, Nodes, running_nodes
from ray.exceptions import ActorDiedError
from stub_ray import Handle, Reference, echoing, pool_of, stubbed_ray

from cluster import actors, resources
from cluster.actors import ActorPool, Done, Item, WorkerKind
from cluster.config import PoolConfig
from cluster.resources import NodeOf, PoolSize, Reservation, WorkerStartError

ITEMS = [Item(f"{number}") for number in range(40)]


class Fleet:
    """Nodes by name, on some of which no worker starts; the first that may be is taken.

    Args:
        nodes: Node -> the reason why no worker starts, empty for a good node.
    """

    def __init__(self, **nodes: str) -> None:
        self.nodes = nodes
        self.starts: list[str] = []

    def kind(self) -> WorkerKind[Any]:
        return WorkerKind(self.start, echoing().ask)

    def start(self, avoided: Collection[str]) -> Any:
        left = [name for name in self.nodes if name not in avoided]
        if not left:
            raise WorkerStartError("no node is left")
        node = left[len(self.starts) % len(left)]
        self.starts.append(node)
        reason = self.nodes[node]
        return Handle(Reference(died(reason)) if reason else None, node)


def died(reason: str) -> ActorDiedError:
    error = ActorDiedError()
    error.error_msg = f"The actor died because of an error\n{reason}"
    return error


@pytest.fixture(autouse=True)
def on_stubs(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(actors, "node_of", lambda each: NodeOf(each.node, each.node, True))
    monkeypatch.setattr(actors, "without_place", list)
    monkeypatch.setattr(actors, "holders", lambda: "free are CPU=0 of 2")
    monkeypatch.setattr(actors, "LOOK_S", 0.0)
    with stubbed_ray():
        yield


def done(fleet: Fleet, size: PoolSize | None = None, **settings: int) -> int:
    pool = ActorPool(fleet.kind(), size or pool_of(4), PoolConfig.model_validate(settings))
    seen = list(pool.run(ITEMS))
    assert sorted(each.key for each in seen) == sorted(item.key for item in ITEMS)
    return sum(isinstance(each, Done) for each in seen)


def test_a_bad_node_is_named_and_left_out_and_all_is_done(capsys):
    fleet = Fleet(bad="ModuleNotFoundError: No module named 'cluster'", good="")
    assert done(fleet) == 40
    told = capsys.readouterr().err
    assert told.count("left out, for no worker starts there: bad: ModuleNotFoundError: No ") == 1
    # Of the first four two were there; afterwards none but what was under way.
    assert fleet.starts.count("bad") <= 4


def test_only_if_no_node_starts_a_worker_the_job_ends_and_names_all():
    fleet = Fleet(one="no library", two="wrong processor")
    with pytest.raises(WorkerStartError, match=r"one: no library; two: wrong processor") as told:
        done(fleet, size=pool_of(2))
    assert str(told.value).startswith("workers do not start: ")


def test_a_worker_that_fails_once_is_started_again_on_its_node():
    fleet = Fleet(only="")
    start = fleet.start

    def fails_once(avoided: Collection[str]) -> Any:
        handle = start(avoided)
        return Handle(Reference(died("once")), "only") if len(fleet.starts) == 1 else handle

    fleet.start = fails_once
    assert done(fleet, size=pool_of(1)) == 40
    assert fleet.starts == ["only", "only"]


@pytest.mark.parametrize("tries", [1, 2])
def test_what_ends_with_its_worker_is_not_taken_for_another_death(tries):
    items = [Item("hang 1"), *ITEMS, Item("hang 2")]
    config = PoolConfig(limit_s=0.05, max_attempts=tries, max_in_flight=3)
    seen = {each.key: each for each in ActorPool(echoing(), pool_of(3), config).run(items)}
    assert len(seen) == 42
    failed = {key: str(each.error) for key, each in seen.items() if not isinstance(each, Done)}
    reason = f"took longer than its limit of 0.05 s ({tries} tries)"
    assert failed == {"hang 1": reason, "hang 2": reason}


def test_nodes_that_join_are_used(monkeypatch):
    fleet, totals = Fleet(first=""), {"CPU": 1.0}
    monkeypatch.setattr(resources, "cluster_totals", lambda *_: totals)
    outcomes = ActorPool(fleet.kind(), PoolSize(Reservation(1, 0, None)), PoolConfig()).run(ITEMS)
    for _ in range(4):
        next(outcomes)
    assert fleet.starts == ["first"]
    fleet.nodes["second"] = ""
    totals["CPU"] = 3.0
    assert len(list(outcomes)) == 36
    assert sorted(fleet.starts) == ["first", "second", "second"] or len(fleet.starts) == 3


def test_a_job_that_waits_for_a_place_says_who_has_it_and_once_a_minute(monkeypatch, capsys):
    monkeypatch.setattr(actors, "SAID_AFTER_S", 0.0)
    looks = 0

    def without_place(starting: list[Handle]) -> list[Handle]:
        nonlocal looks
        looks += 1
        ready.has_ended = looks > 3
        return starting

    ready = Reference(None, has_ended=False)
    monkeypatch.setattr(actors, "without_place", without_place)
    monkeypatch.setattr(actors, "SAID_EVERY_S", -1.0)
    kind = WorkerKind(lambda _: Handle(ready), echoing().ask)
    assert len(list(ActorPool(kind, pool_of(1), PoolConfig()).run(ITEMS))) == 40
    told = capsys.readouterr().err
    assert told.count("waiting for a place for 1 worker: free are CPU=0 of 2") == looks == 4


JOB = """
import os
import sys
import time
from pathlib import Path

from cluster.actors import ActorPool, Item, WorkerKind, starter
from cluster.config import ClusterConfig, PoolConfig
from cluster.resources import PoolSize, Reservation
from cluster.session import connect

failed = Path(sys.argv[1])

class Worker:
    def __init__(self):
        if "BAD_NODE" in os.environ:
            failed.touch()
            raise ImportError("this node has another library")

    def work(self, key):
        while not failed.exists():
            time.sleep(0.01)
        return key

with connect(ClusterConfig()):
    share = Reservation(1, 0, None)
    kind = WorkerKind(starter(Worker, share), lambda worker, key: worker.work.remote(key))
    pool = ActorPool(kind, PoolSize(share), PoolConfig(max_attempts=1))
    print(len([outcome.value for outcome in pool.run(Item(str(n)) for n in range(500))]))
"""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with running_nodes(1) as nodes:
        nodes.add(labels={"rack": "seven"}, variables={"BAD_NODE": "1"})
        yield nodes


@pytest.mark.ray
@pytest.mark.slow
def test_on_ray_a_bad_node_is_named_by_its_host_and_labels(nodes, tmp_path):
    script = tmp_path / "job.py"
    script.write_text(JOB)
    told = {**nodes.job_environment(), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, script, tmp_path / "failed"]
    run = subprocess.run(command, env=told, capture_output=True, text=True)
    assert run.stdout == "500\n", run.stderr
    assert "left out, for no worker starts there: " in run.stderr
    assert ") labelled rack=seven: ImportError: this node has another" in run.stderr
