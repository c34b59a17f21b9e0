"""Upsert and Delete over a real socket, into a real index."""

import grpc
import pytest
from asking import sample
from google.rpc.code_pb2 import INVALID_ARGUMENT, NOT_FOUND, OK
from google.rpc.error_details_pb2 import BadRequest
from graphs import graph_of
from hypothesis import given, settings
from hypothesis import strategies as st
from live_server import live_server
from tiny_index import KNOWN, known, tiny_index

from nar.graphs.canonical import canonical, exact_fingerprint
from nar.index.rows import TEXT_BYTES, architecture_id
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph

CYCLE = wire.Graph(
    operators=["add"], nodes=[0, 0], edge_index=wire.EdgeIndex(sources=[0, 1], targets=[1, 0])
)
MINE = graph_of("input; conv 0; gelu 1; conv 2; add 3 0")
LIMITS = {"max_queries": 4, "max_nodes": 8, "max_edges": 8, "max_call_nodes": 20}


def new(name="mine:block", graph=None, **labels):
    drawn = encode_graph(MINE) if graph is None else graph
    return wire.NewArchitecture(name=name, graph=drawn, **labels)


def upsert(stub, *items):
    return stub.Upsert(wire.UpsertRequest(architectures=items)).results


def delete(stub, *names):
    return stub.Delete(wire.DeleteRequest(architectures=names)).results


def get(stub, *names):
    return stub.Get(wire.GetRequest(architectures=names)).results


def violation(status):
    bad = BadRequest()
    assert status.details[0].Unpack(bad)
    return bad.field_violations[0].field


def digests(index):
    [page] = index.live.digest_pages()
    return page


@pytest.fixture(scope="module")
def written(tmp_path_factory, embedder):
    """An index that these tests write into; each of them leaves it as it was."""
    with tiny_index(tmp_path_factory.mktemp("written"), embedder) as index:
        yield index


@pytest.fixture(scope="module")
def live(embedder, written):
    with live_server(embedder, written, writable=True, **LIMITS) as server:
        yield server


@pytest.fixture(scope="module")
def stub(live):
    with grpc.insecure_channel(live.target) as channel:
        yield ArchitectureRetrievalServiceStub(channel)


@pytest.fixture(autouse=True)
def nothing_stays(written):
    before = digests(written)
    yield
    gone = sorted(digests(written).keys() - before)
    if gone:
        written.delete(gone)
    assert digests(written) == before


@pytest.mark.parametrize(
    "name",
    ["\x1b[31mred", "a\r\nb", "a\x00", "a\x9b2J", "a\u202eb", "a\u2066b", "a\u2028b", "\x7f"],
)
def test_what_would_steer_a_terminal_is_no_name_and_no_label(stub, name):
    for item in (new(name), new(family=name)):
        [answer] = upsert(stub, item)
        assert (answer.status.code, "control" in answer.status.message) == (INVALID_ARGUMENT, True)


def test_letters_of_every_language_are_names(stub):
    name = "mine:Zo\u00eb/\u7f51\u7edc \U0001f600"
    assert [each.status.code for each in upsert(stub, new(name))] == [OK]
    assert [each.status.code for each in delete(stub, name)] == [OK]


def test_what_is_written_is_found(stub, embedder, written):
    labels = {"source": "mine", "library": "mine 1", "family": "f", "block": "cnn", "task": "t"}
    labels["tier"] = "swept"
    (result,) = upsert(stub, new(**labels))
    assert result.status.code == OK
    told = result.architecture
    assert (told.id, told.name, told.nodes) == (architecture_id("mine:block"), "mine:block", 5)
    assert {name: getattr(told, name) for name in labels} == labels
    assert told.exact == exact_fingerprint(canonical(MINE))
    (looked_up,) = get(stub, "mine:block")
    assert looked_up.architecture == told
    query = wire.Query(graph=encode_graph(MINE), top_k=1)
    (answer,) = stub.Search(wire.SearchRequest(queries=[query])).results
    assert [hit.architecture.name for hit in answer.hits] == ["mine:block"]
    assert [hit.architecture.name for hit in answer.same_network] == ["mine:block"]
    row = written.get(["mine:block"])["mine:block"]
    assert row.embedding == pytest.approx(embedder.embed([canonical(MINE)])[0], abs=1e-6)


def test_a_tier_is_one_of_three_and_named_where_nothing_is_said(stub):
    untold, unknown = upsert(stub, new("mine:a"), new("mine:b", tier="famous"))
    assert untold.architecture.tier == "named"
    assert unknown.status.code == INVALID_ARGUMENT
    assert violation(unknown.status) == "architectures[1].tier"


def test_the_same_call_twice_gives_the_same_index(stub, written):
    items = [new("mine:a"), new("mine:b", encode_graph(known("timm:mixer")))]
    first = upsert(stub, *items)
    once = digests(written)
    assert upsert(stub, *items) == first
    assert digests(written) == once
    assert len(once) == len(KNOWN) + 2


def test_an_architecture_of_the_same_name_is_replaced(stub, written):
    upsert(stub, new(family="before"))
    (result,) = upsert(stub, new(graph=encode_graph(known("darts:cell")), family="after"))
    assert result.architecture.family == "after"
    (looked_up,) = get(stub, "mine:block")
    assert (looked_up.architecture.family, looked_up.architecture.nodes) == ("after", 6)
    assert written.count() == len(KNOWN) + 1


def test_items_at_fault_leave_their_neighbours_alone(stub):
    results = upsert(stub, new(graph=CYCLE), new("mine:good"), new(""), new("mine:x", wire.Graph()))
    codes = [result.status.code for result in results]
    assert codes == [INVALID_ARGUMENT, OK, INVALID_ARGUMENT, INVALID_ARGUMENT]
    assert [violation(results[position].status) for position in (0, 2, 3)] == [
        "architectures[0].graph.edge_index",
        "architectures[2].name",
        "architectures[3].graph.nodes",
    ]
    assert [each.status.code for each in get(stub, "mine:good", "mine:x")] == [OK, NOT_FOUND]


@pytest.mark.parametrize("first", [encode_graph(MINE), CYCLE])
def test_the_second_of_one_name_is_refused(stub, first):
    results = upsert(stub, new(graph=first), new("mine:other"), new(family="second"))
    assert results[1].status.code == OK
    assert violation(results[2].status) == "architectures[2].name"
    assert "architectures[0] has the same name" in str(results[2].status)
    (kept,) = get(stub, "mine:block")
    assert kept.architecture.family == ""


# A tier is one of three.
@pytest.mark.parametrize("column", [each for each in TEXT_BYTES if each != "tier"])
def test_texts_are_as_long_as_the_index_holds_them(stub, column):
    longest = "é" * (TEXT_BYTES[column] // 2)
    fits, too_long = (
        new(**{"name": "mine:block", column: text}) for text in (longest, longest + "é")
    )
    (good,) = upsert(stub, fits)
    assert getattr(good.architecture, column) == longest
    (bad,) = upsert(stub, too_long)
    assert violation(bad.status) == f"architectures[0].{column}"


@pytest.mark.parametrize("count", [0, 5])
def test_no_items_or_too_many_are_refused_together(stub, count):
    for call in (upsert, delete):
        items = [new(graph=CYCLE)] * count if call is upsert else ["timm:plain"] * count
        with pytest.raises(grpc.RpcError, match=f"wanted 1 to 4, came {count}") as caught:
            call(stub, *items)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_call_of_too_many_nodes_is_refused(stub):
    large = wire.Graph(operators=["input"], nodes=[0] * 8)
    with pytest.raises(grpc.RpcError, match="wanted at most 20 nodes in all graphs") as caught:
        upsert(stub, *(new(f"mine:{number}", large) for number in range(3)))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.slow
def test_delete(stub, live, written):
    upsert(stub, new("mine:a"), new("mine:b"))
    before = sample(live, "nar_rpc_items_total", method="Delete", code="NOT_FOUND")
    by_name, by_id, unknown, empty = delete(
        stub, "mine:a", architecture_id("mine:b"), "mine:nobody", ""
    )
    assert (by_name.status.code, by_name.architecture.name) == (OK, "mine:a")
    assert (by_id.status.code, by_id.architecture.name) == (OK, "mine:b")
    assert unknown.status.code == NOT_FOUND
    assert violation(empty.status) == "architectures[3]"
    assert written.count() == len(KNOWN)
    assert [each.status.code for each in delete(stub, "mine:a")] == [NOT_FOUND]
    assert sample(live, "nar_rpc_items_total", method="Delete", code="NOT_FOUND") == before + 2


@pytest.mark.slow
def test_one_architecture_named_twice_is_deleted_once(stub, written):
    upsert(stub, new())
    results = delete(stub, "mine:block", architecture_id("mine:block"), "mine:block")
    assert [each.status.code for each in results] == [OK] * 3
    assert written.count() == len(KNOWN)


TEXT = st.text(max_size=8)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    name=TEXT,
    labels=st.fixed_dictionaries(
        dict.fromkeys(("source", "library", "family", "block", "task"), TEXT)
    ),
    nodes=st.lists(st.integers(0, 2), max_size=3),
)
def test_any_item_is_written_as_it_came_or_refused(stub, name, labels, nodes):
    graph = wire.Graph(operators=["input", "conv"], nodes=nodes)
    (result,) = upsert(stub, new(name, graph, **labels))
    if result.status.code == OK:
        assert {key: getattr(result.architecture, key) for key in labels} == labels
        (looked_up,) = get(stub, name)
        assert looked_up.architecture == result.architecture
    else:
        assert result.status.code == INVALID_ARGUMENT
        assert violation(result.status).startswith("architectures[0].")
