"""Calls that clients make again: what is safe and may help, when a server says, within a budget."""

import threading
from concurrent import futures
from contextlib import contextmanager

import grpc
import pytest
from asking import sample
from live_server import live_server
from milvus_server import free_port
from tiny_index import tiny_embedder, tiny_index

from nar.base.errors import InvalidQueryError
from nar.client.client import Client
from nar.client.remote import ServiceError
from nar.serve.status import PUSHBACK
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import (
    ArchitectureRetrievalServiceServicer,
    add_ArchitectureRetrievalServiceServicer_to_server,
)


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


@pytest.mark.slow
def test_a_call_that_was_not_answered_is_tried_again(flaky, open_client):
    with open_client(flaky.target) as client:
        assert client.describe().version == "3"
    assert flaky.calls == 3


class Refusing(ArchitectureRetrievalServiceServicer):
    """Ends every call with a code, and counts them."""

    def __init__(self, code, pushback):
        self.calls = 0
        self._code, self._pushback = code, pushback
        self._lock = threading.Lock()

    def Describe(self, request, context):
        with self._lock:
            self.calls += 1
        if self._pushback:
            context.set_trailing_metadata(((PUSHBACK, self._pushback),))
        context.abort(self._code, "no")


@contextmanager
def refusing(code, pushback=None):
    server = grpc.server(futures.ThreadPoolExecutor(4))
    servicer = Refusing(grpc.StatusCode[code], pushback)
    add_ArchitectureRetrievalServiceServicer_to_server(servicer, server)
    servicer.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield servicer
    server.stop(None).wait()


@pytest.mark.parametrize(
    ("code", "pushback", "calls"),
    [
        ("RESOURCE_EXHAUSTED", "1", 5),
        ("RESOURCE_EXHAUSTED", "-1", 1),
        ("INTERNAL", None, 1),
        ("DEADLINE_EXCEEDED", None, 1),
        ("INVALID_ARGUMENT", None, 1),
        ("FAILED_PRECONDITION", None, 1),
    ],
)
def test_only_what_is_safe_and_may_help_is_tried_again(open_client, code, pushback, calls):
    with refusing(code, pushback) as server, open_client(server.target) as client:
        with pytest.raises((ServiceError, InvalidQueryError)):
            client.describe()
        assert server.calls == calls


@pytest.mark.slow
def test_tries_have_a_budget(open_client):
    """A server that answers nobody is not asked five times by everybody."""
    with refusing("RESOURCE_EXHAUSTED", "1") as server, open_client(server.target) as client:
        for _ in range(100):
            with pytest.raises(ServiceError):
                client.describe()
        assert 100 < server.calls <= 100 + 50


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_request_that_is_too_large_is_not_sent(tmp_path, open_client):
    embedder = tiny_embedder()
    with (
        tiny_index(tmp_path, embedder) as index,
        live_server(embedder, index, max_message_bytes=2_000) as server,
        open_client(server.target) as client,
    ):
        with pytest.raises(InvalidQueryError, match="at most 2,000 bytes in a message, came 2,001"):
            client.get(["timm:plain", "x" * 2_001])
        assert sample(server, "nar_rpc_rejected_total", reason="oversized") == 0
        assert sample(server, "nar_rpc_requests_total", method="Get") == 0
