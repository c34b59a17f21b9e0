"""Random projections of feature sets: the same to the bit however they are summed up."""

import tracemalloc

import numpy as np
import pytest
from graphs import random_graph

from nar.encoding.default import encoder
from nar.encoding.default.encoder import signs, sketch
from nar.graphs.canonical import canonical
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import feature_sets
from nar.motifs.partition import split_all

DIM = 64


def sets_of(*graphs):
    return feature_sets(split_all([canonical(graph) for graph in graphs], MotifConfig()))


@pytest.fixture(scope="module")
def sets():
    return sets_of(*(random_graph(nodes, nodes) for nodes in (40, 700, 300)))


@pytest.mark.slow
@pytest.mark.parametrize("part", [7, 100, 1_000])
def test_sums_are_the_same_wherever_parts_begin(sets, part, monkeypatch):
    whole = sketch(sets, sets.weights, DIM)
    monkeypatch.setattr(encoder, "CODES_A_PART", part)
    np.testing.assert_array_equal(sketch(sets, sets.weights, DIM), whole)
    for graph in range(sets.count):
        alone = sets.take(np.array([graph]))
        np.testing.assert_array_equal(sketch(alone, alone.weights, DIM)[0], whole[graph])


def test_it_is_a_sum_of_signs(sets):
    expected = np.zeros((sets.count, DIM))
    np.add.at(expected, sets.graph(), sets.weights[:, None] * signs(sets.codes, DIM))
    np.testing.assert_allclose(sketch(sets, sets.weights, DIM), expected, atol=1e-4)
    assert not sketch(sets, np.zeros_like(sets.weights), DIM).any()


@pytest.mark.slow
def test_its_memory_does_not_grow_with_the_width_of_signs():
    large = sets_of(random_graph(10_000, 1, reads=4))
    dim = 512
    tracemalloc.start()
    sketch(large, large.weights, dim)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    signs_bytes = len(large.codes) * dim * np.float32().itemsize
    assert peak < signs_bytes / 3
