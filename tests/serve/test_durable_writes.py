"""What was acknowledged: it outlives the server, and other servers find it."""

import grpc
import numpy as np
import pytest
from corpora import item
from graphs import graph_of
from live_server import live_server
from server_process import config_of, process_of, server_process
from tiny_index import KNOWN, tiny_embedder
from waiting import wait_for

from nar.base.errors import IndexUnavailableError
from nar.base.workspace import Workspace
from nar.index.architecture_index import ArchitectureIndex, upsert_rows
from nar.index.publishing import point_alias
from nar.index.reader import Reader
from nar.index.rows import index_row
from nar.index.settings import IndexConfig
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph

MINE = graph_of("input; conv 0; gelu 1; conv 2; add 3 0")


def change(*names):
    graph = encode_graph(MINE)
    return wire.UpsertRequest(
        architectures=[wire.NewArchitecture(name=name, graph=graph) for name in names]
    )


@pytest.mark.slow
def test_acknowledged_writes_outlive_the_server(workspace):
    embedder = tiny_embedder()
    names = [f"mine:{number}" for number in range(20)]
    with (
        server_process(workspace, writable=True) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        upserted = stub.Upsert(change(*names)).results
        stub.Delete(wire.DeleteRequest(architectures=["mine:0", "timm:plain"]))
        server.process.kill()
        server.process.wait()
    with ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index:
        assert index.count() == len(KNOWN) + len(names) - 2
        rows = index.get([*names, "timm:plain"])
    assert list(rows) == names[1:]
    vector = embedder.embed([MINE])[0]
    for result in upserted[1:]:
        row = rows[result.architecture.name]
        assert (row.id, row.exact) == (result.architecture.id, result.architecture.exact)
        np.testing.assert_allclose(row.embedding, vector, atol=1e-6)


OWN = """
import sys
from pathlib import Path
from nar.answers.atlas import Atlas
from nar.cli.serve_command import serve_atlas
from nar.config import NarConfig
config, atlas = NarConfig.model_validate_json(sys.argv[1]), Atlas(*map(Path, sys.argv[2:]))
serve_atlas(config, lambda server: print(server.port, flush=True), is_named=True, atlas=atlas)
"""


@pytest.mark.slow
def test_a_server_that_was_begun_again_never_answers_as_before_the_writes(small_atlas, tmp_path):
    """An index of one's own begins as the atlas, whose files know nothing of what was written."""
    config = config_of(Workspace(tmp_path), writable=True).model_dump_json()
    program = (OWN, config, str(small_atlas.directory), str(small_atlas.corpus))
    with process_of(*program) as server, grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        wait_for(lambda: stub.Describe(wire.DescribeRequest()).index.collection)
        gone = stub.List(wire.ListRequest()).architectures[0].name
        assert stub.Upsert(change("mine:0")).results[0].architecture.name == "mine:0"
        stub.Delete(wire.DeleteRequest(architectures=[gone]))
    with process_of(*program) as server, grpc.insecure_channel(server.target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        asked = stub.Get(wire.GetRequest(architectures=["mine:0", gone])).results
        assert [each.status.code for each in asked] == [0, grpc.StatusCode.NOT_FOUND.value[0]]


on_a_server = pytest.mark.milvus_server


@pytest.fixture
def shared(milvus_uri):
    """An index that two servers share."""
    embedder = tiny_embedder()
    # Nothing is compared by the clock: what is written has to be noticed.
    config = IndexConfig(uri=milvus_uri, alias="shared", follow_s=0.2, compare_s=3_600)
    with (
        ArchitectureIndex(config) as index,
        index.build(embedder.fingerprint, embedder.dim) as build,
    ):
        build.publish()
    return embedder, config


@on_a_server
def test_another_server_finds_what_one_has_written(shared):
    embedder, config = shared

    def opened(_ending):
        return ArchitectureIndex(config, encoder=embedder.fingerprint)

    with (
        Reader(opened, config) as mine,
        Reader(opened, config) as other,
        live_server(embedder, mine, writable=True) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        stub = ArchitectureRetrievalServiceStub(channel)
        wait_for(lambda: other.holds_rows)
        stub.Upsert(change("mine:a", "mine:b"))
        wait_for(lambda: other.get(["mine:a", "mine:b"]).keys() == {"mine:a", "mine:b"})
        renamed = change("mine:b")
        renamed.architectures[0].family = "renamed"
        stub.Upsert(renamed)
        wait_for(lambda: other.get(["mine:b"])["mine:b"].family == "renamed")
        stub.Delete(wire.DeleteRequest(architectures=["mine:a"]))
        wait_for(lambda: other.get(["mine:a", "mine:b"]).keys() == {"mine:b"})


@pytest.mark.slow
def test_writes_go_where_the_alias_points(workspace):
    """A publisher that died after its switch left the collection before, which takes rows, too."""
    embedder = tiny_embedder()
    with ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index:
        before = index.live
        with index.build(embedder.fingerprint, embedder.dim, job="died") as build:
            pass
        point_alias(before.milvus, "architectures", build.staging.name)
        [vector] = embedder.embed([MINE])
        index.upsert([index_row(item("mine:a", MINE), vector)])
        assert index.live.name == build.staging.name
        assert build.staging.count(settled=True) == 1
        assert before.count(settled=True) == len(KNOWN)


@pytest.mark.slow
def test_a_write_into_an_index_that_is_replaced_meanwhile_is_not_acknowledged(
    workspace, monkeypatch
):
    embedder = tiny_embedder()
    with ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index:
        with index.build(embedder.fingerprint, embedder.dim, job="switched") as build:
            pass

        def write_and_switch(live, rows, batch_rows):
            upsert_rows(live, rows, batch_rows)
            point_alias(live.milvus, "architectures", build.staging.name)

        monkeypatch.setattr("nar.index.architecture_index.upsert_rows", write_and_switch)
        rows = [index_row(item("mine:a", MINE), embedder.embed([MINE])[0])]
        with pytest.raises(IndexUnavailableError, match="replaced while it was written to"):
            index.upsert(rows)
        monkeypatch.undo()
        index.upsert(rows)
        assert index.get(["mine:a"])
