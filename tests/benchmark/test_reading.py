"""Graphs are read once for all cells of a process, and nothing else changes by that."""

import numpy as np
import pytest
from tasks import small_task

from benchmark.methods.default import MOTIFS, UNTRAINED, Trial, trained, with_parts
from benchmark.methods.reading import read, read_motifs, sparing
from nar.encoding.default.pretraining import pretrain_default
from nar.encoding.default.samples import collect_feature_samples
from nar.encoding.embed import Embedder


@pytest.mark.slow
@pytest.mark.parametrize("trial", [Trial(), Trial(UNTRAINED)], ids=["default", "untrained"])
def test_vectors_are_those_of_an_encoder_that_reads_for_itself(trial):
    task = small_task()
    samples = collect_feature_samples(task.learned(), task.targets, MOTIFS)
    encoder = pretrain_default(samples, trial.recipe.with_seed(task.seed))
    plain = Embedder(encoder).embed(task.graphs)
    # Features of a graph come in another order, and sums round otherwise.
    first = trained(task, trial)
    np.testing.assert_allclose(first, plain, atol=1e-4)
    np.testing.assert_array_equal(trained(task, trial), first)


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


def test_a_part_of_each_graph_is_learned_under_its_own_name():
    task = small_task()
    samples = collect_feature_samples(task.learned(), task.targets, MOTIFS)
    more = with_parts(samples, task.learned(), task.seed)
    count = len(task.train)
    assert more.graphs.count == len(more.targets.families) == 2 * count
    assert (more.targets.families[count:] == task.targets.families).all()
    for row in range(count):
        whole, part = (set(more.graphs.take(np.array([each])).codes) for each in (row, row + count))
        assert len(part) < len(whole)
        assert part & whole
