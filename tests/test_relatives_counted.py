"""Every front end gives as many networks as are asked for, whatever copies of them are known."""

import json

import grpc
import pytest
from both_clients import CLIENTS
from google.protobuf.json_format import MessageToDict
from live_server import live_server
from tiny_index import known, tiny_embedder
from typer.testing import CliRunner
from web_asking import ask

import nar
from nar.answers.retrieve import Retriever
from nar.cli.app import app
from nar.graphs.architecture import Labels, architecture
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import index_row
from nar.index.settings import IndexConfig
from nar.mcp_server import Tools
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

# Every network is known under several names, the nearest one under more than are asked for.
NAMES = {"timm:plain": 7, "timm:residual": 2, "timm:mixer": 2, "darts:cell": 1}
ASKED = "timm:plain"
TOP_K = 3


@pytest.fixture(scope="module")
def embedder():
    return tiny_embedder()


@pytest.fixture(scope="module")
def index(tmp_path_factory, embedder):
    items = [
        architecture(Labels(f"{name}{copy}", "timm", "lib 1", "family", "t"), known(name))
        for name, count in NAMES.items()
        for copy in range(count)
    ]
    vectors = embedder.embed([item.graph for item in items])
    uri = str(tmp_path_factory.mktemp("index") / "index.db")
    with ArchitectureIndex(IndexConfig(uri=uri)) as opened:
        with opened.build(embedder.fingerprint, embedder.dim) as build:
            build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
            build.publish()
        yield opened


@pytest.fixture(scope="module")
def server(embedder, index):
    with live_server(embedder, index, web_port=0) as live:
        yield live


def message(counted="COUNTED_NETWORKS"):
    query = wire.Query(architecture=f"{ASKED}0", top_k=TOP_K, counted=counted)
    return wire.SearchRequest(queries=[query])


def over_grpc(server, counted="COUNTED_NETWORKS"):
    with grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        [result] = stub.Search(message(counted)).results
    return [hit.architecture.exact for hit in result.hits]


def over_a_stream(server):
    with grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        [response] = stub.SearchStream(iter([message()]))
    return [hit.architecture.exact for hit in response.results[0].hits]


def over_http(server):
    status, _, body = ask(server, "/v1/search", json.dumps(MessageToDict(message())))
    assert status == 200
    return [hit["architecture"]["exact"] for hit in body["results"][0]["hits"]]


def of_a_client(kind):
    def asked(server):
        with CLIENTS[kind](server.target) as client:
            found = client.search(f"{ASKED}0", top_k=TOP_K)
            [streamed] = client.search_stream([f"{ASKED}0"], top_k=TOP_K)
            assert [hit.name for hit in streamed.hits] == [hit.name for hit in found.hits]
        return [hit.exact for hit in found.hits]

    return asked


SERVED = {
    "grpc": over_grpc,
    "stream": over_a_stream,
    "http": over_http,
    **{f"client {kind}": of_a_client(kind) for kind in CLIENTS},
}


@pytest.mark.slow
@pytest.mark.parametrize("front_end", SERVED)
def test_what_a_server_gives_is_as_many_networks(server, front_end):
    exacts = SERVED[front_end](server)
    assert len(set(exacts)) == TOP_K
    # The six others of the network that is asked about, and both names of the next two.
    assert len(exacts) == 6 + 2 + 2


@pytest.mark.parametrize("counted", ["COUNTED_UNSPECIFIED", "COUNTED_HITS"])
def test_a_message_that_counts_nothing_else_counts_hits_as_before(server, counted):
    assert len(over_grpc(server, counted)) == TOP_K


@pytest.mark.slow
def test_a_count_that_is_none_is_refused(server):
    request = message()
    request.queries[0].counted = 9
    with grpc.insecure_channel(server.target) as channel:
        [result] = ArchitectureRetrievalServiceStub(channel).Search(request).results
    assert "counted: wanted hits, networks, came number 9" in result.status.message


@pytest.mark.slow
def test_a_retriever_gives_as_many_networks(embedder, index):
    hits = Retriever(embedder, index).search(f"{ASKED}0", top_k=TOP_K).hits
    assert len({hit.exact for hit in hits}) == TOP_K
    bounded = Retriever(embedder, index, max_hits=5).search(f"{ASKED}0", top_k=TOP_K).hits
    assert len(bounded) == 5


def of_python(name, count):
    return [row["copies"] for row in nar.search(name, top_k=count).rows()]


def of_the_command(name, count):
    done = CliRunner().invoke(app, ["search", name, "--top-k", str(count), "--json"])
    return json.loads(done.stdout)["hits"]


def of_mcp(name, count):
    return Tools().search(name, top_k=count)["hits"]


LOCAL = {"python": of_python, "command": of_the_command, "mcp": of_mcp}


@pytest.mark.slow
@pytest.mark.parametrize("front_end", LOCAL)
def test_a_name_of_many_copies_has_as_many_relatives(front_end):
    assert len(LOCAL[front_end]("timm:resnet50", 5)) == 5


@pytest.mark.slow
def test_front_ends_of_the_atlas_show_the_same_networks():
    name, count = "timm:resnet50", 5
    shown = [
        [row["name"] for row in nar.search(name, top_k=count).rows()],
        [hit["name"] for hit in of_the_command(name, count)],
        [hit["name"] for hit in of_mcp(name, count)],
    ]
    assert shown[0] == shown[1] == shown[2]
