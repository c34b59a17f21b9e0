"""Edits and edit distance: against breadth-first search, and as a metric."""

from itertools import product

import pytest
from genotype_edits import edited_genotypes
from hypothesis import given
from hypothesis import strategies as st

from nar.zoo.sources.darts.genotypes import GENOTYPE_COUNT, SOURCE_PAIRS, Edge, genotype_at
from nar.zoo.sources.darts.sampling import edit_distance, node_distance, node_edits

genotypes = st.integers(0, GENOTYPE_COUNT - 1).map(genotype_at)
OPERATIONS = ("skip_connect", "sep_conv_3x3", "dil_conv_3x3")


def nodes(number):
    """Everything that ADD node ``number`` may read, with three of the operations."""
    return [
        (Edge(low, first), Edge(high, second))
        for low, high in SOURCE_PAIRS[number]
        for first, second in product(OPERATIONS, repeat=2)
    ]


def searched_distances(start, number):
    """Edits from one node to all others by breadth-first search over single edits."""
    distances = {start: 0}
    frontier = [start]
    while frontier:
        frontier = [
            edited
            for node in frontier
            for edited in node_edits(node, number)
            if edited not in distances and not distances.update({edited: distances[node] + 1})
        ]
    return distances


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_distance_is_the_length_of_the_shortest_way(number):
    for start in nodes(number):
        distances = searched_distances(start, number)
        for end in nodes(number):
            assert node_distance(start, end) == distances[end]


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("skip@0 sep3@1", "sep3@0 skip@1", 2),  # two operations, or two sources
        ("skip@0 sep3@2", "sep3@1 skip@2", 2),  # crossed: one source and one more
        ("skip@1 sep3@2", "sep3@0 skip@1", 1),  # crossed: one source
        ("skip@0 skip@1", "skip@1 skip@2", 1),
        ("skip@0 sep3@1", "dil3@2 dil3@3", 4),
    ],
)
def test_the_cheaper_pairing_counts(one, other, distance):
    short = {"skip": OPERATIONS[0], "sep3": OPERATIONS[1], "dil3": OPERATIONS[2]}

    def node(text):
        parts = [edge.split("@") for edge in text.split()]
        return tuple(Edge(int(source), short[operation]) for operation, source in parts)

    assert node_distance(node(one), node(other)) == distance


@pytest.mark.slow
@given(genotypes)
def test_there_are_120_different_edits_each_one_away(genotype):
    edited = set(edited_genotypes(genotype))
    assert len(edited) == 120
    assert {edit_distance(genotype, other) for other in edited} == {1}


@pytest.mark.slow
@given(genotypes, genotypes, genotypes)
def test_distance_is_a_metric(one, other, third):
    assert (edit_distance(one, other) == 0) == (one == other)
    assert edit_distance(one, other) == edit_distance(other, one)
    assert edit_distance(one, third) <= edit_distance(one, other) + edit_distance(other, third)


@pytest.mark.slow
@given(genotypes, st.lists(st.integers(0, 119), max_size=6))
def test_so_many_edits_lead_no_farther(genotype, numbers):
    edited = genotype
    for number in numbers:
        edited = edited_genotypes(edited)[number]
    assert edit_distance(genotype, edited) <= len(numbers)
