"""Genotypes: text and number, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.base.errors import InvalidInputError
from nar.zoo.sources.darts.genotypes import (
    CELL_COUNT,
    GENOTYPE_COUNT,
    Cell,
    Edge,
    Genotype,
    cell_at,
    genotype_at,
    parse_genotype,
)

# The network that Liu et al. (2018) found, as their code names it DARTS_V2.
DARTS_V2 = (
    "sep3@0+sep3@1,sep3@0+sep3@1,skip@0+sep3@1,skip@0+dil3@2"
    "/max3@0+max3@1,max3@1+skip@2,max3@0+skip@2,max3@1+skip@2"
)


def test_the_space_has_as_many_cells_as_choices():
    assert CELL_COUNT == (1 * 3 * 6 * 10) * 7**8
    assert GENOTYPE_COUNT == CELL_COUNT**2


@pytest.mark.slow
@given(st.integers(0, GENOTYPE_COUNT - 1))
def test_number_and_text_are_two_names_of_one_genotype(index):
    genotype = genotype_at(index)
    assert genotype.index == index
    assert parse_genotype(str(genotype)) == genotype


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "skip@0+skip@1,skip@0+skip@1,skip@0+skip@1,skip@0+skip@1"),
        (1, "skip@0+skip@1,skip@0+skip@1,skip@0+skip@1,skip@0+max3@1"),
        (49, "skip@0+skip@1,skip@0+skip@1,skip@0+skip@1,skip@0+skip@2"),
        (CELL_COUNT - 1, "dil5@0+dil5@1,dil5@1+dil5@2,dil5@2+dil5@3,dil5@3+dil5@4"),
    ],
)
def test_cells_are_counted_from_the_last_node_up(index, text):
    assert str(cell_at(index)) == text


def test_text_form_of_a_known_network():
    genotype = parse_genotype(DARTS_V2)
    assert str(genotype) == DARTS_V2
    assert genotype.normal.nodes[3] == (Edge(0, "skip_connect"), Edge(2, "dil_conv_3x3"))


def test_the_two_edges_of_a_node_have_no_order():
    swapped = DARTS_V2.replace("skip@0+dil3@2", "dil3@2+skip@0")
    assert parse_genotype(swapped) == parse_genotype(DARTS_V2)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("/", ",", "genotype"),
        ("sep3@0+sep3@1,sep3@0", "sep3@0+sep3@0,sep3@0", "normal.cell[0]"),
        ("max3@1+skip@2,max3@0", "max3@1+skip@3,max3@0", "reduction.cell[1]"),
        ("dil3@2", "dil7@2", "normal.edge"),
        ("dil3@2", "dil3@-1", "normal.edge"),
        ("skip@0+dil3@2", "skip@0", "normal.node"),
        ("skip@0+dil3@2/", "skip@0+dil3@2,skip@0+dil3@2/", "normal.cell"),
    ],
)
def test_faults_name_the_place(old, new, field):
    with pytest.raises(InvalidInputError) as caught:
        parse_genotype(DARTS_V2.replace(old, new, 1))
    assert caught.value.field == field


def test_a_cell_is_kept_in_normal_form_only():
    edges = (Edge(1, "skip_connect"), Edge(0, "skip_connect"))
    with pytest.raises(InvalidInputError, match="the smaller first"):
        Cell((edges,) * 4)


@pytest.mark.parametrize("index", [-1, GENOTYPE_COUNT])
def test_numbers_outside_the_space_are_refused(index):
    with pytest.raises(InvalidInputError, match="wanted 0 to"):
        genotype_at(index)


def test_an_operation_outside_the_space_is_refused():
    nodes = tuple((Edge(0, "conv"), Edge(1, "conv")) for _ in range(4))
    with pytest.raises(InvalidInputError, match="skip_connect"):
        Genotype(Cell(nodes), Cell(nodes))
