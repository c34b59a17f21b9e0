"""Graphs are read once for all cells of a process, and nothing else changes by that."""

import numpy as np
import pytest
from tasks import small_task

from nar.encoding.default.pretraining import pretrain_default
from nar.encoding.default.samples import collect_feature_samples
from nar.encoding.embed import Embedder
from nar.evaluation.methods.default import MOTIFS, PLAIN, UNTRAINED, trained
from nar.evaluation.methods.reading import read, read_motifs, sparing


@pytest.mark.parametrize("recipe", [PLAIN, UNTRAINED], ids=["default", "untrained"])
def test_vectors_are_those_of_an_encoder_that_reads_for_itself(recipe):
    task = small_task()
    samples = collect_feature_samples(task.learned(), task.targets, MOTIFS)
    encoder = pretrain_default(samples, recipe.with_seed(task.seed))
    plain = Embedder(encoder).embed(task.graphs)
    # Features of a graph come in another order, and sums round otherwise.
    first = trained(task, recipe)
    np.testing.assert_allclose(first, plain, atol=1e-4)
    np.testing.assert_array_equal(trained(task, recipe), first)


def test_what_was_read_is_not_read_again_and_its_seconds_are_told():
    task = small_task()
    every = read(task.graphs, MOTIFS)
    with sparing() as spared:
        assert read(task.graphs, MOTIFS) is every
    assert spared.seconds > 0
    motifs = read_motifs(every, task.train)
    assert read_motifs(every, task.train) is motifs
    assert read_motifs(every, task.train[:-1]) is not motifs


def test_other_graphs_are_read_anew():
    task = small_task()
    every = read(task.graphs, MOTIFS)
    with sparing() as spared:
        fewer = read(task.graphs[1:], MOTIFS)
    assert spared.seconds == 0
    assert len(fewer.cut) == len(every.cut) - 1
