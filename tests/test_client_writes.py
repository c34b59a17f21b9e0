"""The client's upsert and delete, over a real socket."""

import pytest
from corpora import item
from graphs import graph_of
from live_server import live_server
from tiny_index import KNOWN, known, tiny_embedder, tiny_index

from nar.base.errors import InvalidQueryError, UnknownArchitectureError
from nar.client.remote import ServiceError

MINE = graph_of("input; conv 0; gelu 1; conv 2; add 3 0")


@pytest.fixture
def index(tmp_path):
    with tiny_index(tmp_path, tiny_embedder()) as index:
        yield index


@pytest.fixture
def client(index, open_client):
    with (
        live_server(tiny_embedder(), index, writable=True, max_queries=2) as server,
        open_client(server.target) as client,
    ):
        yield client


@pytest.mark.slow
def test_what_is_written_is_found_and_deleted(client, index):
    items = [item(f"mine:{number}", MINE, family="own") for number in range(5)]
    written = client.upsert(items)
    assert [each.name for each in written] == [each.labels.name for each in items]
    assert {(each.family, each.block, each.exact) for each in written} == {
        ("own", "cnn", items[0].exact)
    }
    found = client.search(MINE).same_network
    assert [hit.name for hit in found] == [each.name for each in written]
    before = list(index.live.digest_pages())
    assert client.upsert(items) == written
    assert list(index.live.digest_pages()) == before
    gone = client.delete([*(each.labels.name for each in items), "mine:nobody"])
    assert gone[:5] == written
    assert isinstance(gone[5], UnknownArchitectureError)
    assert index.count() == len(KNOWN)


@pytest.mark.slow
def test_items_at_fault_know_their_position(client):
    items = [item(f"mine:{number}", known("timm:plain")) for number in range(4)]
    outcomes = client.upsert([*items, item("mine:long", MINE, task="t" * 300)])
    assert isinstance(outcomes[4], InvalidQueryError)
    assert outcomes[4].field == "architectures[4].task"
    assert client.upsert([]) == client.delete([]) == []


@pytest.mark.slow
def test_a_server_that_takes_no_writes(index, open_client):
    with live_server(tiny_embedder(), index) as server, open_client(server.target) as client:
        for write in (lambda: client.upsert([item("mine:a", MINE)]), lambda: client.delete(["x"])):
            with pytest.raises(ServiceError, match="takes no") as caught:
                write()
            assert caught.value.code == "PERMISSION_DENIED"
