"""Both stages of the default encoder: they learn, they repeat, they go on where they stopped."""

import numpy as np
import pytest
import torch
from encoding import DEFAULT_RECIPE, three_families, three_family_targets

from nar.encoding.collecting import Targets
from nar.encoding.default.encoder import TableLayout
from nar.encoding.default.pretraining import (
    FamilyBatches,
    FeatureTable,
    pretrain_default,
    relatives_side_by_side,
)
from nar.encoding.default.recipe import DefaultConfig, DefaultRecipe, GraphRecipe, MotifRecipe
from nar.encoding.default.samples import CONTEXTS_A_MOTIF, collect_feature_samples
from nar.encoding.embed import Embedder, fingerprint
from nar.encoding.training import BatchShare, load_state, save_state
from nar.motifs.config import MotifConfig

SMALL = DefaultConfig.of(MotifConfig(), DEFAULT_RECIPE)
SAMPLES = collect_feature_samples(three_families(), three_family_targets(), MotifConfig())


@pytest.fixture(autouse=True)
def one_thread():
    """Sums over several threads may be rounded in another order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
def test_every_epoch_of_both_stages_is_reported():
    reports = []
    pretrain_default(SAMPLES, DEFAULT_RECIPE, after_epoch=lambda each, _: reports.append(each))
    assert [(each.stage, each.epoch) for each in reports] == [
        ("motifs", 1),
        ("motifs", 2),
        *[("graphs", epoch) for epoch in range(1, 13)],
    ]
    losses = [each.loss for each in reports if each.stage == "graphs"]
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_families_come_together():
    encoder = pretrain_default(SAMPLES, DEFAULT_RECIPE)
    vectors = Embedder(encoder).embed(three_families())
    cosines = vectors @ vectors.T
    same = np.equal.outer(np.repeat(range(3), 3), np.repeat(range(3), 3))
    assert cosines[same].min() > cosines[~same].max()


@pytest.mark.slow
def test_a_run_that_goes_on_ends_where_the_unbroken_one_does(tmp_path):
    states = []

    def keep(report, state):
        path = tmp_path / f"{report.stage}{report.epoch}"
        save_state(path, state)
        states.append(path)

    whole = fingerprint(pretrain_default(SAMPLES, DEFAULT_RECIPE, after_epoch=keep))
    for path in (states[0], states[1], states[5]):
        resumed = pretrain_default(SAMPLES, DEFAULT_RECIPE, start=load_state(path))
        assert fingerprint(resumed) == whole


def test_relatives_come_together_and_everyone_comes_once():
    families = np.repeat(np.arange(10), 10)
    order = relatives_side_by_side(families, 4, np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(100))
    changes = np.count_nonzero(np.diff(families[order]))
    assert changes <= 30  # three groups a family
    other = relatives_side_by_side(families, 4, np.random.default_rng(1))
    assert order.tolist() != other.tolist()


def test_workers_share_every_batch():
    batches = FamilyBatches(SAMPLES, FeatureTable(SMALL), DEFAULT_RECIPE.graph)
    whole = batches.rows(0, BatchShare())
    parts = [batches.rows(0, BatchShare(rank, 2)) for rank in range(2)]
    for number, rows in enumerate(whole):
        shared = np.concatenate([part[number] for part in parts])
        assert sorted(shared.tolist()) == sorted(rows.tolist())


def test_stages_can_be_left_out():
    stages = {name: getattr(DEFAULT_RECIPE, name) for name in ("motif", "graph")}
    none = {name: stage.model_copy(update={"epochs": 0}) for name, stage in stages.items()}
    reports = []
    recipe = DEFAULT_RECIPE.model_copy(update=none)
    untrained = pretrain_default(SAMPLES, recipe, after_epoch=lambda each, _: reports.append(each))
    assert reports == []
    assert untrained.vocabulary.known.any()
    again = pretrain_default(SAMPLES, recipe)
    assert fingerprint(untrained) == fingerprint(again)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "aspects"),
    [(("operators",), [0, 1]), (("attributes", "motifs"), [2, 3]), (("paths",), [4])],
)
def test_features_of_other_kinds_are_not_read(features, aspects):
    config = SMALL.model_copy(update={"features": features})
    assert np.flatnonzero(FeatureTable(config).layout.reads).tolist() == aspects
    encoder = pretrain_default(SAMPLES, DEFAULT_RECIPE.model_copy(update={"features": features}))
    assert encoder.config.features == features
    rows, _, _ = TableLayout(encoder.config).places(SAMPLES.graphs)
    # One block of rows for every aspect that is read.
    assert np.unique(rows >> config.rows_log2).tolist() == list(range(len(aspects)))


def test_motifs_have_few_contexts_and_every_row_is_there():
    motifs = SAMPLES.motifs
    _, counts = np.unique(motifs.codes, return_counts=True)
    assert counts.max() <= CONTEXTS_A_MOTIF
    assert motifs.motifs.max() < motifs.sets.count
    assert np.diff(motifs.start).min() >= 1
    assert motifs.neighbours.max() < motifs.sets.count


def test_features_that_are_left_out_differ_by_epoch_and_none_are_without_it():
    whole, less = (
        FamilyBatches(SAMPLES, FeatureTable(SMALL), GraphRecipe(leave_out=share))
        for share in (0.0, 0.5)
    )
    rows = np.arange(9)
    seen = [batches(rows, epoch).graphs.rows for batches in (whole, less) for epoch in (0, 1)]
    assert len(seen[0]) == len(seen[1]) > len(seen[2])
    assert not torch.equal(seen[2], seen[3])
    assert torch.equal(less(rows, 0).graphs.rows, seen[2])


@pytest.mark.slow
def test_each_half_learns_its_own_names():
    """Two decoders on two encoders: what one half brings together, the other keeps apart."""
    graphs = three_families()[:4]
    names = Targets.of(
        ["cnn"] * 4, ["ax", "ay", "bx", "by"], ["a", "a", "b", "b"], ["x", "y", "x", "y"]
    )
    samples = collect_feature_samples(graphs, names, MotifConfig())
    recipe = DefaultRecipe(
        learned_dim=32, motif=MotifRecipe(epochs=0), graph=GraphRecipe(epochs=60, leave_out=0.0)
    )
    vectors = Embedder(pretrain_default(samples, recipe)).embed(graphs)
    decoders, trunks = vectors[:, :16], vectors[:, 16:32]
    assert alike(decoders, 0, 1) > alike(decoders, 0, 2) + 0.05
    assert alike(trunks, 0, 2) > alike(trunks, 0, 1) + 0.05


def alike(vectors, one, other):
    return float(vectors[one] @ vectors[other] / np.square(vectors[one]).sum())
