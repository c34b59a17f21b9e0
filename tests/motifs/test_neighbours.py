"""Eq. 2 on drawings small enough to work out by hand."""

import numpy as np
import pytest
from graphs import graph_of, random_graphs, renumbered
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical
from nar.motifs.neighbours import encode_neighbours

# The paper's toy considers wiring only: every node is the same operator. Two diamonds in a row.
DIAMONDS = "add; add 0; add 0; add 1 2; add 3; add 3; add 4 5"


def classes(codes):
    """Codes renamed to 0, 1, 2, ... in the order of first occurrence."""
    names = {}
    return [names.setdefault(code, len(names)) for code in codes.tolist()]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (0, [0, 0, 0, 0, 0, 0, 0]),  # the operator alone
        (1, [0, 1, 1, 2, 1, 1, 3]),  # source, branch, join that forks, join that ends
        (2, [0, 1, 1, 2, 3, 3, 4]),  # the branches of the two diamonds part
    ],
)
def test_each_step_widens_what_a_label_sees(steps, expected):
    assert classes(encode_neighbours(graph_of(DIAMONDS), steps)) == expected


def test_the_operator_is_seen():
    one, other = graph_of("input; conv 0; relu 1"), graph_of("input; conv 0; gelu 1")
    assert (encode_neighbours(one, 1) != encode_neighbours(other, 1)).tolist() == [
        False,
        True,
        True,
    ]


def test_operand_order_is_seen():
    one, other = graph_of("input; conv 0; sub 0 1"), graph_of("input; conv 0; sub 1 0")
    assert encode_neighbours(one, 1)[2] != encode_neighbours(other, 1)[2]


def test_children_are_a_set():
    one, other = graph_of("input; conv 0"), graph_of("input; conv 0; conv 0; conv 0")
    assert encode_neighbours(one, 1)[0] == encode_neighbours(other, 1)[0]


@pytest.mark.slow
@given(random_graphs(), st.randoms(use_true_random=False))
def test_labels_do_not_depend_on_numbering(graph, random):
    one = encode_neighbours(canonical(graph), 2)
    other = encode_neighbours(canonical(renumbered(graph, random)), 2)
    assert np.array_equal(one, other)
