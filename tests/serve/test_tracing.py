"""Traces that go on from a client to the server, with the real SDK, and without any of it."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from asking import one_query
from live_server import live_server
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from server_process import server_process
from tiny_index import known
from waiting import wait_for

from nar.serve.calls import SERVICE, Patience, StageClock
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

ROOT = Path(__file__).parents[2]

WITHOUT = """
import sys

sys.modules["opentelemetry"] = None
import logging
import tempfile
from pathlib import Path
import grpc
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from both_clients import CLIENTS
from live_server import live_server
from tiny_index import known, tiny_embedder, tiny_index
embedder = tiny_embedder()
with tempfile.TemporaryDirectory() as directory, tiny_index(Path(directory), embedder) as index:
    with live_server(embedder, index) as server:
        for client in CLIENTS.values():
            with client(server.target) as opened:
                print(len(opened.search(known("timm:plain"), top_k=1).hits))
        logging.basicConfig(level=logging.INFO, format="%(trace_id)s", stream=sys.stdout)
        with grpc.insecure_channel(server.target) as channel:
            sent = (("traceparent", "00-" + "a" * 32 + "-" + "b" * 16 + "-01"),)
            ArchitectureRetrievalServiceStub(channel).Describe(
                wire.DescribeRequest(), metadata=sent
            )
        logging.disable()
"""


# A process can set a provider once, and parametrised fixtures let a module be entered again.
@pytest.fixture(scope="session")
def exporter():
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield exporter
    provider.shutdown()


# Of an interpreter that says where spans go before the program begins, as what
# `opentelemetry-instrument` starts does.
SITE = """
import os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
if path := os.environ.pop("SPANS", None):
    provider = TracerProvider()
    exporter = ConsoleSpanExporter(out=open(path, "w"), formatter=lambda span: f"{span.name} ")
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
    trace.set_tracer_provider(provider)
"""


@pytest.fixture
def spans_of(exporter):
    """The spans of one method, once its call is among them: its own, and those below it."""
    exporter.clear()

    def ended(method):
        def own():
            return [s for s in exporter.get_finished_spans() if s.name == f"{SERVICE}/{method}"]

        wait_for(own)
        [call] = own()
        below = call.context.span_id
        stages = [
            s for s in exporter.get_finished_spans() if s.parent and s.parent.span_id == below
        ]
        return call, {stage.name: stage for stage in stages}

    return ended


def test_a_call_goes_on_with_the_span_of_its_caller(server, open_client, spans_of, caplog):
    caplog.set_level(logging.INFO, "nar.serve")
    with open_client(server.target) as client:
        client.describe()
        with trace.get_tracer("mine").start_as_current_span("asking") as asking:
            client.search(known("timm:plain"))
    call, stages = spans_of("Search")
    assert call.parent.span_id == asking.get_span_context().span_id
    assert call.context.trace_id == asking.get_span_context().trace_id
    assert call.kind is trace.SpanKind.SERVER
    assert dict(call.attributes) == {
        **{"rpc.system": "grpc", "rpc.service": SERVICE, "rpc.method": "Search"},
        "rpc.grpc.status_code": 0,
    }
    assert set(stages) >= {"queue", "parse", "fingerprint", "encode", "search"}
    for stage in stages.values():
        assert call.start_time <= stage.start_time <= stage.end_time <= call.end_time
    [line] = [each for each in caplog.records if getattr(each, "method", "") == "Search"]
    assert line.trace_id == trace.format_trace_id(call.context.trace_id)


@pytest.mark.parametrize("sent", ["", "junk", "00-" + "0" * 32 + "-" + "1" * 16 + "-01"])
def test_a_malformed_parent_is_ignored(server, spans_of, sent):
    with grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        assert stub.Search(one_query(), metadata=(("traceparent", sent),)).results
    assert spans_of("Search")[0].parent is None


class Instrumented(grpc.aio.ServerInterceptor):
    """Begins a span around each call, as what instruments grpc does."""

    async def intercept_service(self, continuation, handler_call_details):
        handler = await continuation(handler_call_details)

        async def within(requests, context):
            with trace.get_tracer("theirs").start_as_current_span("theirs"):
                return await handler.stream_unary(requests, context)

        return grpc.stream_unary_rpc_method_handler(
            within, response_serializer=handler.response_serializer
        )


@pytest.mark.slow
def test_a_call_is_below_the_span_that_another_library_began_for_it(
    embedder, index, spans_of, exporter, monkeypatch
):
    bare = grpc.aio.server

    def server(interceptors, **settings):
        return bare(interceptors=[Instrumented(), *interceptors], **settings)

    monkeypatch.setattr(grpc.aio, "server", server)
    with live_server(embedder, index) as live, grpc.insecure_channel(live.target) as channel:
        assert ArchitectureRetrievalServiceStub(channel).Search(one_query()).results
    call, _ = spans_of("Search")
    [theirs] = [span for span in exporter.get_finished_spans() if span.name == "theirs"]
    assert call.parent.span_id == theirs.context.span_id
    assert call.kind is trace.SpanKind.INTERNAL


@pytest.mark.slow
def test_a_process_that_ends_has_sent_all_its_spans(workspace, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(SITE)
    spans = tmp_path / "spans"
    monkeypatch.setenv("SPANS", str(spans))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    with (
        server_process(workspace) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        assert ArchitectureRetrievalServiceStub(channel).Search(one_query()).results
    assert {f"{SERVICE}/Search", "queue", "search"} <= set(spans.read_text().split())


def test_stages_are_read_while_the_thread_of_a_call_goes_on():
    clock = StageClock(Patience(60))
    with clock.stage("parse"):
        pass
    seen = iter(clock.intervals)
    with clock.stage("search"):
        pass
    assert list(seen) == ["parse"]


@pytest.mark.slow
def test_clients_and_server_work_without_it():
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["1", "1", "a" * 32], "")
