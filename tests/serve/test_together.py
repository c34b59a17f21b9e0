"""Calls that wait for a thread and are answered together, each as if it were alone."""

import asyncio
import threading
from contextlib import contextmanager

import grpc
import pytest
from asking import assert_alike, one_query, sample
from gated import Delegating, Gate
from live_server import live_server
from tiny_index import KNOWN, known
from waiting import wait_for

from nar.answers.retrieve import Retriever
from nar.serve.calls import Call, Patience, StageClock
from nar.serve.items import Received
from nar.serve.workers import MAX_TOGETHER, SMALL_BYTES, Pool, Waiting, WaitingRoom
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph
from nar.wire.records import decode_answer


def search_of(name, **fields):
    query = wire.Query(graph=encode_graph(known(name)), **fields)
    return wire.SearchRequest(queries=[query])


@contextmanager
def held(embedder, index, **settings):
    """A server with one thread, and a call that holds it until the gate is opened."""
    gate = Gate()
    with (
        live_server(Delegating(embedder, gate), index, max_wait_s=60, **settings) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        first = stub.Search.future(one_query())
        wait_for(lambda: gate.arrived == 1)
        yield server, stub, gate
        gate.open()
        assert first.result().results


def begun(server, calls):
    wait_for(lambda: sample(server, "nar_rpc_in_flight") == calls + 1)


@pytest.mark.slow
def test_calls_that_wait_are_embedded_together_and_answered_as_if_alone(embedder, index):
    retriever = Retriever(embedder, index)
    with held(embedder, index) as (server, stub, gate):
        calls = [stub.Search.future(search_of(name, top_k=2)) for name in KNOWN]
        begun(server, len(KNOWN))
        gate.open()
        responses = [call.result() for call in calls]
        assert gate.arrived == 2
    assert_alike(
        [decode_answer(response.results[0]) for response in responses],
        [retriever.search(known(name), top_k=2) for name in KNOWN],
    )
    for response in responses:
        assert response.timings.queue_ns > 0
        assert response.timings.fingerprint_ns > 0
        assert response.timings.encode_ns == responses[0].timings.encode_ns > 0


@pytest.mark.slow
def test_requests_of_streams_are_embedded_together(embedder, index):
    with held(embedder, index) as (server, stub, gate):
        streams = [stub.SearchStream(iter([search_of(name, top_k=1)])) for name in KNOWN]
        begun(server, len(KNOWN))
        gate.open()
        answers = [[*stream] for stream in streams]
        assert gate.arrived == 2
        counted = {"method": "SearchStream", "code": "OK"}
        assert sample(server, "nar_rpc_items_total", **counted) == len(KNOWN)
    for name, [answer] in zip(KNOWN, answers, strict=True):
        assert answer.results[0].hits[0].architecture.name == name


@pytest.mark.slow
def test_what_is_wrong_with_one_call_is_said_to_it_alone(embedder, index):
    with held(embedder, index) as (server, stub, gate):
        good = stub.Search.future(search_of("timm:plain"))
        item = stub.Search.future(wire.SearchRequest(queries=[wire.Query(architecture="nobody")]))
        whole = stub.Search.future(wire.SearchRequest())
        gone = stub.Search.future(search_of("timm:mixer"))
        begun(server, 4)
        late = stub.Search.future(search_of("timm:mixer"), timeout=0.3)
        gone.cancel()
        wait_for(lambda: late.code() is grpc.StatusCode.DEADLINE_EXCEEDED)
        gate.open()
        assert good.result().results[0].hits[0].architecture.name == "timm:plain"
        assert item.result().results[0].status.code == grpc.StatusCode.NOT_FOUND.value[0]
        with pytest.raises(grpc.RpcError, match="wanted 1 to 64, came 0"):
            whole.result()
        wait_for(lambda: sample(server, "nar_rpc_in_flight") == 0)
    assert gate.arrived == 2


class Choosy:
    """An embedder that fails for one graph, whatever is beside it."""

    def __init__(self, embedder, graph):
        self._embedder, self._graph = embedder, graph

    def __getattr__(self, name):
        return getattr(self._embedder, name)

    def embed(self, graphs, *, observe):
        assert self._graph not in graphs, "a fault of ours"
        return self._embedder.embed(graphs, observe=observe)


@pytest.mark.slow
def test_a_fault_of_ours_meets_only_the_call_that_brings_it_out(embedder, index):
    names = ["timm:mixer", "timm:residual", "darts:cell"]
    with held(Choosy(embedder, known("timm:residual")), index) as (server, stub, gate):
        calls = {name: stub.Search.future(search_of(name)) for name in names}
        begun(server, len(names))
        gate.open()
        codes = {name: call.code().name for name, call in calls.items()}
    assert codes == {"timm:mixer": "OK", "timm:residual": "INTERNAL", "darts:cell": "OK"}


@pytest.mark.slow
def test_graphs_of_embed_calls_are_embedded_together(embedder, index):
    with held(embedder, index) as (server, stub, gate):
        graphs = [encode_graph(known(name)) for name in KNOWN]
        calls = [stub.Embed.future(wire.EmbedRequest(graphs=[graph])) for graph in graphs]
        begun(server, len(graphs))
        gate.open()
        vectors = [list(call.result().results[0].vector.values) for call in calls]
        assert gate.arrived == 2
    for name, vector in zip(KNOWN, vectors, strict=True):
        assert vector == pytest.approx(embedder.embed([known(name)])[0].tolist(), abs=1e-5)


def call_of(method="Search", patience_s=60.0):
    return Call(method, None, StageClock(Patience(patience_s)), "id")


def asked_of(size_bytes=1, patience_s=60.0):
    clock = StageClock(Patience(patience_s))
    return Received(bytes(size_bytes), wire.SearchRequest.FromString, clock)


def waiting_of(method="Search", size_bytes=1, alone=False, patience_s=60.0):
    call = call_of(method, patience_s)
    return Waiting(call, asked_of(size_bytes, patience_s), lambda _: [], alone=alone)


def taken(room):
    """How many each thread takes that comes, until nobody waits."""
    sizes = []
    while calls := room.taken_along():
        sizes.append(len(calls))
    return sizes


def room_of(*waiting, threads=1, max_bytes=1_000):
    room = WaitingRoom(threads, max_bytes)
    for each in waiting:
        room.enter(each)
    return room


def test_one_thread_takes_small_calls_and_large_ones_are_shared():
    waiting = [waiting_of() for _ in range(MAX_TOGETHER + 3)]
    assert taken(room_of(*waiting, threads=2)) == [MAX_TOGETHER, 3]
    large = [waiting_of(size_bytes=SMALL_BYTES + 1) for _ in range(8)]
    assert taken(room_of(*large, threads=2, max_bytes=10**9)) == [4, 2, 1, 1]


def test_only_calls_of_one_method_go_together_and_none_that_is_alone():
    kinds = [("Search", False), ("Embed", False), ("Search", False), ("Search", True)]
    room = room_of(*(waiting_of(method, alone=alone) for method, alone in kinds))
    assert taken(room) == [2, 1, 1]


def test_calls_that_go_together_are_small_together():
    sizes = [400, 500, 200, 900, 2_000]
    assert taken(room_of(*(waiting_of(size_bytes=size) for size in sizes))) == [2, 1, 1, 1]


def test_who_has_left_is_not_taken_along():
    here, gone, late = waiting_of(), waiting_of(), waiting_of(patience_s=0)
    gone.answered.cancel()
    assert room_of(here, gone, late).taken_along() == [here]
    assert late.answered.exception()


def test_who_leaves_while_waiting_is_forgotten():
    """Requests of heavy calls have megabytes, and their callers may come again and again."""
    pool, resume = Pool("few", 1, 60.0, 1_000), threading.Event()

    def work(asked):
        resume.wait(300)
        return [wire.SearchResponse() for _ in asked]

    async def come_and_go():
        first, second = (
            asyncio.create_task(pool.answer(call_of(), asked_of(), work, alone=True))
            for _ in range(2)
        )
        while not (pool.is_busy and pool._waiting.count == 1):
            await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second})
        assert pool._waiting.count == 0
        resume.set()
        assert await first == wire.SearchResponse()
        assert pool.lane.expected_wait_s == 0

    asyncio.run(come_and_go())
    pool.shutdown()


def test_a_room_that_is_closed_sends_everyone_away():
    before, after = waiting_of(), waiting_of()
    room = room_of(before)
    room.close()
    room.enter(after)
    assert before.answered.cancelled()
    assert after.answered.cancelled()
    assert room.taken_along() == []


def exits(_):
    raise SystemExit(3)


@pytest.mark.parametrize("work", [exits, lambda _: []], ids=["exits", "says too little"])
def test_no_call_is_left_without_an_end(work):
    pool = Pool("small", 1, max_wait_s=1, max_bytes=1_000)

    async def answered():
        return await pool.answer(call_of(), asked_of(), work, alone=False)

    for _ in range(3):
        with pytest.raises(RuntimeError, match="without replies"):
            asyncio.run(answered())
    assert (pool.is_busy, pool.lane.expected_wait_s) == (False, 0)
    pool.shutdown()
