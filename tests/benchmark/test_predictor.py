"""Accuracy from vectors: the networks, how cells are read, and what predicts."""

import numpy as np
import pytest

from benchmark import predictor
from benchmark.predictor import OPERATIONS, cell_of, drawn, measured, nearest, one_hot, paths, ridge
from nar.graphs.ops import op_id

MIXED = (3, 2, 4, 1, 0, 3)


def test_a_network_has_what_the_authors_say():
    [graph] = drawn(1).graphs
    # The largest and the smallest of the authors have 1.531546 and 0.073306 million parameters, for
    # ten classes; for a hundred, 90 rows of 64 weights and a bias more.
    most, least = (predictor._captured((each,) * 6).parameters for each in (3, 0))
    assert (most, least) == (1_531_546 + 90 * 65, 73_306 + 90 * 65)
    assert np.count_nonzero(graph.op_ids == op_id("linear")) == 1


def test_every_network_has_an_accuracy():
    table = drawn(3)
    assert len(table.cells) == len(table.graphs) == len(table.accuracy) == 3
    assert ((table.accuracy > 0) & (table.accuracy < 80)).all()
    assert drawn(3).cells == table.cells


def test_a_cell_is_its_operations():
    text = "|nor_conv_3x3~0|+|nor_conv_1x1~0|avg_pool_3x3~1|+|skip_connect~0|none~1|nor_conv_3x3~2|"
    assert cell_of(text) == MIXED
    assert one_hot([MIXED]).sum() == 6
    assert one_hot([MIXED]).shape == (1, 6 * len(OPERATIONS))


def test_nothing_leads_through_an_edge_of_nothing():
    # Only the edge from the first node to the last carries anything.
    assert paths([(0, 0, 0, 3, 0, 0), (0, 0, 0, 0, 0, 0)]).tolist() == [[1], [0]]


def test_a_ridge_finds_a_line_and_neighbours_find_their_mean():
    rng = np.random.default_rng(0)
    given = rng.standard_normal((60, 5))
    labels = 3 + given @ np.arange(1.0, 6.0)
    products = given @ given.T
    predicted = ridge(products[:40, :40], labels[:40], products[40:, :40])
    assert predicted == pytest.approx(labels[40:], abs=0.05)
    same = np.zeros((1, 12))
    same[0, :10] = 1
    assert nearest(same, np.array([2.0] * 10 + [9.0] * 2)) == pytest.approx([2.0])


def test_what_knows_the_answer_predicts_it_and_chance_does_not(monkeypatch):
    monkeypatch.setattr(predictor, "_LABELS", (20, 40))
    rng = np.random.default_rng(1)
    accuracy = rng.uniform(50, 70, 100)
    knows = np.column_stack([accuracy, np.ones(100)]).astype(np.float32)
    reached = measured(knows, accuracy)
    assert set(reached) == {"ridge, 20", "ridge, 40", "10-NN, 40"}
    assert all(len(pairs) == 5 for pairs in reached.values())
    assert min(pair[0] for pair in reached["ridge, 40"]) > 0.99
    chance = measured(rng.standard_normal((100, 3)).astype(np.float32), accuracy)
    assert abs(np.mean([pair[0] for pair in chance["ridge, 40"]])) < 0.4
