"""Who may write, and what becomes of writes that the index cannot take."""

from threading import Event

import grpc
import pytest
from asking import detail, sample
from gated import Delegating, Gate
from google.rpc.error_details_pb2 import RetryInfo
from live_server import live_server
from tiny_index import known, tiny_embedder, tiny_index
from waiting import wait_for

from nar.base.errors import ConfigError
from nar.cli.serve_command import serve_atlas
from nar.config import NarConfig
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import create_collection
from nar.index.exact import ExactIndex
from nar.index.publishing import point_alias
from nar.index.reader import Reader
from nar.index.settings import IndexConfig
from nar.serve.calls import SERVICE
from nar.serve.doors import check_doors
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph
from nar.wire.settings import ServerConfig

CHANGE = wire.UpsertRequest(
    architectures=[wire.NewArchitecture(name="mine:a", graph=encode_graph(known("timm:plain")))]
)
GONE = wire.DeleteRequest(architectures=["mine:a"])
LARGE = bytes(15 * 1024 * 1024)


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


def asked(target, change=CHANGE, **options):
    """What became of one write: its code, and the error."""
    with grpc.insecure_channel(target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        method = stub.Upsert if change is CHANGE else stub.Delete
        try:
            method(change, **options)
        except grpc.RpcError as error:
            return error.code().name, error
    return "OK", None


@pytest.fixture(scope="module")
def written(tmp_path_factory, embedder):
    with tiny_index(tmp_path_factory.mktemp("written"), embedder) as index:
        yield index


@pytest.fixture(scope="module")
def roles(embedder, written, tmp_path_factory):
    """A server that knows a reader and a writer."""
    files = {role: tmp_path_factory.mktemp("tokens") / role for role in ("reader", "writer")}
    for role, path in files.items():
        path.write_text(role)
    settings = {f"{role}_tokens_file": path for role, path in files.items()}
    with live_server(embedder, written, writable=True, **settings) as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("change", [CHANGE, GONE], ids=["Upsert", "Delete"])
@pytest.mark.parametrize(
    ("token", "code"),
    [("reader", "PERMISSION_DENIED"), ("stranger", "UNAUTHENTICATED"), ("writer", "OK")],
)
def test_writes_want_the_token_of_a_writer(roles, written, change, token, code):
    before = list(written.live.digest_pages())
    assert asked(roles.target, change, metadata=bearer(token))[0] == code
    if code != "OK":
        assert list(written.live.digest_pages()) == before


def test_a_reader_is_refused_before_the_message_is_read(roles):
    """Bytes that are no message: who reads them says INVALID_ARGUMENT."""
    with grpc.insecure_channel(roles.target) as channel:
        upsert = channel.unary_unary(f"/{SERVICE}/Upsert")
        with pytest.raises(grpc.RpcError, match="wanted a token that may write") as caught:
            upsert(LARGE, metadata=bearer("reader"))
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.slow
def test_a_server_takes_no_writes_unless_told_to(server):
    refused = sample(server, "nar_rpc_rejected_total", reason="forbidden")
    for change in (CHANGE, GONE):
        code, error = asked(server.target, change)
        assert code == "PERMISSION_DENIED"
        assert "nar serve --writable" in error.details()
    assert sample(server, "nar_rpc_rejected_total", reason="forbidden") == refused + 2


def test_whoever_reaches_a_port_beyond_loopback_may_not_write():
    beyond = {"host": "0.0.0.0", "clear_text": True, "token": None, "writable": True}
    with pytest.raises(ConfigError, match="whoever reaches it could write"):
        check_doors(ServerConfig.model_validate(beyond))
    check_doors(ServerConfig.model_validate({**beyond, "token": "secret"}))


@pytest.mark.slow
def test_the_cache_of_the_atlas_takes_no_writes():
    config = NarConfig(server=ServerConfig(writable=True))
    with pytest.raises(ConfigError, match="name an index of your own with --uri"):
        serve_atlas(config, is_named=False)


@pytest.mark.slow
def test_files_alone_take_no_writes(embedder, tmp_path):
    may_open = Event()
    with tiny_index(tmp_path, embedder) as index:
        rows = index.sample(9)
    config = IndexConfig(uri=str(tmp_path / "index.db"), follow_s=0.05)

    def open_late(_ending):
        assert may_open.wait(300)
        return ArchitectureIndex(config)

    with (
        Reader(open_late, config, ExactIndex(rows, dim=embedder.dim)) as reader,
        live_server(embedder, reader, writable=True) as server,
    ):
        for change in (CHANGE, GONE):
            code, error = asked(server.target, change)
            assert code == "UNAVAILABLE"
            assert "try again once the index is open" in error.details()
            assert detail(error, RetryInfo).retry_delay.seconds == 1
        may_open.set()
        wait_for(lambda: asked(server.target)[0] == "OK")
        assert reader.get(["mine:a"])


@pytest.mark.slow
def test_vectors_of_another_encoder_are_not_written(embedder, tmp_path):
    with tiny_index(tmp_path, embedder):
        pass
    config = IndexConfig(uri=str(tmp_path / "index.db"))
    with (
        ArchitectureIndex(config, encoder=embedder.fingerprint) as index,
        live_server(embedder, index, writable=True) as server,
    ):
        other = tiny_embedder(seed=1)
        milvus = index.live.milvus
        built = create_collection(
            milvus, "arch_other", encoder=other.fingerprint, dim=other.dim, kind="FLAT"
        )
        point_alias(milvus, config.alias, built.name)
        assert asked(server.target)[0] == "FAILED_PRECONDITION"
        built.load()
        assert built.count(settled=True) == 0


@pytest.mark.slow
def test_writes_have_a_thread_of_their_own(embedder, tmp_path):
    gate = Gate()
    with (
        tiny_index(tmp_path, embedder) as index,
        live_server(Delegating(embedder, gate), index, writable=True) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        writes = [stub.Upsert.future(CHANGE) for _ in range(2)]
        wait_for(lambda: gate.arrived == 1)
        query = wire.Query(architecture="timm:plain")
        assert stub.Search(wire.SearchRequest(queries=[query])).results[0].hits
        assert gate.arrived == 1
        gate.open()
        assert all(len(write.result().results) == 1 for write in writes)
