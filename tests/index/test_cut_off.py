"""Bulk loads that were cut off, or meet a store that is not ready: the next one makes it good."""

import pytest
from backends import ENCODER, on_both
from oracle import DIM, row
from pymilvus import MilvusClient, MilvusException

from nar.base.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import Collection
from nar.index.milvus import MilvusRefusedError, MilvusTimeoutError

NEW = [row(f"new {number}", 1, number) for number in range(5)]


@pytest.fixture
def index(config):
    with ArchitectureIndex(config) as index:
        yield index


def load(index, rows, **job):
    with index.build(ENCODER, DIM, **job) as build:
        build.upsert(rows)
        return build.publish()


@pytest.mark.slow
@on_both
def test_a_build_that_was_cut_off_before_its_index_was_made_is_begun_anew(index, monkeypatch):
    """Milvus makes a collection in two calls, and knows it after the first."""
    create = MilvusClient.create_index
    monkeypatch.setattr(MilvusClient, "create_index", refused)
    with pytest.raises(IndexUnavailableError, match="no room"):
        load(index, NEW, job="corpus3")
    monkeypatch.setattr(MilvusClient, "create_index", create)
    assert load(index, NEW, job="corpus3") == 5
    assert index.live.milvus.client.list_indexes(index.live.name) == ["embedding"]


def refused(*_, **__):
    raise MilvusException(message="no room")


@pytest.mark.slow
@on_both
@pytest.mark.parametrize("failure", [MilvusRefusedError, MilvusTimeoutError])
@pytest.mark.parametrize("step", ["load", "count"])
def test_a_store_that_is_not_ready_for_a_while_is_waited_for(
    index, config, monkeypatch, step, failure
):
    """For some 20 s a server that was begun again asks for the query node that it had before."""
    do, refusals = getattr(Collection, step), iter([1, 2])

    def refusing(collection, *what, **how):
        if next(refusals, None):
            raise failure("unrecoverable error")
        return do(collection, *what, **how)

    monkeypatch.setattr(Collection, step, refusing)
    monkeypatch.setattr("nar.index.finishing._LOOK_S", 0.0)
    if failure is MilvusRefusedError and config.uri.endswith(".db"):  # it has no node to wait for
        with pytest.raises(MilvusRefusedError, match="unrecoverable"):
            load(index, NEW, job="corpus4")
    else:
        assert load(index, NEW, job="corpus4") == 5
        assert next(refusals, None) is None
