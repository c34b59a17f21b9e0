"""Skeletons: another norm or activation leaves no trace in them, whatever else does."""

import numpy as np
import pytest
from graphs import graph_of, random_graphs
from hypothesis import given

from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import op_name
from nar.motifs.feature_sets import ASPECT_KINDS, feature_sets
from nar.motifs.neighbours import skeleton, wiring
from nar.motifs.partition import partition_all

BLOCK = "input; conv 0; {norm} 1; {act} 2; conv 3; {norm} 4; add 5 1; {act} 6; linear 7"


def bones_of(graph: ComputationalGraph) -> tuple[list[str], list[tuple[int, int]]]:
    _, wires = skeleton(wiring([graph]))
    names = [op_name(each) for each in wires.op_ids.tolist()]
    return names, sorted(zip(wires.source.tolist(), wires.target.tolist(), strict=True))


def codes_of(kind: str, *graphs: ComputationalGraph) -> list[set[int]]:
    sets = feature_sets(partition_all([canonical(graph) for graph in graphs]))
    of_kind = np.array([each == kind for each in ASPECT_KINDS])[sets.aspects]
    return [set(sets.codes[of_kind & (sets.graph() == row)].tolist()) for row in range(len(graphs))]


def test_norms_and_activations_are_gone_and_their_readers_read_what_they_read():
    names, edges = bones_of(graph_of(BLOCK.format(norm="batch_norm", act="relu")))
    assert names == ["input", "conv", "conv", "add", "linear"]
    assert edges == [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)]


def test_arithmetic_of_two_values_stays_and_a_scale_goes():
    names, edges = bones_of(graph_of("input; mul 0; conv 1; mul 2 1"))
    assert (names, edges) == (["input", "conv", "mul"], [(0, 1), (0, 2), (1, 2)])


def test_who_exchanges_norms_and_activations_keeps_the_skeleton():
    one = graph_of(BLOCK.format(norm="batch_norm", act="relu"))
    other = graph_of(BLOCK.format(norm="group_norm", act="gelu"))
    assert len(set(map(frozenset, codes_of("skeleton", one, other)))) == 1
    first, second = codes_of("whole", one, other)
    assert len(first & second) == 1  # that of the skeleton; the designs differ
    assert len(set(map(frozenset, codes_of("operators", one, other)))) == 2


def test_the_code_of_the_whole_tells_depths_apart():
    shallow, deep = graph_of("input; conv 0; conv 1"), graph_of("input; conv 0; conv 1; conv 2")
    first, second = codes_of("whole", shallow, deep)
    assert not first & second


@pytest.mark.slow
@given(random_graphs(max_nodes=16))
def test_a_skeleton_is_a_graph_without_what_can_be_exchanged(graph):
    wires = wiring([graph])
    kept, bones = skeleton(wires)
    assert len(bones.op_ids) == kept.sum()
    assert (bones.source < len(bones.op_ids)).all()
    reads = np.diff(bones.in_start)
    # Who is left reads as many values as before.
    assert np.array_equal(reads, np.diff(wires.in_start)[kept])
    _, again = skeleton(bones)
    assert len(again.op_ids) == len(bones.op_ids)
