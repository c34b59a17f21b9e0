"""Bulk embedding: one published collection, whatever happens on the way."""

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import corpus
from encoding import small_default
from typer.testing import CliRunner

from cluster.config import EmbedConfig
from cluster.embed import app, view
from cluster.embedding import EmbedReport, embed, put_beside_atlas
from cluster.shards import ShardDescriptions
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.novelty import calibrate, read_novelty
from nar.base.errors import CheckpointError, ConfigError, CorpusError, IndexMismatchError
from nar.base.workspace import Workspace
from nar.cli.app import app as nar_app
from nar.corpus import ShardChangedError, read_corpus, read_shard, write_shard
from nar.corpus.manifest import Manifest, ShardEntry
from nar.encoding.embed import Embedder, save_checkpoint
from nar.encoding.paper.encoder import PaperEncoder, paper_encoder
from nar.encoding.paper.recipe import PaperConfig
from nar.encoding.stored import read_files
from nar.graphs.architecture import Architecture
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import IndexBuild
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig
from nar.motifs.config import MotifConfig
from nar.own import capture_architecture
from nar.zoo.sources.darts.genotypes import genotype_at

pytestmark = pytest.mark.ray

ONE_WORKER = EmbedConfig(num_workers=1)


def untrained(seed: int) -> PaperEncoder:
    torch.manual_seed(seed)
    return paper_encoder(
        PaperConfig(motifs=MotifConfig(), motif_dim=8, motif_layers=2, dim=8, layers=2)
    )


@pytest.fixture
def workspace(darts_workspace) -> Workspace:
    """A corpus of ten networks and an encoder."""
    save_checkpoint(darts_workspace.checkpoint, untrained(0))
    return darts_workspace


@pytest.fixture(scope="module")
def embedded_once(darts_extracted, tmp_path_factory) -> tuple[Workspace, dict[str, object]]:
    """Such a workspace that was embedded by the command, and its report. Not to be changed."""
    workspace = Workspace(tmp_path_factory.mktemp("embedded") / "work")
    shutil.copytree(darts_extracted.directory.parent, workspace.root)
    save_checkpoint(workspace.checkpoint, untrained(0))
    options = ["--work", str(workspace.root), "--workers", "1", "--json"]
    answer = CliRunner().invoke(app, options, catch_exceptions=False)
    return workspace, json.loads(answer.stdout)


@pytest.fixture
def embedded(embedded_once, tmp_path) -> Workspace:
    """A copy of it, to be changed."""
    shutil.copytree(embedded_once[0].root, tmp_path / "work")
    return Workspace(tmp_path / "work")


def run(workspace: Workspace, **settings: int) -> EmbedReport:
    sizes = ONE_WORKER.model_copy(update=settings)
    return embed(workspace, IndexConfig(uri=str(workspace.index)), sizes)


def held(workspace: Workspace) -> dict[str, np.ndarray]:
    """Vectors of the published collection by name."""
    names = [item.labels.name for item in read_corpus(workspace.corpus)]
    with ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index:
        return {name: row.embedding for name, row in index.get(names).items()}


def test_the_index_holds_what_the_embedder_gives_and_no_graph_comes_through_the_driver(
    workspace, monkeypatch
):
    with monkeypatch.context() as without:
        # Workers are processes of their own: only this one would fail.
        without.setattr("nar.corpus.shards.graphs_of", None)
        report = run(workspace, num_workers=2, part_rows=2)
    items = read_corpus(workspace.corpus)
    assert (report.rows, report.embedded, report.failures) == (10, 10, {})
    wanted = Embedder(untrained(0)).embed([item.graph for item in items])
    got = held(workspace)
    for item, vector in zip(items, wanted, strict=True):
        np.testing.assert_allclose(got[item.labels.name], vector, atol=1e-6)
    measured = read_novelty(workspace.novelty, encoder=report.encoder)
    designs = [item.topology for item in items]
    np.testing.assert_allclose(measured.distances, calibrate(wanted, designs).distances, atol=1e-5)


def test_a_second_run_embeds_nothing_and_keeps_every_byte(embedded):
    before = held(embedded)
    assert run(embedded).embedded == 0
    after = held(embedded)
    assert {name: row.tobytes() for name, row in after.items()} == {
        name: row.tobytes() for name, row in before.items()
    }


@pytest.mark.parametrize("content", [None, "{"])
def test_a_job_that_was_cut_off_before_it_measured_novelty_measures_it_then(embedded, content):
    wanted = embedded.novelty.read_text()
    embedded.novelty.unlink()
    if content:
        embedded.novelty.write_text(content)
    report = run(embedded)
    assert (report.way, report.embedded) == ("nothing", 0)
    assert embedded.novelty.read_text() == wanted
    assert read_novelty(embedded.novelty, encoder=report.encoder)


def test_a_job_that_was_killed_goes_on_after_its_last_write(workspace, monkeypatch):
    write = IndexBuild.upsert

    def write_once(build, rows):
        if len(build.rows):
            raise KeyboardInterrupt
        write(build, rows)

    monkeypatch.setattr(IndexBuild, "upsert", write_once)
    with pytest.raises(KeyboardInterrupt):
        run(workspace)
    monkeypatch.undo()
    resumed = run(workspace)
    assert 0 < resumed.embedded < 10
    assert resumed.rows == len(held(workspace)) == 10


def many(workspace: Workspace, numbers: range) -> Path:
    """Make the corpus these networks, sixteen a shard; the file of the first."""
    shutil.rmtree(workspace.corpus)
    items = [network(number) for number in numbers]
    return corpus(workspace.corpus, items, size=16) / "shard-0.parquet"


@cache
def network(number: int) -> Architecture:
    """One of many networks; captured once, for tests change the corpus and not what is in it."""
    return capture_architecture(f"darts:{genotype_at(number * 10**14)}").architecture


def digests(workspace: Workspace) -> dict[str, str]:
    with ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index:
        [page] = index.live.digest_pages()
        return page


def test_what_changed_is_embedded_alone_and_equals_a_build_from_nothing(workspace, tmp_path):
    save_checkpoint(workspace.checkpoint, small_default())
    # Forty, so that a few are less than a tenth.
    many(workspace, range(40))
    assert run(workspace).way == "new"
    many(workspace, range(2, 42))
    changed = run(workspace)
    assert (changed.way, changed.embedded, changed.strangers, changed.rows) == (
        "in place",
        2,
        2,
        42,
    )
    removed = run_and_remove(workspace)
    assert (removed.way, removed.embedded, removed.removed, removed.rows) == ("in place", 0, 2, 40)
    again = run(workspace)
    assert (again.way, again.embedded, again.rows) == ("nothing", 0, 40)
    in_place = digests(workspace)
    shutil.rmtree(workspace.index)
    assert run(workspace).way == "new"
    assert digests(workspace) == in_place


def test_of_a_small_change_neither_unchanged_shards_nor_the_index_are_read(workspace, monkeypatch):
    many(workspace, range(40))
    run(workspace)
    first = many(workspace, range(43))
    whole = first.read_bytes()
    first.write_bytes(b"nobody needs it")
    with monkeypatch.context() as unread:
        unread.setattr("cluster.embedding.descriptions", None)
        changed = run(workspace)
    assert (changed.way, changed.embedded, changed.rows) == ("in place", 3, 43)
    first.write_bytes(whole)
    with ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index:
        index.delete([row.id for row in index.live.sample(1)])
    put_back = run(workspace)
    assert (put_back.way, put_back.embedded, put_back.rows) == ("in place", 1, 43)
    wanted = {architecture_id(item.labels.name) for item in read_corpus(workspace.corpus)}
    assert digests(workspace).keys() == wanted


def test_a_shard_that_is_another_file_than_the_manifest_says_ends_the_job(workspace):
    first, second = (workspace.corpus / entry.file for entry in shards_of(workspace)[:2])
    one, other = first.read_bytes(), second.read_bytes()
    # Their descriptions are known, so that only a worker reads them.
    described = ShardDescriptions(workspace.root / "ledger" / "embed", workspace.corpus)
    for entry in shards_of(workspace):
        described.of(entry)
    first.write_bytes(other)
    second.write_bytes(one)
    with pytest.raises(ShardChangedError, match=r"is damaged \(its digest differs\)"):
        run(workspace)
    first.write_bytes(one)
    second.write_bytes(other)
    assert run(workspace).rows == 10


def shards_of(workspace: Workspace) -> tuple[ShardEntry, ...]:
    return Manifest.read(workspace.corpus).shards


def run_and_remove(workspace: Workspace) -> EmbedReport:
    return embed(workspace, IndexConfig(uri=str(workspace.index)), ONE_WORKER, removes=True)


def test_a_collection_is_built_anew_where_much_changes_and_can_be_gone_back_from(workspace):
    many(workspace, range(10))
    first = run(workspace)
    before = digests(workspace)
    many(workspace, range(5, 15))
    second = run(workspace)
    assert (second.way, first.way) == ("new", "new")
    kept = "a new collection, the one before is kept:"
    assert [kept in view(report) for report in (first, second)] == [False, True]
    assert digests(workspace) != before
    answer = CliRunner().invoke(nar_app, ["index", "rollback", "--work", str(workspace.root)])
    assert answer.exit_code == 0
    assert digests(workspace) == before


def test_another_encoder_replaces_the_collection(embedded, embedded_once):
    save_checkpoint(embedded.checkpoint, untrained(1))
    index = IndexConfig(uri=str(embedded.index))
    with ArchitectureIndex(index) as opened:
        opened.upsert([replace(opened.live.sample(1)[0], **of_a_team("vision/unet"))])
    with pytest.raises(IndexMismatchError, match=r"1 rows would go .*1 of team.*--other-encoder"):
        run(embedded)
    second = embed(embedded, index, ONE_WORKER, other_encoder=True)
    assert second.encoder != embedded_once[1]["encoder"]
    with ArchitectureIndex(IndexConfig(uri=str(embedded.index))) as index:
        assert (index.encoder, index.count()) == (second.encoder, 10)


def test_without_an_encoder_the_shipped_one_is_used_and_said(ray_cluster, darts_workspace, capsys):
    assert run(darts_workspace).encoder == shipped_encoder()
    assert "has no encoder of its own" in capsys.readouterr().err


def shipped_encoder() -> str:
    return read_files(shipped_atlas().encoder).fingerprint


def test_own_models_stand_beside_the_atlas(ray_cluster, darts_workspace, small_atlas, monkeypatch):
    monkeypatch.setattr("cluster.embedding.shipped_atlas", lambda: small_atlas)
    config = IndexConfig(uri=str(darts_workspace.index))
    assert put_beside_atlas(darts_workspace, config) == 0  # all were stored with the index itself
    report = run(darts_workspace)
    own = {item.labels.name for item in read_corpus(darts_workspace.corpus)}
    shipped = {row.name for row in read_atlas(small_atlas).rows}
    assert report.rows == len(own | shipped)
    save_checkpoint(darts_workspace.checkpoint, untrained(1))
    with pytest.raises(ConfigError, match="the rows of the atlas are of the encoder"):
        put_beside_atlas(darts_workspace, config)


def test_a_new_collection_takes_over_rows_of_others_and_says_so(workspace):
    many(workspace, range(10))
    run(workspace)
    before = digests(workspace)
    many(workspace, range(20, 24))
    second = run(workspace)
    assert (second.way, second.embedded, second.strangers, second.rows) == ("new", 4, 10, 14)
    assert "10 rows of others were carried over" in view(second)
    assert before.items() < digests(workspace).items()
    again = run(workspace)
    assert (again.embedded, again.strangers, again.rows) == (0, 10, 14)
    many(workspace, range(30, 34))
    third = run_and_remove(workspace)
    assert (third.embedded, third.removed, third.rows) == (4, 14, 4)


def of_a_team(name: str) -> dict[str, str]:
    return {"name": name, "id": architecture_id(name), "source": "team"}


def test_a_row_that_fails_is_named_and_the_others_are_published(workspace):
    spoilt = spoil_a_row(workspace.corpus)
    report = run(workspace)
    assert list(report.failures) == [spoilt]
    assert (report.rows, spoilt in held(workspace)) == (9, False)


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


def test_without_a_corpus_or_checkpoint_the_next_step_is_named(ray_cluster, workspace, tmp_path):
    with pytest.raises(CorpusError, match=r"cluster\.extract"):
        run(Workspace(tmp_path / "nothing"))
    (workspace.checkpoint / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"cluster\.pretrain"):
        run(workspace)


def test_the_command_prints_its_report_as_json(embedded_once):
    workspace, report = embedded_once
    assert (report["rows"], report["embedded"], report["failures"]) == (10, 10, {})
    assert report["uri"] == str(workspace.index)
