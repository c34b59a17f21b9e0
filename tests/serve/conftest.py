from shutil import copytree

import grpc
import pytest
from live_server import live_server
from tiny_index import tiny_embedder, tiny_encoder, tiny_index

from nar.base.workspace import Workspace
from nar.client.client import Client
from nar.encoding.embed import save_checkpoint
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub


@pytest.fixture(scope="session")
def embedder():
    return tiny_embedder()


@pytest.fixture(scope="session")
def index(tmp_path_factory, embedder):
    with tiny_index(tmp_path_factory.mktemp("index"), embedder) as index:
        yield index


@pytest.fixture(scope="session")
def server(embedder, index):
    with live_server(embedder, index, max_queries=4, max_top_k=3, max_nodes=8, max_edges=8) as live:
        yield live


@pytest.fixture(scope="session")
def stub(server):
    with grpc.insecure_channel(server.target) as channel:
        yield ArchitectureRetrievalServiceStub(channel)


@pytest.fixture(scope="session")
def client(server):
    with Client(server.target) as client:
        yield client


@pytest.fixture(scope="session")
def raw_call(server):
    """Send bytes to a method; gives the number of the status code."""
    with grpc.insecure_channel(server.target) as channel:

        def call(method, sent):
            try:
                channel.unary_unary(f"/nar.v1.ArchitectureRetrievalService/{method}")(sent)
            except grpc.RpcError as error:
                return error.code().value[0]
            return 0

        yield call


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Directory of a workspace that each test gets a copy of: Milvus Lite is slow to begin."""
    directory = tmp_path_factory.mktemp("finished")
    save_checkpoint(Workspace(directory).checkpoint, tiny_encoder())
    with tiny_index(directory, tiny_embedder()):
        return directory


@pytest.fixture
def workspace(finished, tmp_path):
    """A checkpoint and its index, both closed, as `nar serve` finds them."""
    copytree(finished, tmp_path, dirs_exist_ok=True)
    return Workspace(tmp_path)
