"""Explain over a real socket, with the graphs of a real corpus."""

import grpc
import pytest
from corpora import corpus, item
from google.rpc.code_pb2 import INVALID_ARGUMENT, NOT_FOUND, OK
from google.rpc.error_details_pb2 import BadRequest
from graphs import graph_of
from hypothesis import given, settings
from hypothesis import strategies as st
from live_server import live_server
from tiny_index import KNOWN, known

from nar.answers.difference import Cut, motif_difference
from nar.base.errors import InvalidQueryError, UnknownArchitectureError
from nar.corpus import CorpusGraphs
from nar.graphs.fingerprints import fingerprinted
from nar.motifs.partition import MotifPartition
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph
from nar.wire.records import decode_explanation

# The corpus lacks one indexed model, and has another version of a second model.
ABSENT, OLD = "darts:cell", "timm:mixer"
AT_HAND = [name for name in KNOWN if name not in (ABSENT, OLD)]
LIMITS = {"max_queries": 6, "max_nodes": 8, "max_call_nodes": 21}


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    items = [item(name, known(name)) for name in AT_HAND]
    items.append(item(OLD, graph_of("input; linear 0; gelu 1")))
    return CorpusGraphs(corpus(tmp_path_factory.mktemp("motif_difference"), items))


@pytest.fixture(scope="module")
def live(embedder, index, graphs):
    with live_server(embedder, index, graphs=graphs, **LIMITS) as server:
        yield server


@pytest.fixture(scope="module")
def stub(live):
    with grpc.insecure_channel(live.target) as channel:
        yield ArchitectureRetrievalServiceStub(channel)


def explain(stub, *others, **target):
    return stub.Explain(wire.ExplainRequest(others=others, **target)).results


def refused(stub, *others, **target):
    """Code and words of a call that fails as a whole."""
    with pytest.raises(grpc.RpcError) as caught:
        explain(stub, *others, **target)
    return caught.value.code().name, caught.value.details()


def violation(status):
    bad = BadRequest()
    assert status.details[0].Unpack(bad)
    return bad.field_violations[0].field


def drawn(name):
    return fingerprinted(known(name))


@pytest.mark.slow
@pytest.mark.parametrize("by_name", [True, False])
def test_an_explanation_is_the_library_s(stub, by_name):
    name = "timm:residual"
    target = {"architecture": name} if by_name else {"graph": encode_graph(known(name))}
    results = explain(stub, *AT_HAND, **target)
    for other, result in zip(AT_HAND, results, strict=True):
        wanted = motif_difference(Cut(drawn(name)), Cut(drawn(other)))
        assert decode_explanation(result) == wanted
        assert (result.target_share, result.other_share) == wanted.in_shared
        assert (result.status.code, result.architecture.name) == (OK, other)


@pytest.mark.slow
def test_normal_forms_are_compared_where_only_these_are_equal(stub):
    folded = graph_of("input; conv 0; relu 1; conv 2; relu 3")
    (result,) = explain(stub, "timm:plain", graph=encode_graph(folded))
    assert result.at_inference
    assert (result.target_share, result.other_share, list(result.different)) == (1, 1, [])


@pytest.mark.slow
def test_items_that_cannot_be_compared_leave_their_neighbours_alone(stub):
    others = ["timm:plain", "timm:nobody", ABSENT, OLD, ""]
    results = explain(stub, *others, architecture="timm:residual")
    codes = [result.status.code for result in results]
    assert codes == [OK, NOT_FOUND, NOT_FOUND, NOT_FOUND, INVALID_ARGUMENT]
    assert "no architecture of the name" in results[1].status.message
    for result in results[2:4]:
        assert "the corpus that this server reads" in result.status.message
    assert violation(results[4].status) == "others[4]"


def test_one_that_is_asked_for_twice_is_cut_once(stub, index, monkeypatch):
    cut, counts = [], MotifPartition.counts
    monkeypatch.setattr(MotifPartition, "counts", lambda self: cut.append(self) or counts(self))
    twice = ["timm:plain", index.get(["timm:plain"])["timm:plain"].id]
    first, second = explain(stub, *twice, architecture="timm:residual")
    assert first == second
    assert len(cut) == 2


def test_a_target_at_fault_is_a_fault_of_the_call(stub):
    assert refused(stub, "timm:plain") == (
        "INVALID_ARGUMENT",
        "target: wanted a graph or an architecture, came none",
    )
    code, words = refused(stub, "timm:plain", graph=wire.Graph())
    assert (code, words.partition(":")[0]) == ("INVALID_ARGUMENT", "graph.nodes")
    assert refused(stub, "timm:plain", architecture="")[0] == "INVALID_ARGUMENT"
    for name in ("timm:nobody", ABSENT):
        assert refused(stub, "timm:plain", architecture=name)[0] == "NOT_FOUND"


def test_a_call_is_bounded(stub):
    for count in (0, 7):
        code, words = refused(stub, *["timm:plain"] * count, architecture="timm:plain")
        assert (code, words) == ("INVALID_ARGUMENT", f"others: wanted 1 to 6, came {count}")
    code, words = refused(stub, *AT_HAND, OLD, architecture="timm:plain")
    assert code == "INVALID_ARGUMENT"
    assert "wanted at most 21 nodes in all graphs together, they have" in words


@pytest.mark.slow
def test_a_graph_that_is_too_large_to_be_sent_is_too_large_to_be_read(embedder, index, graphs):
    with (
        live_server(embedder, index, graphs=graphs, max_nodes=7) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        small = ArchitectureRetrievalServiceStub(channel)
        fits, large = explain(small, "timm:plain", "timm:residual", architecture="timm:plain")
        assert (fits.status.code, violation(large.status)) == (OK, "others[1]")
        assert refused(small, "timm:plain", architecture="timm:residual") == (
            "INVALID_ARGUMENT",
            "architecture: wanted at most 7 nodes, it has 8",
        )


def test_without_a_corpus_nothing_is_explained(server):
    with grpc.insecure_channel(server.target) as channel:
        bare = ArchitectureRetrievalServiceStub(channel)
        (result,) = explain(bare, "timm:plain", graph=encode_graph(known("timm:plain")))
    assert result.status.code == NOT_FOUND


@pytest.mark.slow
def test_a_damaged_corpus_is_a_fault_of_the_server(embedder, index, tmp_path):
    directory = corpus(tmp_path / "c", [item(name, known(name)) for name in AT_HAND])
    graphs = CorpusGraphs(directory)
    (directory / "shard-0.parquet").write_bytes(b"damaged")
    with (
        live_server(embedder, index, graphs=graphs) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        code, words = refused(stub, "timm:plain", architecture="timm:plain")
    assert code == "INTERNAL"
    assert str(tmp_path) not in words


@pytest.mark.slow
def test_stages_are_timed(stub):
    request = wire.ExplainRequest(others=["timm:plain"], graph=encode_graph(known("timm:residual")))
    timings = stub.Explain(request).timings
    assert min(timings.parse_ns, timings.fingerprint_ns, timings.motifs_ns) > 0


@pytest.mark.slow
def test_the_client_explains_any_number(live, open_client):
    with open_client(live.target) as client:
        others = [*AT_HAND, "timm:nobody", *AT_HAND, ABSENT]
        told = client.explain(known("timm:residual"), others)
        assert [type(each) for each in (told[3], told[7])] == [UnknownArchitectureError] * 2
        wanted = motif_difference(Cut(drawn("timm:residual")), Cut(drawn("timm:plain")))
        assert told[0] == told[4] == wanted
        by_name = client.explain("timm:residual", others)
        assert by_name[:3] == told[:3]
        with pytest.raises(InvalidQueryError, match="graph"):
            client.explain(graph_of("add 1; add 0"), others)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    target=st.sampled_from(["", *KNOWN, "x"]) | st.text(max_size=5),
    others=st.lists(st.sampled_from([*KNOWN, "x", ""]) | st.text(max_size=5), max_size=8),
)
def test_any_names_get_an_answer_or_a_refusal(stub, target, others):
    request = wire.ExplainRequest(architecture=target, others=others)
    call = stub.Explain.future(request)
    assert call.code().name in {"OK", "INVALID_ARGUMENT", "NOT_FOUND"}
    if call.code() is grpc.StatusCode.OK:
        results = call.result().results
        assert len(results) == len(others)
        assert {result.status.code for result in results} <= {OK, NOT_FOUND, INVALID_ARGUMENT}
