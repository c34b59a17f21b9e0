"""What only a client that awaits does; all else is tested of both (`both_clients.py`)."""

import asyncio

import pytest
from asking import sample
from gated import Delegating, Gate
from live_server import live_server
from tiny_index import known, tiny_embedder, tiny_index
from waiting import wait_for

from nar.client.async_client import AsyncClient


@pytest.fixture(scope="module")
def embedder():
    return tiny_embedder()


@pytest.fixture(scope="module")
def index(tmp_path_factory, embedder):
    with tiny_index(tmp_path_factory.mktemp("index"), embedder) as index:
        yield index


@pytest.mark.slow
def test_many_that_start_together_read_the_limits_once(embedder, index):
    async def ask(target):
        async with AsyncClient(target) as client:
            return await asyncio.gather(*(client.search("timm:plain") for _ in range(20)))

    with live_server(embedder, index) as server:
        answers = asyncio.run(ask(server.target))
        wait_for(lambda: sample(server, "nar_rpc_requests_total", method="Search") == 20)
        assert sample(server, "nar_rpc_requests_total", method="Describe") == 1
    assert {answer.hits[0].name for answer in answers} == {answers[0].hits[0].name}


@pytest.mark.slow
def test_who_cancels_a_coroutine_cancels_its_call(embedder, index):
    gate = Gate()

    async def ask(target):
        async with AsyncClient(target) as client:
            await client.describe()
            asked = asyncio.create_task(client.search(known("timm:plain")))
            await asyncio.to_thread(wait_for, lambda: gate.arrived == 1)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked

    with live_server(Delegating(embedder, gate), index) as server:
        asyncio.run(ask(server.target))
        wait_for(lambda: sample(server, "nar_rpc_requests_total", code="CANCELLED") == 1)
        gate.open()


@pytest.mark.slow
def test_a_stream_takes_targets_that_are_awaited(embedder, index):
    async def targets():
        for _ in range(3):
            await asyncio.to_thread(int)
            yield "timm:plain"

    async def ask(target):
        async with AsyncClient(target) as client:
            return [answer async for answer in client.search_stream(targets(), top_k=1)]

    with live_server(embedder, index, max_queries=1) as server:
        answers = asyncio.run(ask(server.target))
    assert [len(answer.hits) for answer in answers] == [1, 1, 1]
