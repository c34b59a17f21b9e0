"""The splitting baselines of Table 2."""

import pytest
from graphs import resnet

from nar.graphs.canonical import canonical
from nar.motifs.partition import split_by_motif_number, split_by_node_number, split_randomly

GRAPH = canonical(resnet([2, 2]))  # 51 nodes


def sizes(cut):
    groups = cut.node_to_motif.tolist()
    return [groups.count(motif) for motif in range(cut.motifs)]


def test_by_node_number_all_but_the_last_have_the_same_size():
    assert sizes(split_by_node_number(GRAPH, 20)) == [20, 20, 11]


@pytest.mark.parametrize(("wanted", "motifs"), [(1, 1), (4, 4), (1000, 51)])
def test_by_motif_number_the_number_is_the_same(wanted, motifs):
    cut = split_by_motif_number(GRAPH, wanted)
    assert cut.motifs == motifs
    assert max(sizes(cut)) - min(sizes(cut)) <= 1


def test_random_sizes_stay_within_their_range_and_follow_the_seed():
    cut = split_randomly(GRAPH, min_nodes=5, max_nodes=10, seed=1)
    assert all(5 <= size <= 10 for size in sizes(cut)[:-1])
    again = split_randomly(GRAPH, min_nodes=5, max_nodes=10, seed=1)
    assert sizes(again) == sizes(cut)
    assert sizes(split_randomly(GRAPH, min_nodes=5, max_nodes=10, seed=2)) != sizes(cut)
