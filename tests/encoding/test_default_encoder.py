"""The default encoder: unit vectors of the design, with a place for what it does not know."""

from dataclasses import replace

import numpy as np
import pytest
from encoding import small_default, three_families
from graphs import graph_of, random_graphs, renumbered
from hypothesis import given
from hypothesis import strategies as st

from nar.encoding.default.encoder import SIZE_DIM, FeatureVocabulary, signs, size_features
from nar.encoding.embed import Embedder, fingerprint, load_checkpoint, save_checkpoint
from nar.encoding.registry import to_config
from nar.graphs.canonical import canonical
from nar.motifs.feature_sets import ASPECT_KINDS, feature_sets
from nar.motifs.partition import partition_all
from nar.zoo.sources.darts.genotypes import genotype_at
from nar.zoo.sources.darts.network import darts_graph

EMBEDDER = Embedder(small_default())
ASPECTS = len(ASPECT_KINDS)


def test_vectors_have_length_one():
    vectors = EMBEDDER.embed(three_families())
    assert vectors.shape == (9, 32 + 64 + 320 + SIZE_DIM)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert np.linalg.norm(EMBEDDER.embed([graph_of("input")])) == pytest.approx(1)
    assert EMBEDDER.embed([]).shape == (0, EMBEDDER.dim)


@pytest.mark.slow
@given(random_graphs(max_nodes=16), st.randoms(use_true_random=False))
def test_numbering_does_not_count(graph, source):
    one, other = (canonical(graph), canonical(renumbered(graph, source)))
    assert np.array_equal(*EMBEDDER.embed([one, other]))


def test_a_vector_is_the_same_to_the_bit_whoever_is_embedded_beside():
    """Or an index that was brought up to date would not be the one built from nothing."""
    graphs = [*three_families(), *(darts_graph(genotype_at(number * 10**15)) for number in (1, 2))]
    alone = np.concatenate([EMBEDDER.embed([graph]) for graph in graphs])
    assert np.array_equal(EMBEDDER.embed(graphs), alone)
    assert np.array_equal(EMBEDDER.embed(graphs[::-1])[::-1], alone)


def test_a_checkpoint_gives_the_very_same_vectors(tmp_path):
    encoder = small_default()
    written = save_checkpoint(tmp_path, encoder)
    read = load_checkpoint(tmp_path)
    assert written == fingerprint(encoder) == fingerprint(read)
    graphs = three_families()
    assert np.array_equal(Embedder(encoder).embed(graphs), Embedder(read).embed(graphs))


def test_what_was_learned_from_is_known_and_nothing_else():
    graphs = three_families()
    sets = feature_sets(partition_all(graphs))
    vocabulary = FeatureVocabulary.of(sets.take(np.arange(3)), ASPECTS)
    known = vocabulary.knows(sets)
    assert known[: sets.start[3]].all()
    assert not known[sets.start[3] :].all()
    assert not FeatureVocabulary.empty(ASPECTS).knows(sets).any()


def test_unknown_features_tell_new_designs_apart():
    encoder = small_default()
    encoder.table[:] = 0
    blank = Embedder(encoder).embed([graph_of("input; conv 0"), graph_of("input; relu 0")])
    assert blank[0] @ blank[1] < 0.9


def test_signs_are_those_of_the_label_and_nearly_orthogonal():
    codes = np.arange(500, dtype=np.uint64)
    vectors = signs(codes, 128)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert np.array_equal(signs(codes[7:8], 128)[0], vectors[7])
    cosines = vectors @ vectors.T - np.eye(500)
    assert abs(cosines).max() < 0.5
    assert abs(cosines.mean()) < 0.01


def test_sizes_are_alike_when_they_are_near():
    base, near, far = (
        replace(graph_of("input; conv 0"), parameters=parameters, flops=10**9)
        for parameters in (10**6, 1_050_000, 4 * 10**6)
    )
    vectors = size_features([base, near, far])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert vectors[0] @ vectors[1] > 0.9 > 0.7 > vectors[0] @ vectors[2]


def test_the_halves_of_a_vector_are_equally_long():
    vectors = EMBEDDER.embed(three_families())
    of_decoder, of_trunk = (
        np.linalg.norm(vectors[:, part], axis=1) for part in (np.s_[:16], np.s_[16:32])
    )
    assert of_decoder == pytest.approx(of_trunk, rel=1e-5)


def test_a_query_weighs_the_blocks_by_what_it_asks_for():
    config = small_default().config
    assert (config.weights("design")[:32] == 1).all()
    assert (config.weights("design")[32:96] == 2).all()
    family, trunk = config.weights("family"), config.weights("trunk")
    assert (family[:16], trunk[16:32]) == (pytest.approx(1), pytest.approx(1))
    assert not family[16:32].any()
    assert not trunk[:16].any()
    assert (config.weights("copy")[96:224] > 1).all()


def test_settings_that_older_checkpoints_do_not_know_leave_no_trace_in_them():
    old = small_default().config.model_copy(
        update={"halves": False, "identity_dim": 0, "identity_weight": 0.0}
    )
    told = old.model_dump(mode="json")
    assert told.keys().isdisjoint({"halves", "identity_dim", "identity_weight"})
    assert "border_widths" not in told["motifs"]
    assert to_config(told) == old
    assert old.dim == 32 + 64 + SIZE_DIM


def test_attributes_count_in_the_identity_as_much_as_the_settings_say():
    encoder = small_default()
    small = canonical(graph_of("input; conv 0; relu 1"))
    large = replace(small, attributes=small.attributes + np.int16(1))

    def likeness(attributes: float) -> float:
        config = encoder.config.model_copy(update={"identity_attributes": attributes})
        vectors = Embedder(replace(encoder, config=config)).embed([small, large])
        identity = vectors[:, -config.identity_dim - SIZE_DIM : -SIZE_DIM]
        one, other = identity / np.linalg.norm(identity, axis=1, keepdims=True)
        return float(one @ other)

    assert likeness(0.0) > likeness(1.0) > likeness(100.0)
