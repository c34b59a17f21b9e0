import threading
from concurrent import futures

import grpc
import numpy as np
import pytest
from asking import assert_alike, sample
from gated import Delegating, Gate, fail
from graphs import graph_of
from live_server import live_server
from milvus_server import free_port
from tiny_index import KNOWN, known, tiny_embedder, tiny_index
from waiting import wait_for

from nar.canonical import canonical
from nar.client import Client
from nar.errors import IndexUnavailableError, InvalidQueryError, UnknownArchitectureError
from nar.index.filters import Filter, Range
from nar.novelty import Novelty
from nar.retrieve import Retriever
from nar.serve.remote import ServiceError
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import (
    ArchitectureRetrievalServiceServicer,
    add_ArchitectureRetrievalServiceServicer_to_server,
)

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


def test_describe(client, embedder):
    told = client.describe()
    assert (told.encoder, told.fingerprint, told.dim) == ("paper", embedder.fingerprint, 16)
    assert (told.index_rows, told.limits.max_items) == (len(KNOWN), 3)
    assert told.operators[0] == "input"
    assert told.attribute_names[0] == "kernel"


def test_search_gives_the_library_s_records(client, embedder, index):
    retriever = Retriever(embedder, index)
    wanted = Filter(sources=("timm",), nodes=Range(minimum=7))
    vector = np.arange(16, dtype=np.float32)
    for target in (known("timm:plain"), "timm:plain", vector):
        expected = retriever.search(target, top_k=2, wanted=wanted)
        assert_alike([client.search(target, top_k=2, wanted=wanted)], [expected])


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


def test_token(embedder, index, open_client):
    with live_server(embedder, index, token="open-sesame") as server:
        with open_client(server.target, token="open-sesame") as client:
            assert client.describe().index_rows == len(KNOWN)
        with open_client(server.target) as stranger, pytest.raises(ServiceError) as caught:
            stranger.describe()
    assert caught.value.code == "UNAUTHENTICATED"
    assert "open-sesame" not in str(caught.value)


def test_a_fault_of_the_server_has_an_id(embedder, index, open_client):
    with (
        live_server(Delegating(embedder, fail), index) as server,
        open_client(server.target) as client,
        pytest.raises(ServiceError, match="internal error") as caught,
    ):
        client.search(known("timm:plain"))
    assert caught.value.code == "INTERNAL"


def test_a_full_server_says_when_to_come_back(embedder, index, open_client):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_in_flight=1) as server,
        open_client(server.target) as client,
        futures.ThreadPoolExecutor(1) as pool,
    ):
        client.describe()
        first = pool.submit(client.search, known("timm:plain"))
        wait_for(lambda: gate.arrived == 1)
        with pytest.raises(ServiceError) as caught:
            client.search("timm:plain")
        gate.open()
        assert first.result().hits
    assert (caught.value.code, caught.value.retry_after_s) == ("RESOURCE_EXHAUSTED", 1.0)


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


class Flaky(ArchitectureRetrievalServiceServicer):
    """Describes itself at the third call; before, it is not to be had."""

    def __init__(self, code):
        self.calls = 0
        self._code = code
        self._lock = threading.Lock()

    def Describe(self, request, context):
        with self._lock:
            self.calls += 1
        if self.calls < 3:
            context.abort(self._code, "not yet")
        return wire.DescribeResponse(version="3")


@pytest.fixture(params=["UNAVAILABLE", "CANCELLED"])
def flaky(request):
    server = grpc.server(futures.ThreadPoolExecutor(2))
    servicer = Flaky(grpc.StatusCode[request.param])
    add_ArchitectureRetrievalServiceServicer_to_server(servicer, server)
    servicer.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield servicer
    server.stop(None).wait()


def test_a_call_that_was_not_answered_is_tried_again(flaky, open_client):
    with open_client(flaky.target) as client:
        assert client.describe().version == "3"
    assert flaky.calls == 3


def test_calls_outlast_a_restart():
    """Several at once find nobody for a second; none of them fails."""
    port = free_port()
    server = grpc.server(futures.ThreadPoolExecutor(8))
    servicer = Flaky(grpc.StatusCode.UNAVAILABLE)
    servicer.calls = 2
    add_ArchitectureRetrievalServiceServicer_to_server(servicer, server)

    def begin():
        server.add_insecure_port(f"127.0.0.1:{port}")
        server.start()

    with Client(f"127.0.0.1:{port}") as client, futures.ThreadPoolExecutor(8) as callers:
        asked = [callers.submit(client.describe) for _ in range(8)]
        begun = threading.Timer(1.0, begin)
        begun.start()
        assert {each.result().version for each in asked} == {"3"}
        begun.join()
        server.stop(None).wait()


def test_unavailable_for_good(embedder, index, open_client):
    with live_server(embedder, index) as server:
        target = server.target
    with open_client(target) as client, pytest.raises(IndexUnavailableError):
        client.describe()


def test_what_cannot_be_encoded_is_said_before_the_first_call(embedder, index, open_client):
    with (
        live_server(embedder, index, max_queries=1) as server,
        open_client(server.target) as client,
    ):
        with pytest.raises(TypeError):
            client.search_many(["timm:plain", np.zeros((2, 2), dtype=np.float32)])
        assert client.search("timm:plain").hits
        wait_for(lambda: sample(server, "nar_rpc_requests_total", method="Search") == 1)
