from concurrent import futures

import numpy as np
import pytest
from asking import assert_alike, sample
from gated import Delegating, Gate, fail
from graphs import graph_of
from live_server import live_server
from tiny_index import KNOWN, known, tiny_embedder, tiny_index
from waiting import wait_for

from nar.answers.novelty import Novelty
from nar.answers.retrieve import Retriever
from nar.base.errors import IndexUnavailableError, InvalidQueryError, UnknownArchitectureError
from nar.client.remote import ServiceError
from nar.graphs.canonical import canonical
from nar.index.filters import Filter, Range

CYCLE = graph_of("add 1; add 0")


@pytest.fixture(scope="module")
def embedder():
    return tiny_embedder()


@pytest.fixture(scope="module")
def index(tmp_path_factory, embedder):
    with tiny_index(tmp_path_factory.mktemp("index"), embedder) as index:
        yield index


@pytest.fixture(scope="module")
def client(embedder, index, open_client):
    with (
        live_server(embedder, index, max_queries=3) as server,
        open_client(server.target) as client,
    ):
        yield client


@pytest.mark.slow
def test_describe(client, embedder):
    told = client.describe()
    assert (told.encoder, told.fingerprint, told.dim) == ("paper", embedder.fingerprint, 16)
    assert (told.index_rows, told.limits.max_items) == (len(KNOWN), 3)
    assert told.operators[0] == "input"
    assert told.attribute_names[0] == "kernel"


@pytest.mark.slow
def test_search_gives_the_library_s_records(client, embedder, index):
    retriever = Retriever(embedder, index)
    wanted = Filter(sources=("timm",), nodes=Range(minimum=7))
    vector = np.arange(16, dtype=np.float32)
    for target in (known("timm:plain"), "timm:plain", vector):
        expected = retriever.search(target, top_k=2, wanted=wanted)
        assert_alike([client.search(target, top_k=2, wanted=wanted)], [expected])


@pytest.mark.slow
def test_a_server_that_knows_its_distances_says_how_new_a_design_is(
    client, embedder, index, open_client
):
    novelty = Novelty(np.array([0.0, 0.1, 0.2, 2.0], dtype=np.float32))
    new = canonical(graph_of("input; gelu 0; conv 1; gelu 2"))
    with (
        live_server(embedder, index, novelty=novelty) as server,
        open_client(server.target) as measured,
    ):
        assert measured.search(known("timm:plain")).novelty == 0
        expected = Retriever(embedder, index, novelty).search(new).novelty
        assert measured.search(new).novelty == expected
        assert expected in (25, 50, 75)
    assert client.search(new).novelty is None


@pytest.mark.slow
def test_top_k_is_the_server_s_unless_given(client):
    assert len(client.search("timm:plain").hits) == len(KNOWN) - 1
    assert len(client.search("timm:plain", top_k=1).hits) == 1


def test_errors_are_those_of_the_library(client):
    with pytest.raises(InvalidQueryError) as caught:
        client.search(CYCLE)
    assert caught.value.field == "queries[0].graph.edge_index"
    with pytest.raises(UnknownArchitectureError, match="timm:nobody"):
        client.search("timm:nobody")
    with pytest.raises(InvalidQueryError, match="wanted 1 to 1000, came 2000"):
        client.search("timm:plain", top_k=2_000)
    for top_k in (0, -1, 2**32):
        with pytest.raises(InvalidQueryError, match=f"top_k: wanted 1 to .*, came {top_k}"):
            client.search("timm:plain", top_k=top_k)


def test_many_targets_go_in_several_calls_and_errors_know_their_place(client):
    targets = ["timm:plain", "timm:mixer", "timm:nobody", "timm:plain", CYCLE, "timm:plain", "x"]
    outcomes = client.search_many(targets)
    unknown = UnknownArchitectureError
    kinds = [type(outcome) for outcome in outcomes]
    assert [kinds[2], kinds[4], kinds[6]] == [unknown, InvalidQueryError, unknown]
    assert_alike([outcomes[3], outcomes[5]], [client.search("timm:plain")] * 2)
    assert outcomes[4].field == "queries[4].graph.edge_index"


def test_embed(client, embedder):
    graphs = [known(name) for name in KNOWN]
    vectors = client.embed(graphs)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, embedder.embed(graphs), atol=1e-6)
    assert client.embed([]).shape == (0, 16)


def test_embed_names_the_first_graph_at_fault(client):
    with pytest.raises(InvalidQueryError) as caught:
        client.embed([known("timm:plain")] * 4 + [CYCLE])
    assert caught.value.field == "graphs[4].edge_index"


def test_get(client, index):
    names = ["timm:plain", "timm:nobody", "darts:cell", "timm:mixer"]
    plain, nobody, cell, _ = client.get(names)
    assert plain == index.get(["timm:plain"])["timm:plain"].hit(1.0)
    assert cell.source == "darts"
    assert isinstance(nobody, UnknownArchitectureError)


@pytest.mark.slow
def test_token(embedder, index, open_client):
    with live_server(embedder, index, token="open-sesame") as server:
        with open_client(server.target, token="open-sesame") as client:
            assert client.describe().index_rows == len(KNOWN)
        with open_client(server.target) as stranger, pytest.raises(ServiceError) as caught:
            stranger.describe()
        with open_client(server.target) as stranger, pytest.raises(ServiceError) as streamed:
            list(stranger.search_stream(["timm:plain"]))
    assert caught.value.code == "UNAUTHENTICATED"
    assert "open-sesame" not in str(caught.value)
    assert [len(error.value.request_id) for error in (caught, streamed)] == [32, 32]


@pytest.mark.slow
def test_a_fault_of_the_server_has_an_id(embedder, index, open_client):
    with (
        live_server(Delegating(embedder, fail), index) as server,
        open_client(server.target) as client,
        pytest.raises(ServiceError, match="internal error") as caught,
    ):
        client.search(known("timm:plain"))
    assert caught.value.code == "INTERNAL"


@pytest.mark.slow
def test_a_full_server_is_asked_again_when_it_says(embedder, index, open_client):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_in_flight=1) as server,
        open_client(server.target) as client,
        futures.ThreadPoolExecutor(2) as pool,
    ):
        client.describe()
        first = pool.submit(client.search, known("timm:plain"))
        wait_for(lambda: gate.arrived == 1)
        opening = pool.submit(open_once_refused, server, gate)
        assert client.search("timm:plain").hits
        opening.result()
        assert first.result().hits


def open_once_refused(server, gate):
    wait_for(lambda: sample(server, "nar_rpc_rejected_total", reason="overloaded") >= 1)
    gate.open()


@pytest.mark.slow
def test_a_call_that_takes_too_long(embedder, index, open_client):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index) as server,
        open_client(server.target, timeout_s=0.5) as client,
    ):
        with pytest.raises(ServiceError) as caught:
            client.search(known("timm:plain"))
        gate.open()
    assert caught.value.code == "DEADLINE_EXCEEDED"


@pytest.mark.slow
def test_unavailable_for_good(embedder, index, open_client):
    with live_server(embedder, index) as server:
        target = server.target
    with open_client(target) as client, pytest.raises(IndexUnavailableError):
        client.describe()


@pytest.mark.slow
def test_what_cannot_be_encoded_is_said_before_the_first_call(embedder, index, open_client):
    with (
        live_server(embedder, index, max_queries=1) as server,
        open_client(server.target) as client,
    ):
        with pytest.raises(TypeError):
            client.search_many(["timm:plain", np.zeros((2, 2), dtype=np.float32)])
        assert client.search("timm:plain").hits
        wait_for(lambda: sample(server, "nar_rpc_requests_total", method="Search") == 1)
