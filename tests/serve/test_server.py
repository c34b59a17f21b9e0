"""The life of a server: ready, sick, drained, gone."""

import asyncio
import logging
import math
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import grpc
import pytest
from asking import detail, one_query, sample
from gated import Delegating, Gate, Watched
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from live_server import live_server
from server_process import config_of, server_process
from tiny_index import KNOWN, tiny_encoder, tiny_index
from waiting import wait_for

from nar.base.errors import ConfigError, IndexMismatchError
from nar.client.client import Client
from nar.encoding.embed import save_checkpoint
from nar.index.architecture_index import ArchitectureIndex
from nar.index.reader import Reader
from nar.index.settings import IndexConfig
from nar.serve import server as server_module
from nar.serve.calls import SERVICE
from nar.serve.dispatch import Resting
from nar.serve.doors import check_doors
from nar.serve.run import build_server, serve
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.settings import ServerConfig

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def channel(server):
    with grpc.insecure_channel(server.target) as channel:
        yield channel


def test_health_of_the_server_and_of_the_service(channel):
    health = health_pb2_grpc.HealthStub(channel)
    for service in ("", SERVICE):
        assert health.Check(health_pb2.HealthCheckRequest(service=service)).status == SERVING
    statuses = health.List(health_pb2.HealthListRequest()).statuses
    assert {name: told.status for name, told in statuses.items()} == {"": SERVING, SERVICE: SERVING}


def test_health_of_a_stranger(channel):
    health = health_pb2_grpc.HealthStub(channel)
    with pytest.raises(grpc.RpcError) as caught:
        health.Check(health_pb2.HealthCheckRequest(service="other"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    watching = health.Watch(health_pb2.HealthCheckRequest(service="other"))
    assert next(watching).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watching.cancel()


def test_reflection_names_the_services(channel):
    services = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert {SERVICE, "grpc.health.v1.Health"} <= set(services)


@pytest.mark.slow
def test_health_answers_while_every_thread_computes(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        waiting = ArchitectureRetrievalServiceStub(channel).Search.future(one_query())
        wait_for(lambda: gate.arrived == 1)
        health = health_pb2_grpc.HealthStub(channel)
        assert health.Check(health_pb2.HealthCheckRequest(), timeout=5).status == SERVING
        gate.open()
        assert waiting.result().results


@pytest.mark.slow
def test_a_dead_index_is_unavailable_and_unhealthy(embedder, tmp_path):
    with (
        tiny_index(tmp_path, embedder) as index,
        live_server(embedder, index, probe_interval_s=0.05) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watching).status == SERVING
        index.close()
        assert next(watching).status == NOT_SERVING
        with pytest.raises(grpc.RpcError) as caught:
            ArchitectureRetrievalServiceStub(channel).Search(one_query())
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert detail(caught.value, RetryInfo).retry_delay.seconds == 1
        assert str(tmp_path) not in str(caught.value)


@pytest.mark.slow
def test_an_index_that_is_silent_is_said_to_be(embedder, index, caplog):
    gate = Gate()
    with live_server(embedder, Watched(index, gate), probe_interval_s=0.05):
        wait_for(lambda: "not serving: the index does not answer within 0.05 s" in caplog.text)
        gate.open()


@pytest.mark.slow
def test_clients_are_answered_from_memory_while_the_store_is_gone(embedder, tmp_path):
    config = IndexConfig(uri=str(tmp_path / "index.db"))
    with (
        tiny_index(tmp_path, embedder) as index,
        Reader(lambda _: index, config) as reader,
        live_server(embedder, reader) as server,
        Client(server.target) as client,
    ):
        wait_for(lambda: reader.holds_rows)
        index.close()
        assert client.describe().index_rows == len(KNOWN)
        assert client.search("timm:plain").hits


@pytest.mark.slow
def test_a_store_that_is_away_is_said_and_readiness_stays_for_a_while(embedder, tmp_path):
    config = IndexConfig(uri=str(tmp_path / "index.db"), follow_s=0.05)
    bounds = {"probe_interval_s": 0.05, "max_stale_s": 3_600.0}
    with (
        tiny_index(tmp_path, embedder) as index,
        Reader(lambda _: index, config) as reader,
        live_server(embedder, reader, **bounds) as server,
        grpc.insecure_channel(server.target) as channel,
        Client(server.target) as client,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        wait_for(lambda: reader.agreed_s > 0)
        assert (client.search("timm:plain").stale_since, reader.stale_since) == (None, None)
        assert not stub.Get(wire.GetRequest(architectures=["timm:plain"])).HasField("stale_since")
        index.close()
        wait_for(lambda: sample(server, "nar_index_stale") == 1)
        since = reader.agreed_s
        assert client.search("timm:plain").stale_since == since
        assert client.describe().index.stale_since == since
        assert stub.Get(wire.GetRequest(architectures=["timm:plain"])).stale_since == since
        assert stub.List(wire.ListRequest()).stale_since == since
        [result] = stub.Search(one_query()).results
        assert result.sentences[0].part == "stale_since"
        wait_for(lambda: math.isnan(sample(server, "nar_index_rows")))
        assert sample(server, "nar_serving") == 1


@pytest.mark.slow
@pytest.mark.parametrize("reader_rows", [0, 100_000])
def test_a_store_that_stays_away_ends_readiness(embedder, tmp_path, reader_rows):
    """At once where the store itself is asked, after the bound where memory answers."""
    config = IndexConfig(uri=str(tmp_path / "index.db"), reader_rows=reader_rows, follow_s=0.05)
    bounds = {"probe_interval_s": 0.05, "max_stale_s": 0.3 if reader_rows else 3_600.0}
    with (
        tiny_index(tmp_path, embedder) as index,
        Reader(lambda _: index, config) as reader,
        live_server(embedder, reader, **bounds) as server,
    ):
        wait_for(lambda: reader.agreed_s > 0)
        index.close()
        wait_for(lambda: sample(server, "nar_serving") == 0)
        assert sample(server, "nar_index_stale") == (reader_rows > 0)


@pytest.mark.slow
def test_readiness_waits_until_calls_are_answered_at_full_speed(embedder, index):
    servers = []

    async def scene():
        config = ServerConfig(port=0, metrics_port=0)
        server = build_server(config, embedder, index, is_warm=False)
        servers.append(server)
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            cold = (await watching.read()).status
            answered = await ArchitectureRetrievalServiceStub(channel).Search(one_query())
            await asyncio.to_thread(server.warm_up)
            server.warmed()
            warm = (await watching.read()).status
            watching.cancel()
        await server.drain()
        return cold, len(answered.results), warm

    assert asyncio.run(scene()) == (NOT_SERVING, 1, SERVING)


@pytest.mark.slow
def test_a_drain_finishes_what_is_in_flight(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watching).status == SERVING
        calls = [stub.Search.future(one_query()) for _ in range(12)]
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 12)
        server.begin_stop()
        assert [told.status for told in watching] == [NOT_SERVING]
        gate.open()
        assert [len(call.result(30).results) for call in calls] == [1] * 12
        server.join()
    with grpc.insecure_channel(server.target) as late, pytest.raises(grpc.RpcError) as caught:
        ArchitectureRetrievalServiceStub(late).Search(one_query())
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.slow
def test_a_drain_gives_up_after_its_grace(embedder, index):
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, drain_grace_s=0.2) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        call = ArchitectureRetrievalServiceStub(channel).Search.future(one_query())
        wait_for(lambda: gate.arrived == 1)
        server.begin_stop()
        assert call.code() is grpc.StatusCode.UNAVAILABLE
        # The thread is still at the gate.
        server.join()
        gate.open()


@pytest.mark.slow
@pytest.mark.parametrize("which", ["port", "metrics_port"])
def test_a_port_that_is_taken(embedder, index, server, which):
    taken = server.target if which == "port" else server.metrics_url.removesuffix("/metrics")
    port = int(taken.rpartition(":")[2])
    failing = live_server(embedder, index, **{which: port})
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}: .*--port"), failing:
        pass


@pytest.mark.parametrize(
    ("settings", "warns"),
    [
        ({}, False),
        ({"host": "localhost"}, False),
        ({"host": "::1"}, False),
        ({"host": "0.0.0.0", "clear_text": True}, True),
        ({"host": "nar.example", "clear_text": True}, True),
        ({"host": "0.0.0.0", "clear_text": True, "token": "x"}, False),
    ],
)
def test_an_open_door_is_announced(settings, warns, caplog):
    check_doors(ServerConfig(**settings))
    assert ("ANYONE" in caplog.text) is warns
    assert all(record.levelno == logging.WARNING for record in caplog.records)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_an_empty_token_is_no_token_and_that_is_said_once(host, monkeypatch, caplog, tmp_path):
    open_to_all = {"host": host, "clear_text": True}
    monkeypatch.setenv("NAR_TOKEN", "")
    check_doors(ServerConfig(**open_to_all))
    (record,) = caplog.records
    assert "NAR_TOKEN is set and empty" in record.message
    assert record.levelno == logging.WARNING
    tokens = tmp_path / "readers.txt"
    tokens.write_text("a-token")
    for told in ({"token": "x"}, {"reader_tokens_file": tokens}):
        check_doors(ServerConfig(**open_to_all, **told))
    assert len(caplog.records) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_cleanly(workspace, number):
    with server_process(workspace) as server:
        with Client(server.target) as client:
            assert client.search("timm:plain", top_k=1).hits
        server.process.send_signal(number)
        assert server.process.wait() == 0
    with ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index:
        assert index.count() == len(KNOWN)


LOADING = """
import time
import torch
from nar.encoding.stored import StoredEmbedder
def load(_):
    end = time.monotonic() + 3
    while time.monotonic() < end:
        torch.ones(500, 500) @ torch.ones(500, 500)
StoredEmbedder.load = load
"""


@pytest.mark.slow
def test_a_process_that_still_loads_its_encoder_ends_cleanly(workspace):
    """Its thread was in C++ code when the interpreter went away, and the process aborted."""
    with server_process(workspace, before=LOADING) as server:
        server.process.terminate()
        assert server.process.wait() == 0


STUCK = """
import threading
from nar.encoding.embed import Embedder
Embedder.embed = lambda *_, **__: threading.Event().wait()
"""


@pytest.mark.slow
def test_a_thread_that_never_ends_does_not_keep_the_process(workspace):
    with (
        server_process(workspace, before=STUCK) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        with pytest.raises(grpc.RpcError):
            stub.Search(one_query(), timeout=0.5)
        server.process.terminate()
        assert server.process.wait(config_of(workspace).server.drain_grace_s + 20) == 1


@pytest.fixture
def long_notice(monkeypatch):
    """However busy this machine is, a call arrives before the port closes."""
    monkeypatch.setattr(server_module, "NOTICE_S", 2.0)


@pytest.mark.slow
def test_calls_that_race_the_stop_are_sent_elsewhere(embedder, index, long_notice):
    codes = []

    def ask_until_refused():
        with grpc.insecure_channel(server.target) as channel:
            stub = ArchitectureRetrievalServiceStub(channel)
            while not codes or codes[-1] is grpc.StatusCode.OK:
                codes.append(stub.Describe.future(wire.DescribeRequest()).code())

    with live_server(embedder, index) as server, ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask_until_refused) for _ in range(4)]
        wait_for(lambda: len(codes) > 50)
        server.begin_stop()
        for each in asking:
            each.result()
    assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}


@pytest.mark.slow
def test_a_call_after_the_stop_is_told_when_to_come_back(embedder, index, long_notice, monkeypatch):
    gate, rests = Gate(), []
    monkeypatch.setattr(Resting, "before_a_call", rests.append)
    with (
        live_server(Delegating(embedder, gate), index) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watching).status == SERVING
        server.begin_stop()
        assert next(watching).status == NOT_SERVING
        with pytest.raises(grpc.RpcError, match="this server stops") as caught:
            stub.Search(one_query())
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert detail(caught.value, RetryInfo).retry_delay.seconds == 1
        assert sample(server, "nar_rpc_rejected_total", reason="draining") == 1
        assert not rests  # the port closes soon


@pytest.mark.slow
def test_vectors_of_another_encoder_are_not_served(workspace):
    save_checkpoint(workspace.checkpoint, tiny_encoder(seed=1))
    with pytest.raises(IndexMismatchError, match="make one anew: `python"):
        serve(config_of(workspace), workspace.checkpoint)


def silent(target, said, count):
    """Connections that say something and then nothing."""
    host, _, port = target.rpartition(":")
    opened = [socket.create_connection((host, int(port)), timeout=120) for _ in range(count)]
    for each in opened:
        each.sendall(said)
    return opened


def ended(connections):
    """Wait until the server has closed each; the test's own patience is the time limit of each."""
    for each in connections:
        with suppress(ConnectionResetError):
            while each.recv(4096):
                pass
        each.close()


# HTTP/2 begins so; then an empty frame of settings comes.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("target", PREFACE[:8]),
        ("target", PREFACE + SETTINGS),
        ("web_target", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "),
    ],
    ids=["half a preface", "no call", "half a head"],
)
def test_connections_that_say_nothing_end(embedder, index, which, said):
    limits = {"max_handshake_s": 1, "max_connection_idle_s": 1}
    with live_server(embedder, index, web_port=0, **limits) as server:
        ended(silent(getattr(server, which), said, 5))
        with Client(server.target) as client:
            assert client.describe().index_rows == len(KNOWN)


@pytest.mark.slow
def test_each_head_of_a_connection_has_to_come(embedder, index):
    with live_server(embedder, index, web_port=0, max_handshake_s=1) as server:
        (browser,) = silent(server.web_target, b"GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 1)
        assert b"404" in browser.recv(4096)
        browser.sendall(b"GET /")
        ended([browser])


@pytest.mark.slow
def test_connections_are_counted_and_an_address_leaves_some_to_others(embedder, index):
    with live_server(embedder, index, web_port=0, max_connections=8) as server:
        callers = silent(server.target, PREFACE + SETTINGS, 3)
        wait_for(lambda: sample(server, "nar_connections", port="grpc") == 3)
        browsers = silent(server.web_target, b"GET /", 7)
        ended(browsers[6:])
        wait_for(lambda: sample(server, "nar_connections", port="web") == 6)
        assert sample(server, "nar_connections_max", port="web") == 8
        for each in (*callers, *browsers):
            each.close()
        wait_for(lambda: sample(server, "nar_connections", port="web") == 0)
