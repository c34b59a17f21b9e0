"""The connection of load campaigns: what it says of a call is what a client of grpc says."""

import gc
import time

import pytest
from asking import one_query
from gated import Delegating, Gate
from live_server import live_server
from tiny_index import tiny_embedder, tiny_index

from benchmark.campaigns import load as load_module
from benchmark.campaigns.load import closed_loop, open_loop, serialized
from benchmark.campaigns.wire import DEFAULT_WINDOW
from nar.v1 import retrieval_pb2 as wire


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with tiny_index(tmp_path_factory.mktemp("index"), tiny_embedder()) as index:
        yield index


def codes(target, *requests):
    """How closed calls of each request end, for a moment."""
    load = closed_loop(target, serialized(requests), clients=8, seconds=0.3, deadline_s=30)
    return set(load.codes)


@pytest.mark.slow
def test_calls_end_as_clients_are_told(index):
    with live_server(tiny_embedder(), index) as server:
        assert codes(server.target, ("Search", one_query())) == {"OK"}
        wrong = wire.SearchRequest(queries=[wire.Query(architecture="nobody's")] * 65)
        assert codes(server.target, ("Search", wrong)) == {"INVALID_ARGUMENT"}
        assert codes(server.target, ("Guess", one_query())) == {"UNIMPLEMENTED"}


@pytest.mark.slow
def test_what_is_longer_than_a_frame_and_what_waits_for_room_arrives(index):
    long = wire.SearchRequest(queries=[wire.Query(architecture="n" * 1_000)] * 60)
    assert DEFAULT_WINDOW / 2 < long.ByteSize() < DEFAULT_WINDOW
    with live_server(tiny_embedder(), index) as server:
        assert codes(server.target, ("Search", long)) == {"OK"}


@pytest.mark.slow
def test_who_waits_too_long_leaves(index):
    gate = Gate()
    with live_server(Delegating(tiny_embedder(), gate), index) as server:
        load = open_loop(
            server.target,
            serialized([("Search", one_query())]),
            per_s=20,
            seconds=0.5,
            deadline_s=0.2,
            seed=1,
        )
        gate.open()
    assert load.codes["DEADLINE_EXCEEDED"] > 0
    assert load.milliseconds(["DEADLINE_EXCEEDED"], 99) >= 200


@pytest.mark.slow
def test_a_load_says_how_late_its_callers_sent(index, monkeypatch):
    """They are all in one thread, and so its pauses are theirs."""

    def arrivals_after_a_pause(_per_s, _seconds, _seed):
        yield 0.0
        time.sleep(0.3)
        yield 0.1

    monkeypatch.setattr(load_module, "arrivals", arrivals_after_a_pause)
    with live_server(tiny_embedder(), index) as server:
        load = open_loop(
            server.target,
            serialized([("Search", one_query())]),
            per_s=20,
            seconds=0.5,
            deadline_s=30,
            seed=1,
        )
    assert load.codes == {"OK": 2}
    assert load.late_s >= 0.2
    assert gc.isenabled()
