"""Node codes: the tables say the same of edits, distances and texts as the records do."""

import pytest
from genotype_edits import edited_genotypes
from hypothesis import given, settings
from hypothesis import strategies as st

from nar.zoo.sources.darts.genotypes import GENOTYPE_COUNT, NODES, genotype_at
from nar.zoo.sources.darts.sampling import (
    NODE_COUNTS,
    code_edits,
    codes_of,
    distances_from,
    edit_choices,
    edit_distance,
    genotype_text,
)

indices = st.integers(0, GENOTYPE_COUNT - 1)


@given(indices)
@settings(deadline=None)
def test_codes_and_number_are_of_one_genotype(index):
    assert genotype_text(codes_of(index)) == str(genotype_at(index))


def test_all_codes_of_a_node_are_used():
    assert codes_of(GENOTYPE_COUNT - 1) == tuple(count - 1 for count in NODE_COUNTS) * 2


@pytest.mark.slow
@given(indices)
@settings(deadline=None)
def test_edits_come_in_the_order_of_the_records(index):
    genotype, codes = genotype_at(index), codes_of(index)
    edited = []
    for node, choice in edit_choices():
        code = code_edits(node % NODES)[codes[node]][choice]
        edited.append(genotype_text((*codes[:node], code, *codes[node + 1 :])))
    assert edited == [str(other) for other in edited_genotypes(genotype)]


@pytest.mark.parametrize("index", [0, GENOTYPE_COUNT // 3])
@given(indices)
@settings(deadline=None)
def test_distances_add_up_to_the_distance_of_the_records(index, other):
    pairs = zip(codes_of(index), codes_of(other), strict=True)
    total = sum(
        distances_from(node % NODES, before)[after] for node, (before, after) in enumerate(pairs)
    )
    assert total == edit_distance(genotype_at(index), genotype_at(other))
