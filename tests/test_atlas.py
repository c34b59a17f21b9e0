"""The atlas: what ships answers at once, and what does not fit together is refused."""

import json
from functools import partial
from pathlib import Path
from shutil import copytree
from threading import Event

import numpy as np
import pytest
import torch
from encoding import small_default
from server_process import ATLAS, process_of
from typer.testing import CliRunner
from waiting import wait_for

from nar.atlas import VECTORS, Atlas, read_atlas, shipped_atlas
from nar.cli import atlas_commands, atlas_store
from nar.cli.app import app
from nar.client import Client
from nar.config import IndexConfig, NarConfig, ServerConfig
from nar.corpus import read_shard, write_shard
from nar.corpus.manifest import Manifest, count_corpus
from nar.encoding.checkpoint import save_checkpoint
from nar.encoding.embed import Embedder
from nar.errors import CorpusError, IndexUnavailableError
from nar.index.collection import SCHEMA_VERSION
from nar.index.mirror import Mirror
from nar.index.reader import Reader
from nar.zoo import capture_architecture
from nar.zoo.selections import select

MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Twenty DARTS networks and an encoder that has learned nothing."""
    root = tmp_path_factory.mktemp("work")
    (root / "corpus").mkdir()
    items = [capture_architecture(name).architecture for name in select("darts:20").names]
    shard = write_shard(root / "corpus" / "shard-0.parquet", items)
    manifest = Manifest(packages={}, shards=(shard,), sources=count_corpus(items).sources)
    manifest.write(root / "corpus")
    save_checkpoint(root / "checkpoint", small_default())
    return root


@pytest.fixture(scope="module")
def atlas(work, tmp_path_factory):
    target = tmp_path_factory.mktemp("atlas")
    assert atlas_commands.pack(work, target) == 20
    return Atlas(target, work / "corpus")


def test_what_is_packed_reads_back(atlas, work):
    content = read_atlas(atlas)
    items = read_shard(work / "corpus" / "shard-0.parquet")
    embedder = Embedder(content.encoder)
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


@pytest.fixture
def cached(atlas, tmp_path, monkeypatch):
    """Where the collection of the atlas is if nobody says otherwise."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return atlas_store.atlas_config(atlas, IndexConfig(follow_s=0.05), is_named=False)


def files_of(atlas):
    content = read_atlas(atlas)
    return Mirror.of(content.rows, dim=content.encoder.config.dim)


def reader(atlas, config):
    return Reader(partial(atlas_store.open_atlas, atlas, config), config, files_of(atlas))


def test_it_answers_from_its_files_while_its_collection_is_made_once(
    atlas, cached, monkeypatch, tmp_path
):
    assert Path(cached.uri).is_relative_to(tmp_path / "cache" / "nar")
    with reader(atlas, cached) as index:
        assert index.count() == 20
        wait_for(lambda: index.collection)
        assert index.collection.startswith("arch_")
        assert index.count() == 20
    monkeypatch.setattr(atlas_store, "_store", None)  # would be called to make it again
    with reader(atlas, cached) as index:
        wait_for(lambda: index.collection)


def test_a_second_server_answers_from_files_alone_and_says_so(atlas, cached, caplog):
    with reader(atlas, cached) as first:
        wait_for(lambda: first.collection)
        with reader(atlas, cached) as second:
            wait_for(lambda: "answering from files alone" in caplog.text)
            assert "is in use by process" in caplog.text
            assert (second.count(), second.collection) == (20, None)


def test_a_home_that_cannot_be_written_is_said(atlas, cached, caplog, tmp_path):
    (tmp_path / "cache").write_text("a file in the place of the directory")
    with reader(atlas, cached) as index:
        wait_for(lambda: "answering from files alone" in caplog.text)
        assert "XDG_CACHE_HOME" in caplog.text
        assert index.count() == 20


def test_a_collection_that_was_damaged_leaves_the_files_to_answer(atlas, cached, caplog):
    with atlas_store.open_atlas(atlas, cached, Event()) as index:
        [row] = index.sample(1)
        record = {
            **index.live.milvus.client.get(index.live.name, ids=[row.id])[0],
            "digest": "0" * 32,
        }
        index.live.milvus.client.upsert(index.live.name, [record])
    with reader(atlas, cached) as damaged:
        wait_for(lambda: "answering from files alone" in caplog.text)
        assert f"{cached.uri} reads back damaged" in caplog.text
        assert damaged.get([row.id])[row.id].digest() == row.digest()


def test_storing_it_ends_with_the_server_and_goes_on_later(atlas, cached):
    ending = Event()
    ending.set()
    with pytest.raises(IndexUnavailableError, match="the next start goes on"):
        atlas_store.open_atlas(atlas, cached, ending)
    with atlas_store.open_atlas(atlas, cached, Event()) as index:
        assert index.count() == 20


def test_it_is_stored_where_and_how_the_settings_say(atlas, cached, tmp_path):
    hnsw = IndexConfig(uri=str(tmp_path / "mine" / "index.db"), kind="HNSW")
    named = atlas_store.atlas_config(atlas, hnsw, is_named=True)
    assert named == hnsw
    with atlas_store.open_atlas(atlas, named, Event()) as index:
        described = index.live.milvus.client.describe_index(index.live.name, "embedding")
        assert described["index_type"] == "HNSW"
    unnamed = atlas_store.atlas_config(atlas, hnsw, is_named=False)
    assert unnamed.uri != cached.uri
    assert unnamed.kind == "HNSW"


def test_of_another_schema_it_lies_elsewhere(atlas, cached, monkeypatch):
    monkeypatch.setattr(atlas_store, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    other = atlas_store.atlas_config(atlas, cached, is_named=False)
    digest, version = Path(cached.uri).parent.name.split("-v")
    assert version == str(SCHEMA_VERSION)
    assert Path(other.uri).parent.name == f"{digest}-v{SCHEMA_VERSION + 1}"


@pytest.fixture(scope="module")
def shipped():
    return read_atlas(shipped_atlas())


def test_the_shipped_atlas_is_that_of_the_shipped_corpus(shipped):
    manifest = Manifest.read(shipped_atlas().corpus)
    assert len(shipped.rows) == sum(entry.rows for entry in manifest.shards) > 20_000
    assert len({row.id for row in shipped.rows}) == len(shipped.rows)


def test_the_shipped_vectors_are_those_of_the_shipped_encoder(shipped):
    shard = read_shard(shipped_atlas().corpus / "torchvision-000.parquet")[:20]
    torch.set_num_threads(1)
    vectors = Embedder(shipped.encoder).embed([i.graph for i in shard])
    known = {row.name: row.embedding for row in shipped.rows}
    stored = np.stack([known[item.labels.name] for item in shard])
    assert (stored * vectors).sum(axis=1) == pytest.approx(np.ones(20), abs=1e-3)


def test_it_ships_in_less_than_forty_megabytes():
    data = shipped_atlas().directory.parent
    assert sum(path.stat().st_size for path in data.rglob("*") if path.is_file()) < 40_000_000


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
        assert server.process.wait(60) == 0


def test_a_search_without_any_build_step_answers_from_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    done = CliRunner().invoke(app, ["search", "model.py:factory", "--top-k", "3", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert "asking the atlas of NAR" in done.stderr
    assert len(told["hits"]) == 3
    assert 0 <= told["novelty"] <= 100
    known = CliRunner().invoke(app, ["search", "torchvision:resnet18", "--json"])
    answer = json.loads(known.stdout)
    assert "torchvision:resnet18" in answer["same_network"]
    assert answer["novelty"] == 0
    assert {hit["family"] for hit in answer["hits"][:3]} == {"resnet"}


DEPLOYED = """
import timm
import torch
from torch.fx.experimental.optimization import fuse


def factory():
    return fuse(timm.create_model("resnet18").eval()), torch.zeros(1, 3, 224, 224)
"""


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
    assert "no checkpoint at" in done.stderr
