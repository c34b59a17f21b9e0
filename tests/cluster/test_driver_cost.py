"""What a part costs the driver: as much for 256 workers and 50,000 shards as for few.

Lines that run are counted instead of seconds, which would tell more of the machine.
"""

import sys
from collections.abc import Iterator
from itertools import islice, pairwise
from types import FrameType
from typing import Any

import pytest
from stub_ray import echoing, pool_of, stubbed_ray

from cluster import actors
from cluster.actors import ActorPool, Done, Item
from cluster.config import PoolConfig

PARTS = 4
COUNTED = 4_000


def items(shards: int) -> Iterator[Item]:
    return (Item(f"{shard}#{part}", f"{shard}") for shard in range(shards) for part in range(PARTS))


def lines_a_part(workers: int, shards: int, *, is_streamed: bool) -> float:
    """Lines of the pool that run for each part, once all workers work."""
    ran = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal ran
        ran += event == "line"
        return trace if frame.f_code.co_filename == actors.__file__ else None

    before = sys.gettrace()
    pool = ActorPool(echoing(), pool_of(workers), PoolConfig(max_in_flight=2))
    with stubbed_ray():
        outcomes = pool.run(items(shards), is_streamed=is_streamed)
        assert len(list(islice(outcomes, 2 * workers))) == 2 * workers
        sys.settrace(trace)
        try:
            assert len(list(islice(outcomes, COUNTED))) == COUNTED
        finally:
            sys.settrace(before)
            outcomes.close()
    return ran / COUNTED


@pytest.mark.parametrize("is_streamed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_part_costs_the_same_for_any_number_of_workers_and_shards(is_streamed):
    few = lines_a_part(2, 2_000, is_streamed=is_streamed)
    assert lines_a_part(256, 2_000, is_streamed=is_streamed) < 1.5 * few
    assert lines_a_part(256, 50_000, is_streamed=is_streamed) < 1.5 * few
    assert few < 150


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("workers", [1, 3, 64])
def test_every_part_is_done_once(workers, is_streamed):
    with stubbed_ray():
        pool = ActorPool(echoing(), pool_of(workers), PoolConfig(max_in_flight=3))
        seen = list(pool.run(items(40), is_streamed=is_streamed))
    assert sorted(outcome.key for outcome in seen) == sorted(item.key for item in items(40))
    assert all(isinstance(outcome, Done) for outcome in seen)


def test_no_more_parts_are_read_than_workers_need():
    read = []

    def noted() -> Iterator[Item]:
        for item in items(50_000):
            read.append(item)
            yield item

    with stubbed_ray():
        outcomes = ActorPool(echoing(), pool_of(16), PoolConfig()).run(noted(), is_streamed=True)
        assert len(list(islice(outcomes, 1_000))) == 1_000
        outcomes.close()
    assert len(read) < 1_000 + 16 * 3 * PARTS


def test_a_worker_stays_in_its_shard_while_others_are_free():
    asked: dict[int, list[str]] = {}
    echo = echoing()

    def start(_: object) -> Any:
        handle = echo.start(())
        asked[id(handle)] = []
        handles.append(handle)
        return handle

    def ask(handle: Any, key: str) -> Any:
        asked[id(handle)].append(key.partition("#")[0])
        return echo.ask(handle, key)

    handles: list[Any] = []
    with stubbed_ray():
        pool = ActorPool(actors.WorkerKind(start, ask), pool_of(4), PoolConfig())
        assert len(list(pool.run(items(40)))) == 40 * PARTS
    changes = sum(one != other for shards in asked.values() for one, other in pairwise(shards))
    # 40 shards and 4 workers; near the end workers share.
    assert changes <= 40 + 4 * 3
