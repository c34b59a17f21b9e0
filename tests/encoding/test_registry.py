"""Adding an encoder is a folder and a row; older checkpoints and older operators go on."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from encoding import RECIPE, three_families, three_family_corpus
from pydantic import ValidationError
from toy_encoder import TOY, ToyRecipe

from nar.answers.atlas import shipped_atlas
from nar.config import NarConfig
from nar.encoding.embed import Embedder, fingerprint, load_checkpoint, save_checkpoint
from nar.encoding.paper.encoder import paper_encoder
from nar.encoding.paper.recipe import PaperConfig
from nar.encoding.registry import ENCODERS
from nar.encoding.training import pretrain
from nar.graphs import ops
from nar.motifs.config import MotifConfig

STAGE = {"epochs": 3, "batch_size": 2, "learning_rate": 0.1}


def test_a_new_encoder_is_a_row_of_the_registry(tmp_path, monkeypatch):
    monkeypatch.setitem(ENCODERS, "toy", TOY)
    config = NarConfig.model_validate({"pretraining": {"encoder": "toy", "weights": STAGE}})
    assert isinstance(config.pretraining, ToyRecipe)
    assert NarConfig.model_validate_json(config.model_dump_json()) == config
    encoder = pretrain(three_family_corpus(), config.motifs, config.pretraining)
    save_checkpoint(tmp_path, encoder)
    read = load_checkpoint(tmp_path)
    assert fingerprint(read) == fingerprint(encoder)
    graphs = three_families()
    vectors = Embedder(read).embed(graphs)
    assert vectors.shape == (len(graphs), read.config.dim)
    assert np.array_equal(vectors, Embedder(encoder).embed(graphs))


def test_an_encoder_that_nobody_wrote_is_refused_by_name():
    with pytest.raises(ValidationError, match="wanted one of default, paper, came 'graph2vec'"):
        NarConfig.model_validate({"pretraining": {"encoder": "graph2vec"}})


def test_without_a_name_settings_are_of_the_default_encoder():
    config = NarConfig.model_validate({"pretraining": {"learned_dim": 64}})
    assert config.pretraining.encoder == "default"
    assert config.pretraining.learned_dim == 64


def test_stages_come_in_the_order_in_which_they_are_learned():
    for kind in ENCODERS.values():
        assert list(kind.recipe().stages) == ["motifs", "graphs"]


def test_the_seed_reaches_every_stage():
    assert {stage.seed for stage in RECIPE.with_seed(7).stages.values()} == {7}


def with_one_operator_more(monkeypatch):
    """The vocabulary of a later version, and graphs in which relu is the operator that is new."""
    name = "toy_activation"
    monkeypatch.setattr(ops, "OPS", (*ops.OPS, name))
    monkeypatch.setitem(ops._ID_OF, name, len(ops.OPS) - 1)
    new = ops.op_id(name)
    relu = ops.op_id("relu")
    return [
        replace(graph, op_ids=np.where(graph.op_ids == relu, new, graph.op_ids).astype(np.uint16))
        for graph in three_families()
    ]


def test_the_shipped_encoder_reads_graphs_of_a_later_vocabulary(monkeypatch):
    encoder = load_checkpoint(shipped_atlas().encoder)
    before = Embedder(encoder).embed(three_families())
    after = Embedder(encoder).embed(with_one_operator_more(monkeypatch))
    assert np.isfinite(after).all()
    # The ResNets have other vectors, the transformers, which have no relu, the same ones.
    assert [bool(np.allclose(*pair)) for pair in zip(before, after, strict=True)][2:6] == [
        False, True, True, True,
    ]  # fmt: skip


def test_an_older_checkpoint_reads_a_later_operator_as_an_unknown_one(tmp_path, monkeypatch):
    torch.manual_seed(0)
    config = PaperConfig.of(MotifConfig(), RECIPE)
    save_checkpoint(tmp_path, paper_encoder(config))
    graphs = with_one_operator_more(monkeypatch)
    monkeypatch.setattr("nar.encoding.stored.FEATURE_DIM", ops.FEATURE_DIM + 1)
    vectors = Embedder(load_checkpoint(tmp_path)).embed(graphs)
    assert vectors.shape == (len(graphs), config.dim)
    assert np.isfinite(vectors).all()


def test_the_fingerprint_of_the_shipped_checkpoint_is_that_of_its_files():
    directory = shipped_atlas().encoder
    stated = json.loads((directory / "config.json").read_text())
    assert stated["encoder"]["operators"] <= ops.FEATURE_DIM
    encoder = load_checkpoint(directory)
    assert json.loads(encoder.config.model_dump_json()) == stated["encoder"]
