"""The four methods over a real socket, against a real encoder and a real index."""

import time

import grpc
import numpy as np
import pytest
from asking import assert_alike
from google.rpc.code_pb2 import INVALID_ARGUMENT, NOT_FOUND, OK
from google.rpc.error_details_pb2 import BadRequest
from graphs import graph_of
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_index import KNOWN, known

from nar.answers.retrieve import Retriever
from nar.base.workspace import version
from nar.graphs.canonical import Adjacency, exact_fingerprint, topology_fingerprint
from nar.graphs.fingerprints import fingerprinted
from nar.graphs.normal_form import inference_fingerprint
from nar.graphs.ops import ATTRIBUTES, OPS
from nar.serve.retrieval import Retrieval
from nar.serve.service import methods_of
from nar.serve.telemetry import Telemetry
from nar.serve.workers import HEAVY
from nar.v1 import retrieval_pb2 as wire
from nar.wire.graphs import encode_graph
from nar.wire.records import decode_answer
from nar.wire.settings import ServerConfig

CYCLE = wire.Graph(
    operators=["add"], nodes=[0, 0], edge_index=wire.EdgeIndex(sources=[0, 1], targets=[1, 0])
)
SHUFFLED_PLAIN = "relu 1; batch_norm 2; conv 3; relu 4; batch_norm 5; conv 6; input"


def graph_query(name, **fields):
    return wire.Query(graph=encode_graph(known(name)), **fields)


def violation(status):
    (packed,) = status.details
    bad = BadRequest()
    assert packed.Unpack(bad)
    return bad.field_violations[0].field


def test_the_table_of_methods_is_that_of_the_contract(embedder, index):
    retrieval = Retrieval(
        embedder, index, novelty=None, config=ServerConfig(), telemetry=Telemetry()
    )
    methods = methods_of(retrieval)
    contract = wire.DESCRIPTOR.services_by_name["ArchitectureRetrievalService"].methods
    assert {name: (each.request.DESCRIPTOR, each.is_stream) for name, each in methods.items()} == {
        each.name: (each.input_type, each.client_streaming) for each in contract
    }
    assert methods.keys() > HEAVY


def test_a_served_answer_is_the_library_s(stub, embedder, index):
    retriever = Retriever(embedder, index)
    vector = np.linspace(-1, 1, embedder.dim, dtype=np.float32)
    targets = [known("timm:residual"), "timm:mixer", vector]
    queries = [
        graph_query("timm:residual", top_k=3),
        wire.Query(architecture="timm:mixer", top_k=3),
        wire.Query(vector=wire.Vector(values=vector), top_k=3),
    ]
    results = stub.Search(wire.SearchRequest(queries=queries)).results
    wanted = [retriever.search(target, top_k=3) for target in targets]
    assert_alike([decode_answer(result) for result in results], wanted)


def test_a_known_network_is_recognised_in_any_numbering(stub):
    query = wire.Query(graph=encode_graph(graph_of(SHUFFLED_PLAIN)))
    (result,) = stub.Search(wire.SearchRequest(queries=[query])).results
    assert [hit.architecture.name for hit in result.same_network] == ["timm:plain"]
    assert result.hits[0].architecture.name == "timm:plain"
    assert result.hits[0].score == pytest.approx(1, abs=1e-6)


def test_an_architecture_is_found_by_name_and_by_id_but_not_beside_itself(stub, index):
    key = index.get(["timm:plain"])["timm:plain"].id
    queries = [wire.Query(architecture="timm:plain"), wire.Query(architecture=key)]
    by_name, by_id = stub.Search(wire.SearchRequest(queries=queries)).results
    assert_alike([decode_answer(by_name)], [decode_answer(by_id)])
    assert "timm:plain" not in [hit.architecture.name for hit in by_name.hits]


def test_filters_and_top_k_belong_to_their_query(stub):
    cells = wire.Filter(sources=["darts"])
    queries = [graph_query("timm:plain", filter=cells), graph_query("timm:plain", top_k=2)]
    first, second = stub.Search(wire.SearchRequest(queries=queries)).results
    assert [hit.architecture.source for hit in first.hits] == ["darts"]
    assert len(second.hits) == 2


def test_bad_queries_leave_their_neighbours_alone(stub):
    queries = [
        graph_query("timm:plain"),
        wire.Query(graph=CYCLE),
        wire.Query(architecture="timm:nobody"),
        wire.Query(vector=wire.Vector(values=[np.nan] * 16)),
    ]
    results = stub.Search(wire.SearchRequest(queries=queries)).results
    codes = [result.status.code for result in results]
    assert codes == [OK, INVALID_ARGUMENT, NOT_FOUND, INVALID_ARGUMENT]
    assert violation(results[1].status) == "queries[1].graph.edge_index"
    assert violation(results[3].status) == "queries[3].vector.values[0]"
    alone = stub.Search(wire.SearchRequest(queries=queries[:1])).results
    assert_alike([decode_answer(results[0])], [decode_answer(alone[0])])


def test_a_batch_answers_as_one_by_one(stub):
    queries = [graph_query(name) for name in ("timm:plain", "darts:cell", "timm:mixer")]
    together = stub.Search(wire.SearchRequest(queries=queries)).results
    alone = [stub.Search(wire.SearchRequest(queries=[query])).results[0] for query in queries]
    assert_alike(list(map(decode_answer, together)), list(map(decode_answer, alone)))


@pytest.mark.parametrize(("count", "fits"), [(0, False), (3, True), (4, True), (5, False)])
def test_number_of_queries(stub, count, fits):
    request = wire.SearchRequest(queries=[wire.Query(architecture="timm:plain")] * count)
    if fits:
        assert len(stub.Search(request).results) == count
    else:
        with pytest.raises(grpc.RpcError, match=f"queries: wanted 1 to 4, came {count}") as caught:
            stub.Search(request)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(("nodes", "code"), [(7, OK), (8, OK), (9, INVALID_ARGUMENT)])
def test_number_of_nodes(stub, nodes, code):
    graph = wire.Graph(operators=["input"], nodes=[0] * nodes)
    (result,) = stub.Embed(wire.EmbedRequest(graphs=[graph])).results
    assert result.status.code == code


def test_stages_are_timed(stub):
    timings = stub.Search(wire.SearchRequest(queries=[graph_query("timm:plain")])).timings
    spent = {name: getattr(timings, name) for name in timings.DESCRIPTOR.fields_by_name}
    assert min(spent.values()) > 0
    by_name = wire.SearchRequest(queries=[wire.Query(architecture="timm:plain")])
    assert stub.Search(by_name).timings.encode_ns == 0


@pytest.mark.slow
def test_a_slow_fingerprint_is_no_search(stub, monkeypatch):
    def slow(*graphs):
        time.sleep(0.2)
        return fingerprinted(*graphs)

    monkeypatch.setattr("nar.serve.calls.fingerprinted", slow)
    began = time.perf_counter_ns()
    timings = stub.Search(wire.SearchRequest(queries=[graph_query("timm:plain")])).timings
    took = time.perf_counter_ns() - began
    assert timings.fingerprint_ns > 0.2e9
    # Were it part of the search as well, both would take longer than the call.
    assert timings.search_ns + timings.fingerprint_ns <= took


def test_embed(stub, embedder):
    graphs = [encode_graph(known("timm:plain")), CYCLE, encode_graph(known("darts:cell"))]
    first, bad, last = stub.Embed(wire.EmbedRequest(graphs=graphs)).results
    expected = embedder.embed([known("timm:plain"), known("darts:cell")])
    np.testing.assert_array_equal([first.vector.values, last.vector.values], expected)
    assert violation(bad.status) == "graphs[1].edge_index"
    assert first.topology == topology_fingerprint(known("timm:plain"))
    assert first.exact == exact_fingerprint(known("timm:plain"))
    assert first.inference == inference_fingerprint(known("timm:plain"))


@pytest.fixture
def hashed(monkeypatch):
    """What the codes of nodes were hashed from, a list for every time that they were."""
    runs, hash_nodes = [], Adjacency.codes

    def counted(wiring, initial):
        runs.append(sorted(initial))
        return hash_nodes(wiring, initial)

    monkeypatch.setattr(Adjacency, "codes", counted)
    return runs


def ask_embed(stub, graph):
    stub.Embed(wire.EmbedRequest(graphs=[graph]))


def ask_search(stub, graph):
    stub.Search(wire.SearchRequest(queries=[wire.Query(graph=graph)]))


@pytest.mark.parametrize("ask", [ask_embed, ask_search])
def test_the_codes_of_a_graph_are_hashed_once_a_query(stub, hashed, ask):
    ask(stub, encode_graph(graph_of(SHUFFLED_PLAIN)))
    # Operators with attributes, operators alone: none of them twice, and nothing here is tied.
    # Then the normal form, which has no batch norms.
    exact = 2 + 2 * len(ATTRIBUTES)
    assert [len(initial[0]) for initial in hashed] == [exact, 2, exact]
    assert [len(initial) for initial in hashed] == [7, 7, 5]


def test_get(stub, index):
    row = index.get(["timm:mixer"])["timm:mixer"]
    names = ["timm:mixer", row.id, "timm:nobody", ""]
    by_name, by_id, unknown, empty = stub.Get(wire.GetRequest(architectures=names)).results
    assert by_name.architecture == by_id.architecture
    assert (by_name.architecture.nodes, by_name.architecture.family) == (6, "mixer")
    assert by_name.architecture.topology == topology_fingerprint(known("timm:mixer"))
    assert unknown.status.code == NOT_FOUND
    assert violation(empty.status) == "architectures[3]"


def test_describe(stub, embedder):
    told = stub.Describe(wire.DescribeRequest())
    assert told.version == version()
    assert told.encoder == wire.Encoder(name="paper", fingerprint=embedder.fingerprint, dim=16)
    assert told.index_rows == len(KNOWN)
    assert (told.limits.max_items, told.limits.max_top_k, told.limits.max_nodes) == (4, 3, 8)
    assert (tuple(told.operators), tuple(told.attribute_names)) == (OPS, ATTRIBUTES)


@pytest.mark.parametrize("text", ["' or 1 == 1", "x' or id != '", "a\\", "\n", "{", "名"])
def test_no_text_changes_the_meaning_of_a_filter(stub, text):
    queries = [
        graph_query("timm:plain", filter=wire.Filter(families=[text])),
        wire.Query(architecture=text),
    ]
    by_filter, by_name = stub.Search(wire.SearchRequest(queries=queries)).results
    assert (by_filter.status.code, list(by_filter.hits)) == (OK, [])
    assert by_name.status.code == NOT_FOUND


@pytest.mark.slow
@settings(max_examples=200)
@given(received=st.binary(max_size=60), method=st.sampled_from(["Search", "Embed", "Get", "List"]))
def test_any_bytes_get_an_answer_or_a_refusal(raw_call, received, method):
    assert raw_call(method, received) in {OK, INVALID_ARGUMENT}


NODES = st.integers(0, 9)


@pytest.mark.slow
@settings(max_examples=150)
@given(
    graph=st.builds(
        wire.Graph,
        operators=st.lists(st.sampled_from(["input", "add", "conv", "unheard_of"]), max_size=4),
        nodes=st.lists(st.integers(0, 4), max_size=9),
        edge_index=st.builds(
            wire.EdgeIndex,
            sources=st.lists(NODES, max_size=9),
            targets=st.lists(NODES, max_size=9),
        ),
        parameters=st.integers(-1, 2**63 - 1),
    ),
    top_k=st.integers(0, 4),
)
def test_any_graph_gets_an_answer_or_a_named_fault(stub, graph, top_k):
    query = wire.Query(graph=graph, top_k=top_k)
    (result,) = stub.Search(wire.SearchRequest(queries=[query])).results
    if result.status.code == OK:
        assert result.hits
    else:
        assert result.status.code == INVALID_ARGUMENT
        assert violation(result.status).startswith("queries[0].")
