"""SearchStream over a real socket: each request is a call of its own, in order."""

from itertools import count, repeat
from queue import SimpleQueue

import grpc
import numpy as np
import pytest
from asking import assert_alike, one_query, sample
from gated import Delegating, Gate
from google.rpc.code_pb2 import INVALID_ARGUMENT, NOT_FOUND, OK
from live_server import live_server
from waiting import wait_for

from nar.base.errors import IndexUnavailableError, InvalidQueryError, UnknownArchitectureError
from nar.client.remote import ServiceError, error_of_call
from nar.serve.calls import SERVICE
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.records import decode_answer


def named(*names):
    return wire.SearchRequest(queries=[wire.Query(architecture=name, top_k=2) for name in names])


class Stream:
    """One stream, whose requests are sent one by one."""

    def __init__(self, channel, **options):
        self._sent = SimpleQueue()
        stub = ArchitectureRetrievalServiceStub(channel)
        self.call = stub.SearchStream(iter(self._sent.get, None), **options)

    def send(self, request):
        self._sent.put(request)

    def ask(self, request):
        self.send(request)
        return next(self.call)

    def end(self):
        """Send nothing more; gives what still comes."""
        self._sent.put(None)
        return list(self.call)

    def leave(self):
        self._sent.put(None)
        self.call.cancel()

    def refusal(self):
        """Code and words of its end."""
        with pytest.raises(grpc.RpcError) as caught:
            next(self.call)
        self._sent.put(None)
        return caught.value.code().name, caught.value.details()


@pytest.fixture
def opened():
    """Opens streams to a server; they end with the test."""
    channels, streams = [], []

    def to(server, **options):
        channels.append(grpc.insecure_channel(server.target))
        streams.append(Stream(channels[-1], **options))
        return streams[-1]

    yield to
    for stream in streams:
        stream.leave()
    for channel in channels:
        channel.close()


def test_each_request_is_answered_in_order_as_by_search(opened, server, stub):
    stream = opened(server)
    requests = [named("timm:plain", "timm:nobody"), one_query(), named("darts:cell")]
    for request in requests:
        streamed, alone = stream.ask(request).results, stub.Search(request).results
        assert [each.status for each in streamed] == [each.status for each in alone]
        good = [position for position, each in enumerate(alone) if each.status.code == OK]
        assert_alike(
            [decode_answer(streamed[position]) for position in good],
            [decode_answer(alone[position]) for position in good],
        )
    assert stream.end() == []
    assert stream.call.code() is grpc.StatusCode.OK


@pytest.mark.slow
def test_requests_count_as_calls_and_the_stream_does_not(opened, embedder, index):
    with live_server(embedder, index) as server:
        stream = opened(server)
        for _ in range(3):
            stream.ask(named("timm:plain", "timm:nobody"))
        stream.end()
        counted = {"method": "SearchStream"}
        assert sample(server, "nar_rpc_requests_total", code="OK", **counted) == 3
        assert sample(server, "nar_rpc_duration_seconds_count", **counted) == 3
        assert sample(server, "nar_rpc_items_total", code="NOT_FOUND", **counted) == 3
        assert sample(server, "nar_rpc_requests_total", **counted) == 3


def test_a_fault_of_a_request_ends_the_stream_with_its_status(opened, server):
    stream = opened(server)
    assert stream.ask(named("timm:plain")).results
    stream.send(wire.SearchRequest())
    assert stream.refusal() == ("INVALID_ARGUMENT", "queries: wanted 1 to 4, came 0")


def test_faults_of_queries_stay_with_them(opened, server):
    stream = opened(server)
    bad = wire.SearchRequest(queries=[wire.Query(graph=wire.Graph()), wire.Query()])
    bad.queries.append(wire.Query(architecture="timm:nobody"))
    codes = [result.status.code for result in stream.ask(bad).results]
    assert codes == [INVALID_ARGUMENT, INVALID_ARGUMENT, NOT_FOUND]
    assert stream.ask(named("timm:plain")).results[0].hits


def test_bytes_that_are_no_request(server):
    with grpc.insecure_channel(server.target) as channel:
        call = channel.stream_stream(f"/{SERVICE}/SearchStream")(iter([b"\xff\xff"]))
        with pytest.raises(grpc.RpcError, match="no message of this method"):
            next(call)
        assert call.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.slow
def test_a_stranger_is_refused_before_anything_is_sent(opened, embedder, index):
    with live_server(embedder, index, token="good") as server:
        assert opened(server).refusal()[0] == "UNAUTHENTICATED"
        stream = opened(server, metadata=(("authorization", "Bearer good"),))
        assert stream.ask(named("timm:plain")).results


@pytest.mark.slow
def test_a_request_that_is_too_large(opened, embedder, index):
    with live_server(embedder, index, max_message_bytes=2_000) as server:
        stream = opened(server)
        assert stream.ask(named("timm:plain")).results
        stream.send(named("x" * 3_000))
        assert stream.refusal()[0] == "RESOURCE_EXHAUSTED"


@pytest.mark.slow
def test_an_idle_stream_holds_nothing_and_ends(opened, embedder, index):
    with live_server(embedder, index, max_idle_s=0.3, max_in_flight=1) as server:
        stream = opened(server)
        assert stream.ask(named("timm:plain")).results
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)
        other = opened(server)
        assert other.ask(named("timm:plain")).results
        assert stream.refusal() == ("DEADLINE_EXCEEDED", "no request came within 0.3 s")
        other.refusal()
        assert sample(server, "nar_rpc_rejected_total", reason="slow") == 2


@pytest.mark.slow
def test_streams_that_are_open_are_bounded(opened, embedder, index):
    with live_server(embedder, index, max_search_streams=1) as server:
        first = opened(server)
        assert first.ask(named("timm:plain")).results
        assert opened(server).refusal()[0] == "RESOURCE_EXHAUSTED"
        assert first.ask(named("timm:plain")).results
        first.end()
        wait_for(lambda: is_let_in(opened(server)))


def is_let_in(stream):
    try:
        return bool(stream.ask(named("timm:plain")).results)
    except grpc.RpcError:
        return False


@pytest.mark.slow
def test_a_deadline_ends_the_stream(opened, server):
    assert opened(server, timeout=0.3).refusal()[0] == "DEADLINE_EXCEEDED"


@pytest.mark.slow
def test_a_request_is_read_when_the_one_before_is_answered(opened, embedder, index):
    gate = Gate()
    with live_server(Delegating(embedder, gate), index) as server:
        stream = opened(server)
        for _ in range(3):
            stream.send(one_query())
        wait_for(lambda: gate.arrived == 1)
        assert sample(server, "nar_rpc_in_flight") == 1
        gate.open()
        assert len(stream.end()) == 3
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)


@pytest.mark.slow
def test_a_request_beyond_the_bound_of_calls_ends_its_stream(opened, embedder, index):
    gate = Gate()
    with live_server(Delegating(embedder, gate), index, max_in_flight=1) as server:
        waiting = opened(server)
        assert waiting.ask(named("timm:plain")).results
        # The answer is on its way before the one place is free.
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)
        # Opened now: of two streams that come at once grpc may drop one, for one call is the bound.
        working = opened(server)
        working.send(one_query())
        wait_for(lambda: gate.arrived == 1)
        waiting.send(named("timm:plain"))
        assert waiting.refusal()[0] == "RESOURCE_EXHAUSTED"
        gate.open()
        assert len(working.end()) == 1


@pytest.mark.slow
def test_drain_ends_streams_after_the_request_in_work(opened, embedder, index):
    gate = Gate()
    with live_server(Delegating(embedder, gate), index) as server:
        idle, working = opened(server), opened(server)
        assert idle.ask(named("timm:plain")).results
        working.send(one_query())
        wait_for(lambda: gate.arrived == 1)
        server.begin_stop()
        assert idle.refusal()[0] == "UNAVAILABLE"
        gate.open()
        assert next(working.call).results[0].hits
        assert working.refusal()[0] == "UNAVAILABLE"


@pytest.mark.slow
def test_a_caller_who_leaves_frees_the_stream(opened, embedder, index):
    with live_server(embedder, index, max_search_streams=1) as server:
        first = opened(server)
        assert first.ask(named("timm:plain")).results
        first.call.cancel()
        wait_for(lambda: is_let_in(opened(server)))
        assert sample(server, "nar_rpc_requests_total", code="CANCELLED") == 0


def test_the_client_streams_lazily_and_in_order(server, open_client):
    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield "timm:plain" if number % 2 else "timm:nobody"

    with open_client(server.target) as client:
        stream = client.search_stream(endless(), top_k=1)
        told = [next(stream) for _ in range(9)]
        stream.close()
    assert [type(each) for each in told[::2]] == [UnknownArchitectureError] * 5
    assert all(len(each.hits) == 1 for each in told[1::2])
    # Three requests of four are answered; one is on its way, and an item shows where it ends.
    assert len(taken) == 17


def test_the_client_s_errors_know_their_position_and_their_cause(server, embedder, open_client):
    with open_client(server.target) as client:
        targets = [*["timm:plain"] * 5, np.zeros(embedder.dim, dtype=np.float32)]
        told = list(client.search_stream(targets))
        assert isinstance(told[5], InvalidQueryError)
        assert told[5].field.startswith("queries[5].vector")
        assert list(client.search_stream([])) == []

        def broken():
            yield "timm:plain"
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            list(client.search_stream(broken()))


@pytest.mark.slow
def test_the_client_hears_why_a_stream_ended(embedder, index, open_client):
    with (
        live_server(embedder, index, token="good") as server,
        open_client(server.target) as client,
        pytest.raises(ServiceError, match="UNAUTHENTICATED"),
    ):
        list(client.search_stream(["timm:plain"]))
    with (
        live_server(embedder, index, max_queries=1) as server,
        open_client(server.target) as client,
    ):
        stream = client.search_stream(repeat("timm:plain"))
        assert next(stream).hits
        server.begin_stop()
        with pytest.raises(IndexUnavailableError):
            list(stream)


def test_a_stream_that_breaks_while_it_is_written_to_may_be_asked_again():
    nothing = grpc.aio.Metadata()
    broken = grpc.aio.AioRpcError(
        grpc.StatusCode.INTERNAL, nothing, nothing, details="Internal error from Core"
    )
    assert isinstance(error_of_call(broken, wants_tls=False), IndexUnavailableError)
