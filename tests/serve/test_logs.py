"""What a server writes down: ids and times of calls, as many lines as are worth it, no payloads."""

import json
import logging
import subprocess
import sys

import grpc
import pytest
from asking import detail, one_query
from gated import Delegating, Gate, fail
from google.rpc.error_details_pb2 import RequestInfo
from hypothesis import given
from hypothesis import strategies as st
from live_server import live_server
from waiting import wait_for

from nar.serve.calls import SERVICE
from nar.serve.logs import BURST_LINES, MAX_KINDS, JsonFormatter, RateLimit, TextFormatter
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

MINE = (("x-request-id", "mine-7"),)


def id_of(call):
    return dict(call.trailing_metadata())["x-request-id"]


def test_the_id_is_on_every_reply_and_in_the_log(server, caplog):
    caplog.set_level(logging.INFO, "nar.serve")
    with grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        _, answered = stub.Search.with_call(one_query(), metadata=MINE)
        assert id_of(answered) == "mine-7"
        _, unnamed = stub.Describe.with_call(wire.DescribeRequest())
        assert len(id_of(unnamed)) == 32
        with pytest.raises(grpc.RpcError) as refused:
            stub.Embed(wire.EmbedRequest(), metadata=MINE)
        assert id_of(refused.value) == "mine-7"
        _, forged = stub.Describe.with_call(
            wire.DescribeRequest(), metadata=(("x-request-id", "x" * 65),)
        )
        assert len(id_of(forged)) == 32
    searched, _, embedded, _ = [record for record in caplog.records if record.msg == "call"]
    assert (searched.request_id, searched.method, searched.code) == ("mine-7", "Search", "OK")
    assert set(searched.stages) >= {"queue", "parse", "fingerprint", "encode", "search"}
    assert (embedded.method, embedded.code) == ("Embed", "INVALID_ARGUMENT")


@pytest.mark.slow
def test_a_fault_is_logged_under_the_id_of_its_call(embedder, index, caplog):
    with (
        live_server(Delegating(embedder, fail), index) as server,
        grpc.insecure_channel(server.target) as channel,
        pytest.raises(grpc.RpcError) as caught,
    ):
        ArchitectureRetrievalServiceStub(channel).Search(one_query(), metadata=MINE)
    assert detail(caught.value, RequestInfo).request_id == "mine-7"
    assert "request mine-7 failed" in caplog.text


def test_payloads_are_not_logged(server, caplog):
    caplog.set_level(logging.DEBUG, "nar.serve")
    with grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        stub.Get(wire.GetRequest(architectures=["timm:confidential"]))
        stub.Search(
            wire.SearchRequest(queries=[wire.Query(architecture="timm:confidential", top_k=999)])
        )
        channel.unary_unary(f"/{SERVICE}/Get").future(b"\xffconfidential").code()
    assert len([record for record in caplog.records if record.msg == "call"]) == 3
    text = caplog.text + "".join(JsonFormatter().format(record) for record in caplog.records)
    assert "confidential" not in text


def line(message="no message: %s", **fields):
    return logging.makeLogRecord({"msg": message, "args": ("x",), **fields})


def test_a_call_that_failed_has_its_line_among_many_that_did_not():
    limit = RateLimit(2.0, clock=lambda: 0.0)
    assert [limit.filter(line("call", code="OK")) for _ in range(1_000)].count(True) == BURST_LINES
    assert limit.filter(line("call", code="UNAVAILABLE"))


@pytest.mark.slow
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_log_of_a_server_is_written_as_its_settings_say(log_format):
    program = """
import logging, sys
from nar.config import ServerConfig
from nar.serve.logs import log_to_stderr

log_to_stderr(ServerConfig(log_format=sys.argv[1], log_lines_per_s=0.001))
for _ in range(1_000):
    logging.getLogger("nar.serve").info("call", extra={"code": "OK", "request_id": "mine-7"})
logging.getLogger("nar.serve").info("call", extra={"code": "INTERNAL", "request_id": "mine-8"})
"""
    command = [sys.executable, "-c", program, log_format]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()
    assert len(said) == BURST_LINES + 1
    if log_format == "json":
        told = json.loads(said[-1])
        assert (told["code"], told["request_id"]) == ("INTERNAL", "mine-8")
    else:
        assert said[-1].endswith("INFO call request_id=mine-8 code=INTERNAL")


def test_a_flood_of_one_kind_leaves_room_for_others():
    now = [0.0]
    limit = RateLimit(2.0, clock=lambda: now[0])
    assert [limit.filter(line()) for _ in range(100)].count(True) == BURST_LINES
    assert limit.filter(line("another: %s"))
    now[0] = 1.0
    first, second, third = line(), line(), line()
    assert [limit.filter(each) for each in (first, second, third)] == [True, True, False]
    assert (first.left_out, second.left_out) == (100 - BURST_LINES, 0)
    assert TextFormatter("%(message)s").format(first) == "no message: x left_out=80"


@pytest.mark.slow
@given(st.lists(st.floats(0, 10), max_size=300))
def test_lines_of_one_kind_are_bounded(gaps):
    now = [0.0]
    limit = RateLimit(1.0, clock=lambda: now[0])
    written = 0
    for gap in gaps:
        now[0] += gap
        written += limit.filter(line())
    assert written <= BURST_LINES + now[0]


def test_kinds_without_number_are_forgotten():
    limit = RateLimit(1.0, clock=lambda: 0.0)
    for number in range(3 * MAX_KINDS):
        assert limit.filter(line(f"kind {number}: %s"))
    assert len(limit._allowed) <= MAX_KINDS


def test_formats():
    fields = {"request_id": "7", "seconds": 0.25, "stages": {"search": 0.125}}
    record = line("call %s", created=1.5, levelname="INFO", name="nar", **fields)
    assert json.loads(JsonFormatter().format(record)) == {
        **{"time": 1.5, "level": "INFO", "logger": "nar", "message": "call x"},
        **fields,
    }
    text = TextFormatter("%(message)s").format(record)
    assert text == "call x request_id=7 seconds=0.2500 stages=search:0.1250"
    try:
        raise ZeroDivisionError("why")
    except ZeroDivisionError as error:
        fault = line(exc_info=(ZeroDivisionError, error, error.__traceback__))
    assert "ZeroDivisionError: why" in json.loads(JsonFormatter().format(fault))["traceback"]
    first, *traceback = TextFormatter("%(message)s").format(fault).split("\n")
    assert first == "no message: x"
    assert traceback[-1] == "ZeroDivisionError: why"


@pytest.mark.slow
def test_the_id_is_on_what_is_refused_before_it_is_read(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_in_flight=1, token="secret") as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        with pytest.raises(grpc.RpcError) as unknown:
            stub.Get(wire.GetRequest(), metadata=MINE)
        assert unknown.value.code() is grpc.StatusCode.UNAUTHENTICATED
        known = (*MINE, ("authorization", "Bearer secret"))
        first = stub.Search.future(one_query(), metadata=known)
        wait_for(lambda: gate.arrived == 1)
        with pytest.raises(grpc.RpcError) as shed:
            stub.Get(wire.GetRequest(), metadata=known)
        assert shed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        gate.open()
        first.result()
        stream = stub.SearchStream(iter([one_query()]), metadata=known)
        assert len(list(stream)) == 1
        assert [id_of(call) for call in (unknown.value, shed.value, stream)] == ["mine-7"] * 3
