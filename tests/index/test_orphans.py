"""Collections that nobody leads to: found, told from running builds, and dropped."""

import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from backends import ENCODER, on_both
from oracle import DIM, row

from nar.index import publishing
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import find_collection
from nar.index.milvus import Milvus
from nar.index.publishing import SUPERSEDED, WRITTEN, drop_orphans, mark, orphans

DAY_S = 86_400.0
ROWS = [row(f"row {number}", 1, number) for number in range(4)]


# A publisher that is killed at the moment that its last argument names.
PUBLISHER = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from oracle import DIM, row
from nar.config import IndexConfig
from nar.index import publishing
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import Collection

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

config = IndexConfig.model_validate_json(sys.argv[2])
job = sys.argv[3] or None
with ArchitectureIndex(config) as index, index.build("e" * 64, DIM, job=job) as build:
    build.upsert([row(f"killed {number}", 1, number) for number in range(5)])
    if sys.argv[4] == "before the switch":
        die()
    Collection.drop = die
    build.publish()
"""


def publish(index):
    with index.build(ENCODER, DIM) as build:
        build.upsert(ROWS)
        build.publish()


def killed_publisher(config, job, moment):
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PUBLISHER, tests, config.model_dump_json(), job, moment]
    )
    assert done.returncode == -9


def left(config):
    """What no alias leads to, by name; a server has that of other tests, too."""
    with closing(Milvus(config)) as milvus:
        return left_in(milvus)


def left_in(milvus):
    return {each.collection.name: each for each in orphans(milvus)}


@pytest.mark.slow
@on_both
def test_what_was_published_before_a_kill_is_dropped_by_the_next_publisher(config):
    """The publisher had switched, and died before it dropped the collection before."""
    with ArchitectureIndex(config) as index:
        publish(index)
        before = index.live.name
    killed_publisher(config, "", "after the switch")
    assert left(config)[before].is_dead
    with ArchitectureIndex(config) as index:
        assert index.count() == 5
        publish(index)
        assert index.count() == 4
        assert before not in index.live.milvus.client.list_collections()
    assert before not in left(config)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["lite"], indirect=True)
def test_an_unfinished_build_without_a_name_is_dropped_where_one_process_owns_all(config):
    killed_publisher(config, "", "before the switch")
    ((name, orphan),) = left(config).items()
    assert orphan.is_dead
    with ArchitectureIndex(config) as index:
        publish(index)
        assert index.live.milvus.client.list_collections() == [index.live.name]
    assert name not in left(config)


@pytest.mark.slow
@on_both
def test_a_build_that_may_go_on_is_kept_until_it_was_idle_for_long(config):
    killed_publisher(config, "later", "before the switch")
    (name,) = [name for name in left(config) if name.endswith("_later")]
    with ArchitectureIndex(config) as index:
        publish(index)
    orphan = left(config)[name]
    assert (orphan.job, orphan.is_dead) == ("later", False)
    assert 0 <= orphan.idle_s < 600
    with closing(Milvus(config)) as milvus:
        live = find_collection(milvus, config.alias)
        assert live.name not in left_in(milvus)
        drop_orphans(milvus, idle_s=DAY_S)
        assert name in left_in(milvus)
        mark(left_in(milvus)[name].collection, {WRITTEN: "1"})
        dropped = drop_orphans(milvus, idle_s=DAY_S)
        assert [each.collection.name for each in dropped] == [name]
        assert name not in left_in(milvus)
    with ArchitectureIndex(config) as index:
        assert index.count() == 4


@pytest.mark.slow
@on_both
def test_a_running_build_is_never_dropped(config):
    with (
        ArchitectureIndex(config) as index,
        publisher_beside(config, index) as publisher,
        index.build(ENCODER, DIM) as running,
        index.build(ENCODER, DIM, job="run") as named,
    ):
        running.upsert(ROWS[:2])
        named.upsert(ROWS[:2])
        publish(publisher)
        drop_orphans(publisher.live.milvus, idle_s=DAY_S)
        running.upsert(ROWS[2:])
        assert running.publish() == 4
        assert named.publish() == 2


def publisher_beside(config, index):
    """Another publisher of the same alias; of a directory the owner is the only one."""
    return nullcontext(index) if config.uri.endswith(".db") else ArchitectureIndex(config)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["lite"], indirect=True)
def test_collections_of_others_are_not_listed(config):
    with closing(Milvus(config)) as milvus:
        milvus.client.create_collection("theirs", dimension=4)
        assert orphans(milvus) == []
        assert drop_orphans(milvus, idle_s=0) == []
        assert milvus.client.list_collections() == ["theirs"]


@pytest.mark.slow
@pytest.mark.parametrize("config", ["lite"], indirect=True)
def test_what_is_published_stays_though_a_publisher_died_on_its_way(config):
    """It had marked the collection before, and died before it switched."""
    with ArchitectureIndex(config) as index:
        publish(index)
        mark(index.live, {SUPERSEDED: "arch_never"})
        assert drop_orphans(index.live.milvus, idle_s=0) == []
        assert index.count() == 4


@pytest.mark.slow
@pytest.mark.parametrize("config", ["lite"], indirect=True)
def test_what_was_replaced_and_is_filled_again_is_kept(config):
    with ArchitectureIndex(config) as index:
        with index.build(ENCODER, DIM, job="again") as build:
            mark(build.staging, {SUPERSEDED: "arch_other"})
        assert left_in(build.staging.milvus)[build.staging.name].is_dead
        with index.build(ENCODER, DIM, job="again") as build:
            publish(index)
            assert drop_orphans(build.staging.milvus, idle_s=DAY_S) == []
            assert build.publish() == 0


@pytest.mark.slow
def test_an_alias_that_another_index_drops_meanwhile_leads_nowhere(config, monkeypatch):
    with ArchitectureIndex(config) as index:
        publish(index)
        there = publishing.named_aliases(index.live.milvus)
        listings = [[*there, "gone"], there]
        monkeypatch.setattr(publishing, "named_aliases", lambda _: listings.pop(0))
        assert left_in(index.live.milvus) == {}
        assert listings == []
