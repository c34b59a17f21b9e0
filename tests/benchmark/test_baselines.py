"""Baselines: what each sees of a graph, and what it does not."""

import numpy as np
import pytest
from graphs import bert, graph_of, renumbered, resnet

from benchmark.methods.baselines import (
    bag_of_operators,
    code_histograms,
    random_vectors,
    sizes,
    untrained_sum,
)
from nar.graphs.canonical import canonical
from nar.graphs.ops import op_id

CHAIN = canonical(graph_of("input; conv 0; relu 1"))
FLIPPED = canonical(graph_of("input; relu 0; conv 1"))


def cosine(left, right):
    left, right = left.ravel(), right.ravel()
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


def test_bag_of_operators_counts_and_ignores_wiring():
    bags = bag_of_operators([CHAIN, FLIPPED, graph_of("input; conv 0; conv 1")]).toarray()
    assert bags[0].tolist() == bags[1].tolist()
    assert bags[0, op_id("conv")] == pytest.approx(np.log(2))
    assert bags[2, op_id("conv")] == pytest.approx(np.log(3))
    assert bags[2].astype(bool).sum() == 2


def test_histograms_without_steps_see_operators_only():
    zero = code_histograms([CHAIN, FLIPPED], 0, "presence").toarray()
    assert zero[0].tolist() == zero[1].tolist()
    one = code_histograms([CHAIN, FLIPPED], 1, "presence").toarray()
    assert one[0].tolist() != one[1].tolist()


@pytest.mark.parametrize("weighting", ["presence", "log_counts", "idf"])
def test_histograms_do_not_depend_on_numbering(weighting):
    graph = resnet([1, 1])
    copies = [canonical(renumbered(graph, np.random.default_rng(seed))) for seed in range(3)]
    rows = code_histograms(copies, 3, weighting).toarray()
    assert (rows == rows[0]).all()


def test_presence_forgets_depth_and_counts_keep_it():
    short, long = canonical(resnet([3, 4, 6, 3])), canonical(resnet([3, 4, 23, 3]))
    presence = code_histograms([short, long], 2, "presence").toarray()
    counts = code_histograms([short, long], 2, "log_counts").toarray()
    assert cosine(*presence) == pytest.approx(1.0)
    assert cosine(*counts) < 1.0


def test_relatives_are_nearer_than_strangers():
    graphs = [canonical(graph) for graph in (bert(2), bert(4), resnet([1, 1]))]
    base, large, stranger = code_histograms(graphs, 2, "idf").toarray()
    assert cosine(base, large) > 0.9 > 0.2 > cosine(base, stranger)


def test_idf_lifts_what_is_rare():
    weights = code_histograms([CHAIN, CHAIN, bert(1)], 0, "idf").toarray()
    common, rare = weights[0].max(), weights[2].max()
    assert common == pytest.approx(np.log(1 + 3 / 2))
    assert rare == pytest.approx(np.log(1 + 3))


def test_sizes_are_standardised():
    rows = sizes([resnet([1]), resnet([2]), bert(1)])
    assert rows.shape == (3, 3)
    assert rows.mean(axis=0).tolist() == pytest.approx([0, 0, 0], abs=1e-6)
    assert rows[:, 0].tolist() == [0, 0, 0]  # nothing here has parameters


def test_random_vectors_follow_their_seed():
    assert random_vectors(3, 7).shape == (3, 64)
    assert (random_vectors(3, 7) == random_vectors(3, 7)).all()
    assert (random_vectors(3, 7) != random_vectors(3, 8)).any()


def test_the_untrained_sum_is_the_mean_of_its_cosines():
    graphs = [canonical(graph) for graph in (bert(2), bert(4), resnet([1, 1]))]
    base, large, stranger = untrained_sum(graphs).toarray()
    assert np.linalg.norm(base) == pytest.approx(np.sqrt(2.1))
    assert cosine(base, large) > 0.8 > 0.3 > cosine(base, stranger)
    codes, *others = code_histograms(graphs, 3, "idf").toarray()
    width = len(codes)
    assert cosine(base[:width], large[:width]) == pytest.approx(cosine(codes, others[0]), abs=1e-5)
