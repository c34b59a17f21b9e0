"""Paths of two edges against a walk by hand."""

from collections import Counter

import numpy as np
import pytest
from graphs import graph_of, random_graphs, renumbered
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical
from nar.graphs.hashing import mix
from nar.graphs.ops import Trait, ids_with_any
from nar.motifs.feature_sets import MAX_NEIGHBOURS, levels, paths
from nar.motifs.neighbours import wiring


def paths_in(graph):
    wires = wiring([graph])
    return paths(mix(wires.op_ids.astype(np.uint64)), wires)


def by_hand(graph):
    """How often each triple of operators occurs; a node also says which operand it is."""
    several = np.bincount(graph.edge_index[1], minlength=graph.nodes) > 1
    slots, readers = Counter(), {node: set() for node in range(graph.nodes)}
    for source, target in graph.edge_index.T.tolist():
        operator = int(graph.op_ids[target])
        if several[target] and operator not in ids_with_any(Trait.COMMUTATIVE):
            readers[source].add((operator, slots[target]))
        slots[target] += 1
    names = [(int(graph.op_ids[n]), frozenset(readers[n])) for n in range(graph.nodes)]
    edges = graph.edge_index.T.tolist()
    return Counter(
        (names[u], names[v], names[w]) for u, v in edges for middle, w in edges if v == middle
    )


@pytest.mark.slow
@given(random_graphs(max_nodes=14))
def test_every_path_is_found_as_often_as_it_is(graph):
    graph = canonical(graph)
    read = paths_in(graph)
    times = Counter()
    for code, count in zip(read.codes.tolist(), read.times.tolist(), strict=True):
        times[code] += count
    assert sorted(times.values()) == sorted(by_hand(graph).values())


@pytest.mark.slow
@given(random_graphs(max_nodes=14), st.randoms(use_true_random=False))
def test_numbering_does_not_count(graph, source):
    one, other = (paths_in(canonical(each)) for each in (graph, renumbered(graph, source)))
    assert Counter(one.codes.tolist()) == Counter(other.codes.tolist())


@pytest.mark.parametrize(("times", "wanted"), [(1, 1), (2, 2), (3, 2), (4, 3), (64, 7), (999, 7)])
def test_a_label_more_each_time_the_number_doubles(times, wanted):
    read = paths_in(graph_of("; ".join(["input", "conv 0", *["relu 1"] * times])))
    owner, codes = levels(np.zeros(len(read.middle), dtype=np.int64), read)
    assert len(set(codes.tolist())) == len(codes) == len(owner) == wanted


def test_owners_are_apart():
    read = paths_in(graph_of("input; conv 0; relu 1; conv 2; relu 3"))
    together, _ = levels(np.zeros(len(read.middle), dtype=np.int64), read)
    apart, codes = levels(read.middle, read)
    assert sorted(apart.tolist()) == sorted(read.middle.tolist()) == [1, 2, 3]
    assert len(set(codes.tolist())) == len(together) == 3


def test_a_hub_keeps_few_of_its_paths_whatever_its_numbering():
    around = [f"input; {'conv 0; ' * 40}add {' '.join(map(str, range(1, 41)))}", "relu 41; " * 40]
    graph = graph_of("; ".join(around).rstrip("; "))
    wires = wiring([graph])
    read = paths(mix(np.arange(graph.nodes, dtype=np.uint64)), wires)
    assert np.count_nonzero(read.middle == 41) == MAX_NEIGHBOURS**2
    # The input has 40 readers, the sum 40 operands and 40 readers.
    assert read.cut == 3 * (40 - MAX_NEIGHBOURS)


@pytest.mark.parametrize("drawn", ["input", "input; conv 0"])
def test_too_short_for_a_path(drawn):
    read = paths_in(graph_of(drawn))
    assert len(read.codes) == 0
    assert len(levels(read.middle, read)[1]) == 0
