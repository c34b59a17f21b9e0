"""List and what Describe says of the index, over a real socket."""

import base64

import grpc
import pytest
from asking import detail
from google.rpc.error_details_pb2 import BadRequest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_server import live_server
from tiny_index import KNOWN

from nar.base.errors import InvalidQueryError
from nar.index.exact import ExactIndex
from nar.index.filters import EVERYTHING, Filter, Range
from nar.index.reader import Reader
from nar.index.settings import IndexConfig
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.queries import MAX_UINT32

TIMM = Filter(sources=("timm",))
MIXER_OR_CELL = Filter(any_of=(Filter(families=("mixer",)), Filter(sources=("darts",))))


@pytest.fixture(scope="module")
def server(embedder, index):
    with live_server(embedder, index, max_page_size=3) as server:
        yield server


@pytest.fixture(scope="module")
def client(server, open_client):
    with open_client(server.target) as client:
        yield client


@pytest.fixture(scope="module")
def stub(server):
    with grpc.insecure_channel(server.target) as channel:
        yield ArchitectureRetrievalServiceStub(channel)


@pytest.fixture(scope="module")
def ask(stub):
    return stub.List


def refused(ask, **fields):
    """The field at fault, and why."""
    with pytest.raises(grpc.RpcError) as caught:
        ask(wire.ListRequest(**fields))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    [violation] = detail(caught.value, BadRequest).field_violations
    return violation.field, violation.description


@pytest.mark.parametrize("size", [None, 1, 2, 3])
@pytest.mark.parametrize("wanted", [EVERYTHING, TIMM, MIXER_OR_CELL, Filter(nodes=Range(99))])
def test_the_client_lists_what_passes_by_id(client, index, wanted, size):
    listed = list(client.list(wanted=wanted, page_size=size))
    entries = index.page("", 99, wanted)
    rows = index.get([entry.id for entry in entries])
    assert listed == [rows[entry.id].hit(1.0) for entry in entries]


def test_pages_are_asked_for_while_they_are_read(client):
    listing = client.list(page_size=2)
    assert next(listing).name in KNOWN
    assert len(list(listing)) == len(KNOWN) - 1


def test_the_last_page_has_no_token(ask):
    first = ask(wire.ListRequest())
    assert (len(first.architectures), bool(first.next_page_token)) == (3, True)
    last = ask(wire.ListRequest(page_size=2, page_token=first.next_page_token))
    assert (len(last.architectures), last.next_page_token) == (2, "")


def test_a_token_belongs_to_its_filter(ask):
    token = ask(wire.ListRequest(page_size=1)).next_page_token
    field, reason = refused(ask, page_token=token, filter={"sources": ["timm"]})
    assert (field, "of the same filter" in reason) == ("page_token", True)
    # A filter that is there, but with nothing set, is none.
    assert ask(wire.ListRequest(page_token=token, filter=wire.Filter())).architectures


@pytest.mark.parametrize(
    "token", ["x", "x" * 42, "x" * 44, "x" * 100_000, "é" * 43, "=" * 43, "' or id != '" * 4]
)
def test_what_is_no_token_is_refused(ask, token):
    field, reason = refused(ask, page_token=token)
    assert field == "page_token"
    assert reason.startswith("wanted a ")
    assert len(reason) < 100


@pytest.mark.slow
@settings(max_examples=60)
@given(last=st.binary(min_size=16, max_size=16))
def test_a_forged_token_of_the_right_filter_begins_elsewhere_and_that_is_all(ask, index, last):
    honest = ask(wire.ListRequest(page_size=1)).next_page_token
    digest = base64.urlsafe_b64decode(f"{honest}=")[:16]
    forged = base64.urlsafe_b64encode(digest + last).decode().rstrip("=")
    shown = ask(wire.ListRequest(page_token=forged)).architectures
    assert [each.id for each in shown] == [entry.id for entry in index.page(last.hex(), 3)]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"page_size": 4}, "page_size"),
        ({"page_size": MAX_UINT32}, "page_size"),
        (
            {"filter": {"any_of": [{}, {"nodes": {"minimum": -1}}]}},
            "filter.any_of[1].nodes.minimum",
        ),
        ({"filter": {"all_of": [{}] * 64}}, "filter.all_of"),
    ],
)
def test_what_is_no_page_is_refused_by_its_path(ask, fields, field):
    assert refused(ask, **fields)[0] == field


@pytest.mark.slow
def test_a_query_names_the_filter_at_fault_by_its_path(stub):
    bad = wire.Query(architecture="x", filter={"any_of": [{}, {"nodes": {"minimum": -1}}]})
    good = wire.Query(architecture="timm:plain", filter={"none_of": [{"sources": ["timm"]}]})
    results = stub.Search(wire.SearchRequest(queries=[good, bad])).results
    assert {hit.architecture.source for hit in results[0].hits} == {"darts", "transformers"}
    assert "queries[1].filter.any_of[1].nodes.minimum" in results[1].status.message


@pytest.mark.parametrize("size", [0, -1, 4, 2**32])
def test_a_size_out_of_range_is_refused(client, size):
    with pytest.raises(InvalidQueryError, match=f"page_size: wanted 1 to .*, came {size}"):
        list(client.list(page_size=size))


def test_describe_tells_limits_of_filters_and_pages(client):
    limits = client.describe().limits
    assert (limits.max_page_size, limits.max_filters) == (3, 64)
    assert (limits.max_filter_values, limits.max_text_bytes) == (10_000, 4_096)


def test_describe_tells_of_a_collection(client, index):
    state = client.describe().index
    assert (state.collection, state.is_in_memory) == (index.live.name, False)
    assert (state.is_writable, state.visible_within_s) == (False, 0)


@pytest.mark.slow
def test_describe_tells_whether_writes_are_taken(embedder, index, open_client):
    with (
        live_server(embedder, index, writable=True) as server,
        open_client(server.target) as client,
    ):
        assert client.describe().index.is_writable


@pytest.mark.slow
def test_describe_tells_of_rows_in_memory(embedder, index, open_client):
    config = IndexConfig(follow_s=0.5)
    rows = ExactIndex(list(index.get(list(KNOWN)).values()), dim=embedder.dim)

    def open_late(ending):
        ending.wait()
        raise InvalidQueryError("", "closed before it was opened")

    with (
        Reader(open_late, config, rows) as reader,
        live_server(embedder, reader) as server,
        open_client(server.target) as client,
    ):
        state = client.describe().index
        assert (state.collection, state.is_in_memory, state.is_writable) == ("", True, False)
        assert state.visible_within_s == 0.5
        assert len(list(client.list(page_size=2))) == len(KNOWN)
