"""What stands around every call: counting, sizes, admission, token, faults of our own."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from asking import detail, one_query, sample
from gated import Delegating, Gate, fail
from google.rpc.error_details_pb2 import RequestInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from live_server import live_server
from tiny_index import known
from waiting import wait_for

from nar.serve.calls import SERVICE
from nar.serve.dispatch import Resting
from nar.serve.status import PUSHBACK
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph

SERVING = health_pb2.HealthCheckResponse.SERVING


@pytest.mark.slow
def test_calls_and_items_are_counted_by_method_and_code(embedder, index):
    with live_server(embedder, index) as server, grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        stub.Search(one_query())
        stub.Get(wire.GetRequest(architectures=["timm:plain", "timm:nobody"]))
        with pytest.raises(grpc.RpcError):
            stub.Embed(wire.EmbedRequest())
        calls, items = "nar_rpc_requests_total", "nar_rpc_items_total"
        assert sample(server, calls, method="Search", code="OK") == 1
        assert sample(server, calls, method="Embed", code="INVALID_ARGUMENT") == 1
        assert sample(server, items, method="Get", code="OK") == 1
        assert sample(server, items, method="Get", code="NOT_FOUND") == 1
        assert sample(server, "nar_rpc_duration_seconds_count", method="Search") == 1
        for stage in ("motifs", "encode", "search"):
            assert sample(server, "nar_stage_duration_seconds_count", stage=stage) == 1
        assert sample(server, "nar_index_rows") == 5
        assert sample(server, "nar_encoder_info", fingerprint=embedder.fingerprint) == 1


@pytest.mark.slow
def test_bytes_that_are_no_message_are_refused_and_counted(embedder, index):
    with live_server(embedder, index) as server, grpc.insecure_channel(server.target) as channel:
        with pytest.raises(grpc.RpcError, match="no message of this method") as caught:
            channel.unary_unary(f"/{SERVICE}/Search")(b"\xff\xff\xff")
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        counted = sample(server, "nar_rpc_requests_total", code="INVALID_ARGUMENT")
        assert counted == 1


@pytest.mark.slow
@pytest.mark.parametrize(("spare_bytes", "fits"), [(1, True), (0, True), (-1, False)])
def test_size_of_a_message(embedder, index, spare_bytes, fits):
    request = wire.GetRequest(architectures=["x" * 2_000])
    settings = {"max_message_bytes": request.ByteSize() + spare_bytes}
    with (
        live_server(embedder, index, **settings) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        call = ArchitectureRetrievalServiceStub(channel).Get.future(request)
        code = call.code()
        assert code is (grpc.StatusCode.OK if fits else grpc.StatusCode.RESOURCE_EXHAUSTED)
        counted = "nar_rpc_rejected_total"
        wait_for(lambda: sample(server, counted, reason="oversized") == (not fits))


@pytest.mark.slow
def test_a_method_that_does_not_exist_is_counted(embedder, index):
    with live_server(embedder, index) as server, grpc.insecure_channel(server.target) as channel:
        call = channel.unary_unary(f"/{SERVICE}/Guess").future(b"")
        assert call.code() is grpc.StatusCode.UNIMPLEMENTED
        assert sample(server, "nar_rpc_rejected_total", reason="unknown_method") == 1


@pytest.mark.slow
def test_a_full_server_sheds_at_once_and_says_when_to_come_back(embedder, index):
    gate = Gate()
    with (
        live_server(
            Delegating(embedder, gate), index, max_in_flight=2, compute_threads=2
        ) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        accepted = [stub.Search.future(one_query()) for _ in range(2)]
        wait_for(lambda: gate.arrived == 2)
        assert sample(server, "nar_rpc_in_flight") == 2
        with pytest.raises(grpc.RpcError) as caught:
            stub.Search(one_query())
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert detail(caught.value, RetryInfo).retry_delay.seconds == 1
        assert 1_000 <= int(dict(caught.value.trailing_metadata())[PUSHBACK]) <= 1_500
        assert sample(server, "nar_rpc_rejected_total", reason="overloaded") == 1
        # It is no part of the calls whose outcome and latency is watched.
        assert sample(server, "nar_rpc_requests_total") == 0
        assert sample(server, "nar_rpc_duration_seconds_count") == 0
        gate.open()
        assert [len(call.result().results) for call in accepted] == [1, 1]
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)


@pytest.mark.slow
def test_a_server_with_enough_to_do_takes_no_call_until_it_has_answered(
    embedder, index, monkeypatch
):
    """Its threads go on meanwhile, and grpc keeps what comes, or drops it."""
    monkeypatch.setattr("nar.serve.workers.MAX_TOGETHER", 1)  # a call that waits is enough
    monkeypatch.setattr("nar.serve.dispatch.REST_S", 10.0)
    gate = Gate()
    rest, rests = Resting.before_a_call, []

    def opened_while_resting(resting):
        rests.append(1)
        if len(rests) == 3:
            gate.open()
        rest(resting)

    monkeypatch.setattr(Resting, "before_a_call", opened_while_resting)
    with (
        live_server(Delegating(embedder, gate), index) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        calls = [stub.Search.future(one_query())]
        wait_for(lambda: gate.arrived == 1)
        calls.append(stub.Search.future(one_query()))
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 2)
        began = time.monotonic()
        calls.append(stub.Search.future(one_query()))
        assert [len(call.result().results) for call in calls] == [1, 1, 1]
        assert time.monotonic() - began < 5  # an answer ended the rest


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["max_in_flight", "unseen_calls"])
def test_calls_that_nobody_has_seen_yet_are_bounded(embedder, index, bound):
    busy, resume = threading.Event(), threading.Event()

    def hold():
        busy.set()
        resume.wait(300)

    with (
        live_server(embedder, index, **{bound: 4}) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        stub.Describe(wire.DescribeRequest())
        server.between_calls(hold)
        assert busy.wait(300)
        calls = [stub.Describe.future(wire.DescribeRequest()) for _ in range(40)]
        wait_for(lambda: any(call.done() for call in calls))
        resume.set()
        codes = Counter(call.code().name for call in calls)
        # Some were dropped before the event loop saw them, and the others find a server that works.
        assert codes["CANCELLED"] > 0
        assert codes["OK"] > 0
        stub.Describe(wire.DescribeRequest())
        arrived = sample(server, "nar_grpc_calls_arrived_total")
        assert arrived - sample(server, "nar_grpc_calls_taken_total") == codes["CANCELLED"]


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["cancel", "deadline"])
def test_a_call_that_is_given_up_is_counted(embedder, index, leave):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        call = stub.Search.future(one_query(), timeout=1 if leave == "deadline" else 300)
        wait_for(lambda: gate.arrived == 1)
        if leave == "cancel":
            call.cancel()
        code = {"cancel": "CANCELLED", "deadline": "DEADLINE_EXCEEDED"}[leave]
        wait_for(lambda: sample(server, "nar_rpc_requests_total", code=code) == 1)
        gate.open()


@pytest.mark.slow
def test_a_token_is_wanted_but_not_for_health(embedder, index):
    with (
        live_server(embedder, index, token="open-sesame") as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        for metadata in ((), (("authorization", "Bearer open"),), (("authorization", ""),)):
            with pytest.raises(grpc.RpcError) as caught:
                stub.Describe(wire.DescribeRequest(), metadata=metadata)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        good = (("authorization", "Bearer open-sesame"),)
        assert stub.Describe(wire.DescribeRequest(), metadata=good).index_rows == 5
        health = health_pb2_grpc.HealthStub(channel)
        assert health.Check(health_pb2.HealthCheckRequest()).status == SERVING
        assert sample(server, "nar_rpc_rejected_total", reason="unauthenticated") == 3


@pytest.mark.slow
def test_an_internal_error_gives_an_id_and_no_traceback(embedder, index, caplog):
    with (
        live_server(Delegating(embedder, fail), index) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        with pytest.raises(grpc.RpcError) as caught:
            ArchitectureRetrievalServiceStub(channel).Search(one_query())
        assert sample(server, "nar_rpc_requests_total", code="INTERNAL") == 1
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    request_id = detail(caught.value, RequestInfo).request_id
    assert request_id in caught.value.details()
    assert "secret" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    logged = next(record for record in caplog.records if request_id in record.message)
    assert logged.exc_info[0] is ZeroDivisionError


@pytest.mark.slow
def test_many_callers_get_their_own_answers(embedder, index):
    names = ["timm:plain", "timm:residual", "timm:mixer", "darts:cell"] * 10

    def nearest(name):
        query = wire.Query(graph=encode_graph(known(name)), top_k=1)
        return stub.Search(wire.SearchRequest(queries=[query])).results[0].same_network[0]

    with (
        # A busy machine has calls wait for longer than a server lets them by itself.
        live_server(embedder, index, max_wait_s=60) as server,
        grpc.insecure_channel(server.target) as channel,
        ThreadPoolExecutor(8) as pool,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        answered = [hit.architecture.name for hit in pool.map(nearest, names)]
    assert answered == names
