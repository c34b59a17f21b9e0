"""Embedding over shared storage: where workers read a corpus, and what they write into."""

import shutil

import numpy as np
import pytest
from encoding import small_default
from milvus_server import free_port
from s3_server import upload

from cluster.config import EmbedConfig
from cluster.embed_worker import EmbedWorker, StagingTarget, named_part
from cluster.embedding import embed
from nar.base.errors import IndexUnavailableError
from nar.base.workspace import Workspace
from nar.corpus import located, read_corpus
from nar.corpus.manifest import Manifest
from nar.encoding.embed import Embedder, save_checkpoint
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import IndexBuild
from nar.index.settings import IndexConfig

pytestmark = pytest.mark.ray

# One worker: `test_embed.py` and the workers that write by themselves have two.
SIZES = EmbedConfig(num_workers=1, part_rows=2)


@pytest.fixture
def workspace(darts_workspace) -> Workspace:
    """A corpus of ten networks and an encoder."""
    save_checkpoint(darts_workspace.checkpoint, small_default())
    return darts_workspace


def test_workers_read_a_corpus_of_an_object_store(workspace, s3_uri):
    items = read_corpus(workspace.corpus)
    stored = s3_uri.format("embed/corpus")
    upload(workspace.corpus, stored)
    shutil.rmtree(workspace.corpus)
    index = IndexConfig(uri=str(workspace.index))
    assert embed(workspace, index, SIZES, corpus=located(stored)).embedded == 10
    wanted = Embedder(small_default()).embed([item.graph for item in items])
    with ArchitectureIndex(index) as opened:
        got = opened.get([item.labels.name for item in items])
    for item, vector in zip(items, wanted, strict=True):
        np.testing.assert_allclose(got[item.labels.name].embedding, vector, atol=1e-6)
    assert embed(workspace, index, SIZES, corpus=located(stored)).way == "nothing"


@pytest.mark.milvus_server
@pytest.mark.parametrize("workers_write", [True, False])
def test_workers_write_into_a_server_by_themselves(
    workspace, milvus_uri, workers_write, monkeypatch
):
    upserts = []
    upsert = IndexBuild.upsert

    def counted(build, rows):
        upserts.append(len(rows))
        upsert(build, rows)

    monkeypatch.setattr(IndexBuild, "upsert", counted)
    # A collection is called after its encoder: of the same one there would be nothing to do.
    encoder = small_default(seed=int(workers_write))
    save_checkpoint(workspace.checkpoint, encoder)
    config = IndexConfig(uri=milvus_uri, alias=f"written_{workers_write}")
    several = {"num_workers": 2 if workers_write else 1}
    sizes = SIZES.model_copy(update={"workers_write": workers_write, **several})
    report = embed(workspace, config, sizes)
    assert (report.way, report.embedded, sum(upserts)) == ("new", 10, 0 if workers_write else 10)
    items = read_corpus(workspace.corpus)
    wanted = Embedder(encoder).embed([item.graph for item in items])
    with ArchitectureIndex(config) as index:
        got = index.get([item.labels.name for item in items])
    for item, vector in zip(items, wanted, strict=True):
        np.testing.assert_allclose(got[item.labels.name].embedding, vector, atol=1e-6)


@pytest.mark.milvus_server
def test_a_worker_says_what_keeps_it_from_writing(workspace, milvus_uri):
    worker = EmbedWorker(workspace.corpus, small_default(), None)
    shard = Manifest.read(workspace.corpus).shards[0]
    part = named_part(shard.file, [0])
    gone = StagingTarget(IndexConfig(uri=milvus_uri), "gone")
    with pytest.raises(IndexUnavailableError, match=r"gone is not at .* any more; run again"):
        worker.write(part, shard.sha256, gone)
    nowhere = StagingTarget(
        IndexConfig(uri=f"http://127.0.0.1:{free_port()}", timeout_s=0.5), "gone"
    )
    with pytest.raises(IndexUnavailableError, match=r"127\.0\.0\.1"):
        worker.write(part, shard.sha256, nowhere)
