"""Pairs as numbers, the scorer that is learned of them, and changes that are made automatically."""

import numpy as np
import pytest

from benchmark.methods.default import MOTIFS
from benchmark.methods.reading import read_anew
from benchmark.pairs.changes import changed
from benchmark.pairs.codes import Vocabulary, coded
from benchmark.pairs.scorer import learned
from nar.answers.pairs import COLUMNS, KINDS, SHARED
from nar.graphs.canonical import canonical
from tests.graphs import bert, graph_of, resnet

GRAPHS = [canonical(each) for each in (bert(2), bert(4), resnet([1, 1]), resnet([2, 2]))]


@pytest.fixture(scope="module")
def networks():
    sets = read_anew(GRAPHS, MOTIFS).sets
    return coded(sets, GRAPHS, Vocabulary.of(sets))


def test_a_network_contains_itself_and_is_as_large(networks):
    pairs = networks.compared(0, networks, np.array([0, 2]))
    assert pairs.shape == (2, len(COLUMNS))
    has_codes = networks.totals[0] > 1
    shares = pairs[0, :SHARED].reshape(3, KINDS)[:, has_codes]
    assert shares == pytest.approx(np.ones_like(shares))
    assert not pairs[0, SHARED:].any()


def test_relatives_share_more_than_strangers(networks):
    relative, stranger = networks.compared(0, networks, np.array([1, 2]))
    assert relative[:SHARED].sum() > stranger[:SHARED].sum()
    # The larger one contains the smaller better than the smaller one the larger.
    assert relative[: 2 * KINDS].reshape(2, KINDS).sum(axis=1).tolist() == sorted(
        relative[: 2 * KINDS].reshape(2, KINDS).sum(axis=1).tolist(), reverse=True
    )
    assert relative[SHARED] > 0  # more nodes


def test_unknown_codes_are_the_rarest():
    known = read_anew(GRAPHS[:2], MOTIFS).sets
    vocabulary = Vocabulary.of(known)
    numbers = vocabulary.numbers(np.array([vocabulary.codes[3], 1], dtype=np.uint64))
    assert numbers.tolist() == [3, len(vocabulary.codes)]
    assert vocabulary.rarity[-1] == vocabulary.rarity.max()


def test_a_scorer_learns_which_column_tells():
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((200, 12, 4)).astype(np.float32)
    right = pairs[:, :, 2] == pairs[:, :, 2].max(axis=1, keepdims=True)
    scorer = learned(pairs, right, 0.02)
    assert np.abs(scorer.weights).argmax() == 2
    scores = scorer.scores(pairs[0])
    assert scores.argmax() == right[0].argmax()
    assert (scores.mean(), scores.std()) == pytest.approx((0, 1), abs=1e-5)


def test_changes_are_other_graphs_and_valid_ones():
    graphs = GRAPHS * 12
    made, whose = changed(graphs, np.random.default_rng(1))
    assert len(made) == len(whose) > 30
    for graph, original in zip(made, whose.tolist(), strict=True):
        graph.validate()
        assert graph != graphs[original]
    again, _ = changed(graphs, np.random.default_rng(1))
    assert again == made


def test_what_bears_no_change_is_left_out():
    made, whose = changed([canonical(graph_of("input; add 0"))] * 40, np.random.default_rng(0))
    assert len(made) == len(whose) < 40
