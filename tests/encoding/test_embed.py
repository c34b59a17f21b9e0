"""The Embedder: unit vectors that depend on the design and on nothing else."""

import numpy as np
import pytest
from encoding import small_encoder, three_families
from graphs import graph_of, random_graphs, renumbered
from hypothesis import given
from hypothesis import strategies as st

from nar.encoding import embed as embed_module
from nar.encoding.embed import Embedder
from nar.graphs.canonical import canonical

EMBEDDER = Embedder(small_encoder())


def test_vectors_have_length_one():
    vectors = EMBEDDER.embed(three_families())
    assert vectors.shape == (9, 16)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


def test_no_graphs_give_no_vectors():
    assert EMBEDDER.embed([]).shape == (0, 16)


def test_a_single_operator_has_a_vector():
    assert np.linalg.norm(EMBEDDER.embed([graph_of("input")])) == pytest.approx(1)


@pytest.mark.slow
@given(random_graphs(max_nodes=16), st.randoms(use_true_random=False))
def test_numbering_does_not_count(graph, source):
    one, other = (canonical(graph), canonical(renumbered(graph, source)))
    assert np.array_equal(*EMBEDDER.embed([one, other]))


def test_company_changes_rounding_only():
    graphs = three_families()
    alone = np.concatenate([Embedder(small_encoder()).embed([graph]) for graph in graphs])
    assert EMBEDDER.embed(graphs) == pytest.approx(alone, abs=1e-6)


def test_equal_graphs_in_one_call_are_equal_to_the_bit():
    graphs = three_families()
    vectors = EMBEDDER.embed([graphs[0], *graphs, graphs[0]])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[-1])


def test_a_fresh_embedder_repeats_the_call_to_the_bit():
    once, twice = (Embedder(small_encoder()).embed(three_families()) for _ in range(2))
    assert np.array_equal(once, twice)


def test_runs_of_bounded_size_give_the_same(monkeypatch):
    whole = EMBEDDER.embed(three_families())
    monkeypatch.setattr(embed_module, "NODES_A_PASS", 60)
    assert EMBEDDER.embed(three_families()) == pytest.approx(whole, abs=1e-6)


def test_every_stage_is_timed():
    seconds = {}
    EMBEDDER.embed(three_families(), observe=seconds.__setitem__)
    assert list(seconds) == ["motifs", "encode"]
    assert min(seconds.values()) > 0


def test_depth_changes_the_vector_less_than_design():
    # Untrained weights are drawn: the mean cosine over three draws.
    encoders = [Embedder(small_encoder(seed)) for seed in range(3)]
    vectors = np.concatenate([each.embed(three_families()) for each in encoders], axis=1)
    scores = vectors @ vectors.T
    nearest = np.argmax(scores - 2 * np.eye(9), axis=1)
    assert (nearest // 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
