"""Requests that are too many, too large or too slow."""

import grpc
import pytest
from asking import detail, one_query, sample
from gated import Delegating, Gate
from google.rpc.error_details_pb2 import RetryInfo
from graphs import resnet
from live_server import live_server
from server_process import server_process
from waiting import wait_for

from nar.client.calling import OPTIONS
from nar.client.client import Client
from nar.graphs.canonical import canonical
from nar.serve.calls import SERVICE
from nar.serve.requests import LOOKS
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph
from nar.wire.settings import ServerConfig

MEGABYTE = 1024 * 1024
UPLOADS = 80
UPLOAD = bytes(15 * MEGABYTE)


def settled_bytes(server):
    """Most memory so far, once the encoder is loaded, which takes some, too."""
    with Client(server.target, token="good") as client:
        client.embed([canonical(resnet([1, 1]))])
    return server.peak_bytes()


def uploaded(channel, token):
    """The codes of many large uploads at once."""
    search = channel.unary_unary(f"/{SERVICE}/Search")
    metadata = (("authorization", f"Bearer {token}"),)
    return {
        call.code().name
        for call in [search.future(UPLOAD, metadata=metadata) for _ in range(UPLOADS)]
    }


@pytest.mark.slow
def test_refused_uploads_take_no_memory(workspace):
    with server_process(workspace, token="good") as server:
        with Client(server.target, token="good") as client:
            assert client.search("timm:plain").hits
        before = settled_bytes(server)
        with grpc.insecure_channel(server.target) as channel:
            assert uploaded(channel, "bad") == {"UNAUTHENTICATED"}
        assert server.peak_bytes() - before < 100 * MEGABYTE


@pytest.mark.slow
def test_uploads_that_are_let_in_take_a_bounded_memory(workspace):
    # What is read at a moment stands in grpc's memory and in Python's; what was read is held.
    bound = 2 * LOOKS * len(UPLOAD) + 2 * ServerConfig().max_held_bytes
    assert bound < UPLOADS * len(UPLOAD)
    with server_process(workspace, token="good") as server:
        before = settled_bytes(server)
        with grpc.insecure_channel(server.target) as channel:
            # So many at once that grpc may drop some before they are seen.
            shed = {"RESOURCE_EXHAUSTED", "CANCELLED"}
            assert uploaded(channel, "good") <= {"INVALID_ARGUMENT"} | shed
        assert server.peak_bytes() - before < bound


@pytest.mark.slow
def test_calls_are_shed_while_requests_hold_too_many_bytes(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_held_bytes=1) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        held = stub.Search.future(one_query())
        wait_for(lambda: gate.arrived == 1)
        with pytest.raises(grpc.RpcError, match="bytes of requests are waiting") as caught:
            stub.Describe(wire.DescribeRequest())
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert sample(server, "nar_rpc_rejected_total", reason="overloaded") == 1
        gate.open()
        assert held.result().results
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)
        assert stub.Search(one_query()).results


@pytest.mark.slow
def test_large_requests_leave_room_to_small_ones(embedder, index):
    gate = Gate()
    graph = encode_graph(canonical(resnet([2, 2, 2, 2])))
    large = wire.EmbedRequest(graphs=[graph])
    bounds = {"heavy_bytes": 1_000, "max_held_bytes": 2 * large.ByteSize()}
    with (
        live_server(Delegating(embedder, gate), index, **bounds) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        held = stub.Embed.future(large)
        wait_for(lambda: gate.arrived == 1)
        with pytest.raises(grpc.RpcError, match="bytes wait, and this call has") as caught:
            stub.Embed(large)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert detail(caught.value, RetryInfo).retry_delay.seconds == 1
        assert stub.Describe(wire.DescribeRequest()).index_rows
        gate.open()
        assert held.result().results
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)
        assert stub.Embed(large).results


@pytest.mark.slow
def test_a_request_that_does_not_come_is_not_waited_for(embedder, index):
    gate = Gate()

    def never():
        gate()
        yield b""

    with (
        live_server(embedder, index, max_upload_s=0.2, uploads=1) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        slow = channel.stream_unary(f"/{SERVICE}/Search").future(never())
        assert slow.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        gate.open()
        assert sample(server, "nar_rpc_rejected_total", reason="slow") == 1
        assert ArchitectureRetrievalServiceStub(channel).Search(one_query()).results


@pytest.mark.slow
@pytest.mark.parametrize("silent", [8, 24])
def test_calls_that_send_no_request_hold_nobody_up(embedder, index, silent):
    gate = Gate()

    def never():
        gate()
        yield b""

    with (
        live_server(embedder, index, max_upload_s=120, uploads=4) as server,
        grpc.insecure_channel(server.target, options=OPTIONS) as channel,
    ):
        search = channel.stream_unary(f"/{SERVICE}/Search")
        calls = [search.future(never()) for _ in range(silent)]
        try:
            stub = ArchitectureRetrievalServiceStub(channel)
            # Far less than a request may take to arrive, and far more than a search takes.
            assert all(stub.Search(one_query(), timeout=60).results for _ in range(5))
            wait_for(lambda: sum(call.done() for call in calls) == silent - 4)
            refused = [call.exception() for call in calls if call.done()]
        finally:
            gate.open()
    assert {each.code() for each in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert all(detail(each, RetryInfo).retry_delay.seconds for each in refused)


@pytest.mark.slow
def test_slow_requests_that_find_a_turn_are_waited_for(embedder, index):
    gate = Gate()

    def late():
        gate()
        yield one_query().SerializeToString()

    with (
        live_server(embedder, index, uploads=1, max_upload_s=120) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        search = channel.stream_unary(f"/{SERVICE}/Search")
        first = search.future(late())
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 1)
        second = search.future(iter([one_query().SerializeToString()]))
        assert wire.SearchResponse.FromString(second.result()).results
        gate.open()
        assert wire.SearchResponse.FromString(first.result()).results


def test_a_call_without_a_request_is_refused(server):
    with grpc.insecure_channel(server.target) as channel:
        empty = channel.stream_unary(f"/{SERVICE}/Search").future(iter(()))
        assert empty.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.slow
def test_a_connection_has_a_bounded_number_of_calls(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_streams=2, compute_threads=2) as server,
        grpc.insecure_channel(server.target, options=OPTIONS) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        # The server says its bound with its first reply; calls beyond it then wait at the client.
        # Those that come before it is heard are refused, and made again as our client does.
        stub.Describe(wire.DescribeRequest())
        calls = [stub.Search.future(one_query()) for _ in range(6)]
        # A call that is refused may have been begun: it is counted until its end is seen.
        wait_for(lambda: gate.arrived == 2 and sample(server, "nar_rpc_in_flight") == 2)
        gate.open()
        assert [len(call.result().results) for call in calls] == [1] * 6
