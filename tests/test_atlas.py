"""The atlas: what ships answers at once, and what does not fit together is refused."""

import json
from shutil import copytree

import numpy as np
import pytest
import torch
from encoding import small_default
from server_process import ATLAS, process_of
from typer.testing import CliRunner

from nar.answers.atlas import NOVELTY, SUMS, VECTORS, Atlas, read_atlas, shipped_atlas
from nar.base.errors import CorpusError
from nar.cli.app import app
from nar.client.client import Client
from nar.config import NarConfig
from nar.corpus import read_corpus, read_shard
from nar.corpus.manifest import Manifest
from nar.encoding.embed import fingerprint, load_checkpoint, save_checkpoint
from nar.index.settings import IndexConfig
from nar.wire.settings import ServerConfig

MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""


@pytest.fixture
def work(small_work):
    return small_work


@pytest.fixture
def atlas(small_atlas):
    return small_atlas


@pytest.mark.slow
def test_what_is_packed_reads_back(atlas, work):
    content = read_atlas(atlas)
    items = read_corpus(work / "corpus")
    embedder = content.embedder
    vectors = np.stack([row.embedding for row in content.rows])
    assert [row.name for row in content.rows] == [item.labels.name for item in items]
    assert [row.exact for row in content.rows] == [item.exact for item in items]
    assert vectors == pytest.approx(embedder.embed([item.graph for item in items]), abs=2e-3)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert (np.diff(content.novelty.distances) >= 0).all()


def test_another_encoder_or_corpus_is_refused(atlas, work, tmp_path):
    other = Atlas(tmp_path / "atlas", atlas.corpus)
    copytree(atlas.directory, other.directory)
    save_checkpoint(other.encoder, small_default(seed=1))
    with pytest.raises(CorpusError, match="made from another corpus or encoder"):
        read_atlas(other)
    (other.directory / VECTORS).write_bytes(b"no parquet")
    with pytest.raises(CorpusError, match="holds no atlas"):
        read_atlas(other)


@pytest.mark.parametrize("name", [VECTORS, NOVELTY])
def test_a_byte_that_changes_is_found(atlas, tmp_path, name):
    other = Atlas(tmp_path / "atlas", atlas.corpus)
    copytree(atlas.directory, other.directory)
    content = bytearray((other.directory / name).read_bytes())
    content[len(content) // 2] ^= 1
    (other.directory / name).write_bytes(content)
    with pytest.raises(CorpusError, match=f"{name} is damaged: wanted sha256"):
        read_atlas(other)


def test_an_atlas_that_nobody_sealed_is_refused(atlas, tmp_path):
    other = Atlas(tmp_path / "atlas", atlas.corpus)
    copytree(atlas.directory, other.directory)
    (other.directory / SUMS).unlink()
    with pytest.raises(CorpusError, match=r"SHA256SUMS does not say what vectors\.parquet was"):
        read_atlas(other)


@pytest.fixture(scope="module")
def shipped():
    return read_atlas(shipped_atlas())


@pytest.mark.slow
def test_the_shipped_atlas_is_that_of_the_shipped_corpus(shipped):
    manifest = Manifest.read(shipped_atlas().corpus)
    assert len(shipped.rows) == sum(entry.rows for entry in manifest.shards) > 20_000
    assert len({row.id for row in shipped.rows}) == len(shipped.rows)


@pytest.mark.slow
def test_the_shipped_vectors_are_those_of_the_shipped_encoder(shipped):
    shard = read_shard(shipped_atlas().corpus / "torchvision-000.parquet")[:20]
    torch.set_num_threads(1)
    vectors = shipped.embedder.embed([i.graph for i in shard])
    known = {row.name: row.embedding for row in shipped.rows}
    stored = np.stack([known[item.labels.name] for item in shard])
    assert (stored * vectors).sum(axis=1) == pytest.approx(np.ones(20), abs=1e-3)


def test_atlas_and_corpus_ship_in_48_megabytes_and_with_codes_in_60():
    data = shipped_atlas().directory.parent
    sizes = {path.name: path.stat().st_size for path in data.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 60_000_000
    assert sum(sizes.values()) - sizes["codes.npz"] < 48_000_000


@pytest.mark.slow
def test_a_server_with_settings_answers_from_it_where_nothing_can_be_written(tmp_path):
    (tmp_path / "taken").write_text("a file in the place of a directory")
    config = NarConfig(
        index=IndexConfig(uri=str(tmp_path / "taken" / "index.db")),
        server=ServerConfig(port=0, metrics_port=0, token=None, max_queries=3),
    )
    with process_of(ATLAS, config.model_dump_json(), "named") as server:
        with Client(server.target) as client:
            assert client.search("timm:resnet50", top_k=3).hits
            assert client.describe().limits.max_items == 3
        server.process.terminate()
        assert server.process.wait() == 0


@pytest.mark.slow
def test_a_search_without_any_build_step_answers_from_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    done = CliRunner().invoke(app, ["search", "model.py:factory", "--top-k", "3", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert "asking the atlas of NAR" in done.stderr
    assert len(told["hits"]) == 3
    assert 0 <= told["novelty"] <= 100
    known = CliRunner().invoke(app, ["search", "torchvision:resnet18", "--all", "--json"])
    answer = json.loads(known.stdout)
    assert "torchvision:resnet18" in answer["same_network"]
    assert answer["novelty"] == 0
    assert {hit["family"] for hit in answer["hits"][:3]} == {"resnet"}


@pytest.mark.slow
def test_a_stored_encoder_has_the_fingerprint_of_the_one_it_becomes(shipped):
    encoder = load_checkpoint(shipped_atlas().encoder)
    assert shipped.embedder.fingerprint == fingerprint(encoder)


DEPLOYED = """
import timm
import torch
from torch.fx.experimental.optimization import fuse


def factory():
    return fuse(timm.create_model("resnet18").eval()), torch.zeros(1, 3, 224, 224)
"""


@pytest.mark.slow
def test_a_model_whose_batch_norms_were_folded_finds_what_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(DEPLOYED)
    asked = ["search", "model.py:factory", "--top-k", "100", "--source", "timm"]
    told = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert told["same_network"] == told["same_design"] == []
    assert {"timm:resnet18", "torchvision:resnet18"} <= set(told["same_at_inference"])
    assert told["novelty"] == 0
    alone = [*asked, "--name", "timm:resnet18", "--explain"]
    done = CliRunner().invoke(app, alone)
    said = " ".join(done.stdout.split())
    assert "At inference this is the same network as" in said
    assert "Motifs that timm:resnet18 shares at inference" in said
    assert "Motifs of the query or of timm:resnet18 only at inference: none" in said
    diff = CliRunner().invoke(app, ["diff", "model.py:factory", "timm:resnet18"])
    assert "They are the same network at inference" in " ".join(diff.stdout.split())


def test_a_workspace_that_is_named_is_meant(tmp_path):
    missing = ["search", "torchvision:resnet18", "--work", str(tmp_path / "mine")]
    done = CliRunner().invoke(app, missing)
    assert done.exit_code == 1
    assert "there is no index at" in done.stderr
