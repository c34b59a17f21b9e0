"""Calls that cost much, and callers that leave: the threads, and what is known of them."""

import math
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from asking import detail, one_query, sample
from gated import Delegating, Gate, Watched
from google.rpc.error_details_pb2 import RetryInfo
from graphs import graph_of
from grpc_health.v1 import health_pb2, health_pb2_grpc
from live_server import live_server
from test_answer import Known
from tiny_index import known
from waiting import wait_for

from nar.answers.query import Query
from nar.client.client import Client
from nar.graphs.canonical import canonical
from nar.serve import calls
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
CHAIN = canonical(graph_of("input; conv 0; relu 1; conv 2; relu 3"))


def embed_of(graphs):
    return wire.EmbedRequest(graphs=[encode_graph(CHAIN)] * graphs)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [{"max_call_nodes": 14}, {"max_call_edges": 11}])
def test_the_graphs_of_a_call_have_a_budget_together(embedder, index, bound):
    gate = Gate()
    gate.open()
    with (
        live_server(Delegating(embedder, gate), index, max_nodes=8, max_edges=8, **bound) as server,
        grpc.insecure_channel(server.target) as channel,
        Client(server.target) as client,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        assert len(stub.Embed(embed_of(2)).results) == 2
        query = wire.Query(graph=encode_graph(CHAIN))
        for method, request, field in (
            (stub.Embed, embed_of(3), "graphs"),
            (stub.Search, wire.SearchRequest(queries=[query] * 3), "queries"),
        ):
            [(name, most)] = bound.items()
            kind = name.removeprefix("max_call_")
            with pytest.raises(grpc.RpcError, match=f"{field}: wanted at most {most} {kind}") as no:
                method(request)
            assert no.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert gate.arrived == 1
        assert client.embed([CHAIN] * 5).shape == (5, 16)
        assert len(client.search_many([CHAIN] * 5)) == 5


@pytest.mark.slow
def test_a_graph_that_is_too_large_spends_nothing_of_the_budget(embedder, index):
    with (
        live_server(embedder, index, max_nodes=5, max_call_nodes=9) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        graphs = [encode_graph(CHAIN), encode_graph(known("timm:residual"))]
        stub = ArchitectureRetrievalServiceStub(channel)
        results = stub.Embed(wire.EmbedRequest(graphs=graphs)).results
    assert [result.status.code for result in results] == [0, 3]


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["cancel", "deadline"])
def test_a_thread_counts_until_it_ends_and_ends_when_its_caller_is_gone(
    embedder, index, leave, monkeypatch
):
    monkeypatch.setattr(calls, "NODES_A_BATCH", 1)
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_in_flight=1) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        call = stub.Embed.future(embed_of(9), timeout=0.5 if leave == "deadline" else 300)
        wait_for(lambda: gate.arrived == 1)
        if leave == "cancel":
            call.cancel()
        code = {"cancel": "CANCELLED", "deadline": "DEADLINE_EXCEEDED"}[leave]
        wait_for(lambda: sample(server, "nar_rpc_requests_total", code=code) == 1)
        assert sample(server, "nar_rpc_in_flight") == 1
        with pytest.raises(grpc.RpcError) as shed:
            stub.Describe(wire.DescribeRequest())
        assert shed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        gate.open()
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)
        assert stub.Describe(wire.DescribeRequest()).index_rows == 5
    assert gate.arrived == 1


@pytest.mark.slow
def test_a_call_without_a_deadline_ends_too(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_call_s=0.3) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        with pytest.raises(grpc.RpcError, match="before it was answered") as caught:
            ArchitectureRetrievalServiceStub(channel).Search(one_query())
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        gate.open()


@pytest.mark.slow
def test_large_requests_have_a_thread_of_their_own(embedder, index):
    gate = Gate()
    settings = {"heavy_bytes": embed_of(2).ByteSize() - 1}
    with (
        live_server(Delegating(embedder, gate), index, **settings) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        heavy = [stub.Embed.future(embed_of(2)) for _ in range(3)]
        wait_for(lambda: gate.arrived == 1)
        assert stub.Describe(wire.DescribeRequest()).index_rows == 5
        assert gate.arrived == 1
        gate.open()
        assert [len(call.result().results) for call in heavy] == [2, 2, 2]


@pytest.mark.slow
def test_large_requests_never_take_every_place(embedder, index):
    gate = Gate()
    with (
        live_server(
            Delegating(embedder, gate),
            index,
            heavy_bytes=embed_of(2).ByteSize() - 1,
            max_in_flight=4,
            heavy_share=0.5,
        ) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        heavy = [stub.Embed.future(embed_of(2)) for _ in range(2)]
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 2)
        with pytest.raises(grpc.RpcError, match="as many heavy calls are in flight") as caught:
            stub.Embed(embed_of(2))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert detail(caught.value, RetryInfo).HasField("retry_delay")
        assert stub.Describe(wire.DescribeRequest()).index_rows == 5
        gate.open()
        assert [len(call.result().results) for call in heavy] == [2, 2]
        assert stub.Embed(embed_of(2)).results


@pytest.mark.slow
def test_a_large_request_that_waits_may_be_cancelled(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, heavy_bytes=0) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        first, second = (stub.Embed.future(embed_of(1)) for _ in range(2))
        wait_for(lambda: gate.arrived == 1)
        second.cancel()
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 1)
        gate.open()
        assert first.result().results
        assert stub.Embed(embed_of(1)).results


@pytest.mark.slow
def test_a_server_whose_threads_do_not_get_on_is_not_ready_until_they_do(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, stuck_after_s=0.2) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watching).status == SERVING
        stub = ArchitectureRetrievalServiceStub(channel)
        calls = [stub.Search.future(one_query()) for _ in range(2)]
        assert next(watching).status == NOT_SERVING
        assert sample(server, "nar_pool_stuck", pool="small") == 1
        gate.open()
        assert next(watching).status == SERVING
        # On a busy machine a call that goes on may take long enough to be shown once more.
        wait_for(lambda: sample(server, "nar_pool_stuck", pool="small") == 0)
        assert [len(call.result().results) for call in calls] == [1, 1]
        watching.cancel()


@pytest.mark.slow
def test_heavy_threads_that_do_not_get_on_are_shown_and_small_calls_are_answered(embedder, index):
    gate = Gate()
    with (
        live_server(
            Delegating(embedder, gate), index, stuck_after_s=0.2, heavy_bytes=one_query().ByteSize()
        ) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        heavy = stub.Embed.future(embed_of(3))
        wait_for(lambda: sample(server, "nar_pool_stuck", pool="heavy") == 1)
        assert sample(server, "nar_pool_stuck", pool="small") == 0
        assert sample(server, "nar_serving") == 1
        stub.Get(wire.GetRequest(architectures=["timm:plain"]))
        gate.open()
        assert len(heavy.result().results) == 3
        wait_for(lambda: sample(server, "nar_pool_stuck", pool="heavy") == 0)


@pytest.mark.slow
def test_an_index_that_hangs_is_noticed_within_the_interval_and_comes_back(embedder, index):
    gate = Gate()
    gate.open()
    with (
        live_server(embedder, Watched(index, gate), probe_interval_s=0.1) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watching).status == SERVING
        # On a busy machine a probe may come late, and the index hang for a moment.
        wait_for(lambda: sample(server, "nar_serving") == 1)
        wait_for(lambda: sample(server, "nar_index_rows") == 5)
        gate.close()
        assert next(watching).status == NOT_SERVING
        assert sample(server, "nar_serving") == 0
        assert math.isnan(sample(server, "nar_index_rows"))
        gate.open()
        assert next(watching).status == SERVING
        wait_for(lambda: sample(server, "nar_serving") == 1)
        watching.cancel()


@pytest.mark.slow
def test_a_call_that_would_wait_past_its_deadline_is_shed_at_once(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_wait_s=30, max_call_s=100) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        slow = stub.Search.future(one_query())
        wait_for(lambda: gate.arrived == 1 and gate.has_waited(2))
        gate.open()
        assert slow.result().results
        gate.close()
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)
        # A Search is now expected to take a tenth of these two seconds and more.
        held = stub.Search.future(one_query())
        wait_for(lambda: gate.arrived == 2)
        with pytest.raises(grpc.RpcError, match="would wait") as caught:
            stub.Describe(wire.DescribeRequest(), timeout=0.15)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert detail(caught.value, RetryInfo).retry_delay.seconds >= 1
        gate.open()
        assert held.result().results


class GatedGraphs(Known):
    """Graphs of the index that are read once a gate is open."""

    def __init__(self, gate):
        super().__init__()
        self._gate = gate

    def graphs(self, names, sources):
        self._gate()
        return super().graphs(names, sources)


@pytest.mark.slow
def test_a_search_that_compares_graphs_takes_no_thread_of_plain_searches(embedder, index):
    gate = Gate()
    with (
        live_server(embedder, index, graphs=GatedGraphs(gate), compute_threads=1) as server,
        Client(server.target) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        query = Query("timm:plain", parts=frozenset({"part_of"}))
        compared = pool.submit(client.answers, [query])
        try:
            wait_for(lambda: gate.arrived == 1)
            assert client.search("timm:plain").hits
        finally:
            gate.open()
        assert compared.result()[0].compared == 4
