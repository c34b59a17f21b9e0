"""Feature sets: what occurs in a graph, whatever its numbering, and each aspect weighs the same."""

import numpy as np
import pytest
from graphs import bert, random_graphs, renumbered, resnet
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical
from nar.motifs.feature_sets import ASPECT_KINDS, feature_sets, joined, motif_feature_sets
from nar.motifs.partition import partition_all

ASPECTS = len(ASPECT_KINDS)


def sets_of(*graphs):
    return feature_sets(partition_all([canonical(graph) for graph in graphs]))


def features_of(sets, graph, kinds=ASPECT_KINDS):
    part = slice(sets.start[graph], sets.start[graph + 1])
    is_asked = np.array([kind in kinds for kind in ASPECT_KINDS])[sets.aspects[part]]
    return set(sets.codes[part][is_asked].tolist())


@pytest.mark.slow
@given(random_graphs(max_nodes=16), st.randoms(use_true_random=False))
def test_numbering_does_not_count(graph, source):
    sets = sets_of(graph, renumbered(graph, source))
    assert features_of(sets, 0) == features_of(sets, 1)


def test_a_feature_counts_once_and_every_stream_the_same():
    sets = sets_of(resnet([3, 4]), bert(2))
    for graph in range(2):
        part = slice(sets.start[graph], sets.start[graph + 1])
        assert len(np.unique(sets.codes[part])) == part.stop - part.start
        squares = np.bincount(sets.aspects[part], sets.weights[part] ** 2)
        assert squares == pytest.approx(np.ones(ASPECTS))


def test_depth_adds_no_feature_of_a_neighbourhood():
    short, long = sets_of(resnet([4, 4])), sets_of(resnet([4, 9]))
    neighbourhoods = [
        set(sets.codes[sets.aspects < ASPECT_KINDS.index("motifs")].tolist())
        for sets in (short, long)
    ]
    assert neighbourhoods[0] == neighbourhoods[1]


def test_graphs_can_be_taken_and_joined():
    sets = sets_of(resnet([1]), bert(1), resnet([2]))
    again = joined([sets.take(np.array([2])), sets.take(np.array([0, 1]))])
    order = [2, 0, 1]
    assert again.count == 3
    for position, graph in enumerate(order):
        assert features_of(again, position) == features_of(sets, graph)
    assert again.graph().tolist() == sorted(again.graph().tolist())


def test_motifs_share_the_features_of_their_graph():
    partitions = partition_all([canonical(resnet([2, 2])), canonical(bert(2))])
    sets, owners = motif_feature_sets(partitions)
    whole = feature_sets(partitions)
    shared = set(ASPECT_KINDS) - {"whole"}
    # Paths are counted: a motif has fewer of them than its graph. Skeletons have paths, too.
    same = shared - {"paths", "skeleton"}
    for graph, (partition, rows) in enumerate(zip(partitions, owners, strict=True)):
        assert len(rows) == partition.motifs
        inside = [{*features_of(sets, row, shared)} for row in set(rows.tolist())]
        assert set().union(*inside) <= features_of(whole, graph, shared)
        inside = [{*features_of(sets, row, same)} for row in set(rows.tolist())]
        assert set().union(*inside) == features_of(whole, graph, same)
