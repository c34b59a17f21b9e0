"""A macro graph in short: what repeats is drawn once, and nothing is lost."""

import numpy as np
import pytest
from graphs import random_graphs
from hypothesis import given

from nar.graphs.canonical import canonical
from nar.motifs.partition import MacroGraph, macro_graph, partition
from nar.web.model_views import condensed, kinds_of


def chain(letters):
    """A macro graph of motif types, one after the other."""
    codes = np.array([ord(letter) for letter in letters], dtype=np.uint64)
    ends = np.arange(len(letters) - 1)
    return MacroGraph(codes, np.stack([ends, ends + 1]).astype(np.int32))


@pytest.mark.parametrize(
    ("letters", "drawn", "repeats"),
    [
        ("A", ["A1"], [1]),
        ("ABBBC", ["A1", "B3", "C1"], [1, 1, 1]),
        ("ABBBCBBBCD", ["A1", "B3", "C1", "D1"], [1, 2, 1]),
        ("ABABAB", ["A1", "B1"], [3]),
        ("ABCABD", ["A1", "B1", "C1", "A1", "B1", "D1"], [1] * 6),
    ],
)
def test_chains(letters, drawn, repeats):
    short = condensed(chain(letters))
    first = list(dict.fromkeys(letters))
    assert [f"{first[node.kind]}{node.count}" for node in short.nodes] == drawn
    assert list(short.repeats) == repeats
    assert all(node.is_chain for node in short.nodes)
    assert short.links == tuple((at, at + 1) for at in range(len(drawn) - 1))


def test_equal_motifs_side_by_side_are_no_chain():
    codes = np.array([1, 2, 2, 3], dtype=np.uint64)
    links = np.array([[0, 0, 1, 2], [1, 2, 3, 3]], dtype=np.int32)
    short = condensed(MacroGraph(codes, links))
    assert [(node.count, node.is_chain) for node in short.nodes] == [
        (1, True),
        (2, False),
        (1, True),
    ]
    assert short.links == ((0, 1), (1, 2))


@pytest.mark.slow
@given(random_graphs(max_nodes=40))
def test_what_is_drawn_repeats_to_the_motifs(graph):
    macro = macro_graph(partition(canonical(graph)))
    short = condensed(macro)
    repeated = []
    for group, repeats in enumerate(short.repeats):
        body = [node for node in short.nodes if node.group == group]
        repeated += [node.kind for _ in range(repeats) for node in body for _ in range(node.count)]
    assert repeated == kinds_of(macro)
    assert all(source < target < len(short.nodes) for source, target in short.links)
