"""Two workspaces that would bring one index of one server to their corpora: one at a time."""

import time

import pytest
from backends import ENCODER
from oracle import DIM, row

from nar.base.errors import IndexInUseError
from nar.index import publishing
from nar.index.architecture_index import ArchitectureIndex
from nar.index.publishing import HELD, WRITTEN, Holder, mark

pytestmark = [
    pytest.mark.milvus_server,
    pytest.mark.parametrize("config", ["server"], indirect=True),
]
ONE, OTHER = Holder("a" * 16, "process 1 on one"), Holder("b" * 16, "process 2 on other")


@pytest.fixture
def indexes(config):
    """Two connections to one server."""
    with ArchitectureIndex(config) as one, ArchitectureIndex(config) as other:
        yield one, other


def refused(index, holder=OTHER) -> str:
    with pytest.raises(IndexInUseError) as told, index.leased(holder):
        pass
    return str(told.value)


def age(collection, seconds: float) -> None:
    """Let a collection look as if nobody had shown life for so long."""
    then = f"{time.time() - seconds:.0f}"
    mark(collection, {HELD: then, WRITTEN: then})


def test_a_second_workspace_is_refused_and_told_who_is_at_it(indexes, config):
    one, other = indexes
    with one.leased(ONE) as lease, one.build(ENCODER, DIM, job="one") as build:
        lease.take(build.staging)
        told = refused(other)
        assert f"process 1 on one writes the index {config.alias!r}" in told
        assert "its lease ends in" in told
        build.upsert([row("a", 1, 1)])
        build.publish()
    # Whoever writes into the published collection holds it, too.
    with one.leased(ONE) as lease:
        lease.take(one.live)
        assert "process 1 on one" in refused(other)
    with other.leased(OTHER):
        pass


def test_a_dead_holder_is_followed_at_once_by_its_workspace_and_later_by_others(indexes):
    one, other = indexes
    lease = publishing.Lease(one._milvus, one._config.alias, ONE)
    with one.build(ENCODER, DIM, job="dead") as build:
        lease.take(build.staging)
    assert "process 1 on one" in refused(other)
    with other.leased(Holder(ONE.workspace, "process 3 on one")):
        pass
    age(build.staging, publishing.LEASE_S + 1)
    with other.leased(OTHER):
        pass
    build.staging.drop()


def test_who_gets_on_shows_life(indexes, monkeypatch):
    one, other = indexes
    monkeypatch.setattr(publishing, "_SHOWN_EVERY_S", 0.0)
    with one.leased(ONE) as lease, one.build(ENCODER, DIM, job="alive") as build:
        lease.take(build.staging)
        age(build.staging, publishing.LEASE_S + 1)
        lease.keep()
        assert "process 1 on one" in refused(other)
    build.staging.drop()
