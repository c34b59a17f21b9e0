"""The heaviest calls that a server of the atlas takes: what memory they need, who asks beside."""

import os

import grpc
import pytest
from asking import one_query, sample
from milvus_server import free_port
from server_process import ATLAS, process_of
from waiting import wait_for

from benchmark.campaigns.asked import heaviest
from benchmark.campaigns.heavy import deployed_mb
from nar.config import NarConfig
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.settings import ServerConfig

CALLS = 2
LIMIT_BYTES = deployed_mb() * 2**20
# Nothing is stored meanwhile.
FILES_ALONE = ATLAS.replace("is_named=is_named", "is_named=is_named, files_alone=True")


@pytest.fixture(scope="module")
def atlas_server():
    port = free_port()
    # On a busy machine the heaviest graph takes minutes; what is measured is its memory.
    config = NarConfig(server=ServerConfig(port=0, metrics_port=port, max_call_s=500))
    told = config.model_dump_json(exclude={"server": {"token"}})
    with process_of(FILES_ALONE, told, "unnamed", env=os.environ) as server:
        server.metrics_url = f"http://127.0.0.1:{port}/metrics"
        yield server


@pytest.fixture(scope="module")
def stub(atlas_server):
    with grpc.insecure_channel(atlas_server.target) as channel:
        yield ArchitectureRetrievalServiceStub(channel)


@pytest.fixture(scope="module")
def heavy_request(stub):
    """As large as a call may be."""
    return heaviest(stub.Describe(wire.DescribeRequest()).limits, seed=1)


def in_flight(server):
    return sample(server, "nar_rpc_in_flight")


@pytest.mark.slow
def test_callers_who_leave_the_heaviest_calls_leave_no_work_behind(
    atlas_server, stub, heavy_request
):
    calls = [stub.Embed.future(heavy_request) for _ in range(CALLS)]
    wait_for(lambda: in_flight(atlas_server) == CALLS)
    for call in calls:
        call.cancel()
    assert stub.Search(one_query()).results[0].hits
    wait_for(lambda: in_flight(atlas_server) == 0)
    assert {call.code() for call in calls} == {grpc.StatusCode.CANCELLED}
    assert atlas_server.peak_bytes() < LIMIT_BYTES


@pytest.mark.slow
def test_the_heaviest_graph_fits_the_memory_that_a_server_is_given(
    atlas_server, stub, heavy_request
):
    heavy = stub.Embed.future(wire.EmbedRequest(graphs=heavy_request.graphs[:1]))
    wait_for(lambda: in_flight(atlas_server) == 1)
    assert stub.Search(one_query()).results[0].hits
    assert not heavy.done()
    assert not heavy.result().results[0].status.code
    assert atlas_server.peak_bytes() < LIMIT_BYTES
