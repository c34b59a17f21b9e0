"""Bulk embedding: one published collection, whatever happens on the way."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cluster.config import EmbedConfig
from cluster.embed import app, index_of
from cluster.embedding import EmbedReport, embed
from nar.config import IndexConfig
from nar.corpus import read_corpus, read_shard, write_shard
from nar.corpus.manifest import Manifest
from nar.encoding.checkpoint import save_checkpoint
from nar.encoding.embed import Embedder
from nar.encoding.paper.encoder import PaperEncoder, paper_encoder
from nar.encoding.paper.recipe import PaperConfig
from nar.errors import CheckpointError, CorpusError
from nar.index.architecture_index import ArchitectureIndex, IndexBuild
from nar.motifs.config import MotifConfig
from nar.novelty import calibrate, read_novelty
from nar.workspace import Workspace

pytestmark = pytest.mark.ray

ONE_WORKER = EmbedConfig(num_workers=1)


def untrained(seed: int) -> PaperEncoder:
    torch.manual_seed(seed)
    return paper_encoder(
        PaperConfig(motifs=MotifConfig(), motif_dim=8, motif_layers=2, dim=8, layers=2)
    )


@pytest.fixture
def place(darts_workspace) -> Workspace:
    """A corpus of ten networks and an encoder."""
    save_checkpoint(darts_workspace.checkpoint, untrained(0))
    return darts_workspace


def run(place: Workspace, **settings: int) -> EmbedReport:
    sizes = ONE_WORKER.model_copy(update=settings)
    return embed(place, IndexConfig(uri=str(place.index)), sizes)


def held(place: Workspace) -> dict[str, np.ndarray]:
    """Vectors of the published collection by name."""
    names = [item.labels.name for item in read_corpus(place.corpus)]
    with ArchitectureIndex(IndexConfig(uri=str(place.index))) as index:
        return {name: row.embedding for name, row in index.get(names).items()}


def test_the_index_holds_what_the_embedder_gives(place):
    report = run(place, num_workers=2)
    items = read_corpus(place.corpus)
    assert (report.rows, report.embedded, report.failures) == (10, 10, {})
    wanted = Embedder(untrained(0)).embed([item.graph for item in items])
    got = held(place)
    for item, vector in zip(items, wanted, strict=True):
        np.testing.assert_allclose(got[item.labels.name], vector, atol=1e-6)
    measured = read_novelty(place.novelty, encoder=report.encoder)
    designs = [item.topology for item in items]
    np.testing.assert_allclose(measured.distances, calibrate(wanted, designs).distances, atol=1e-5)


def test_a_second_run_embeds_nothing_and_keeps_every_byte(place):
    run(place)
    before = held(place)
    assert run(place).embedded == 0
    after = held(place)
    assert {name: row.tobytes() for name, row in after.items()} == {
        name: row.tobytes() for name, row in before.items()
    }


def test_a_job_that_was_killed_goes_on_after_its_last_write(place, monkeypatch):
    write = IndexBuild.upsert

    def write_once(build, rows):
        if build.ids:
            raise KeyboardInterrupt
        write(build, rows)

    monkeypatch.setattr(IndexBuild, "upsert", write_once)
    with pytest.raises(KeyboardInterrupt):
        run(place)
    monkeypatch.undo()
    resumed = run(place)
    assert 0 < resumed.embedded < 10
    assert resumed.rows == len(held(place)) == 10


def test_another_encoder_replaces_the_collection(place):
    first = run(place)
    save_checkpoint(place.checkpoint, untrained(1))
    second = run(place)
    assert second.encoder != first.encoder
    with ArchitectureIndex(IndexConfig(uri=str(place.index))) as index:
        assert (index.encoder, index.count()) == (second.encoder, 10)


def test_a_row_that_fails_is_named_and_the_others_are_published(place):
    spoilt = spoil_a_row(place.corpus)
    report = run(place)
    assert list(report.failures) == [spoilt]
    assert (report.rows, spoilt in held(place)) == (9, False)


def spoil_a_row(corpus: Path) -> str:
    """Give one architecture a graph without nodes; its name."""
    manifest = Manifest.read(corpus)
    path = corpus / manifest.shards[1].file
    first, second, *others = read_shard(path)
    whole = second.graph
    graph = replace(
        whole,
        op_ids=whole.op_ids[:0],
        attributes=whole.attributes[:0],
        edge_index=whole.edge_index[:, :0],
    )
    entry = write_shard(path, [first, replace(second, graph=graph), *others])
    shards = (manifest.shards[0], entry, manifest.shards[2])
    manifest.model_copy(update={"shards": shards}).write(corpus)
    return second.labels.name


def test_without_a_corpus_or_checkpoint_the_next_step_is_named(ray_cluster, place, tmp_path):
    with pytest.raises(CheckpointError, match=r"cluster\.pretrain"):
        run(Workspace(tmp_path / "nothing"))
    (place.corpus / "manifest.json").unlink()
    with pytest.raises(CorpusError, match=r"cluster\.extract"):
        run(place)


def test_the_command_prints_its_report_as_json(place):
    answer = CliRunner().invoke(app, ["--work", str(place.root), "--workers", "1", "--json"])
    report = json.loads(answer.stdout)
    assert answer.exit_code == 0
    assert (report["rows"], report["embedded"], report["failures"]) == (10, 10, {})
    assert report["uri"] == str(place.index)


def test_the_command_line_comes_before_the_file(tmp_path):
    config = tmp_path / "nar.yaml"
    config.write_text("index: {uri: 'http://milvus:19530'}")
    assert index_of(tmp_path, None, None).uri == str(tmp_path / "index.db")
    assert index_of(tmp_path, None, config).uri == "http://milvus:19530"
    assert index_of(tmp_path, "http://other:19530", config).uri == "http://other:19530"
