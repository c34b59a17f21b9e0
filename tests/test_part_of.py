"""What is a part of what: cuts of a graph, smaller members of a family, other designs."""

import numpy as np
import pytest
from graphs import bert, graph_of, random_graphs, resnet
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmark.editing.parts import cut, run, without_head
from nar.answers.part_of import part_of, wholes_of
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import op_id

PLAIN = "input; conv 0; relu 1; conv 2; batch_norm 3; gelu 4; mean 5; linear 6"
RESNET = canonical(resnet([3, 4, 6, 3]))


def plain(text: str) -> ComputationalGraph:
    return canonical(graph_of(text))


@pytest.mark.parametrize(
    ("text", "where", "of_whole"),
    [
        ("input; conv 0; relu 1; conv 2; batch_norm 3", "the beginning", 4 / 7),
        ("input; batch_norm 0; gelu 1; mean 2; linear 3", "the end", 4 / 7),
        ("input; batch_norm 0; gelu 1", "the middle", 2 / 7),
    ],
)
def test_a_piece_of_a_chain_is_a_part_of_it(text, where, of_whole):
    part = part_of(plain(text), plain(PLAIN))
    assert (part.share, part.of_whole, part.where) == (1, pytest.approx(of_whole), where)
    assert part.is_part()


def test_what_lies_beyond_an_input_is_not_asked_for():
    """A gelu after a norm, and one after who knows what."""
    after_norm = plain("input; batch_norm 0; gelu 1; mean 2; linear 3")
    other = plain("input; conv 0; relu 1; gelu 2; mean 3; linear 4")
    assert part_of(after_norm, other).share == 0
    assert part_of(plain("input; gelu 0; mean 1; linear 2"), other).share == 1


def test_what_occurs_twice_in_the_query_occurs_twice_in_the_whole():
    twice = plain("input; conv 0; tanh 1; conv 0; tanh 3; add 2 4")
    once = plain("input; conv 0; tanh 1; add 2 0; linear 3")
    assert part_of(twice, once).share == pytest.approx(2 / 5)


@pytest.mark.parametrize("begin, end, where", [(0, 0.5, "the beginning"), (0.5, 1, "the end")])  # noqa: PT006
def test_halves_of_a_residual_network(begin, end, where):
    part = part_of(run(RESNET, begin=begin, end=end), RESNET)
    assert part.share == 1
    assert part.where == where
    assert part.of_whole == pytest.approx(0.5, abs=0.02)


def test_a_trunk_without_its_head_is_the_beginning():
    part = part_of(without_head(RESNET), RESNET)
    assert (part.share, part.where, part.is_part()) == (1, "the beginning", True)


def test_a_smaller_member_of_the_family_is_no_part():
    """Most of its operators are there, but so are stem and head of the larger one."""
    part = part_of(canonical(resnet([2, 2, 2, 2])), RESNET)
    assert part.share > 0.8
    assert (part.where, part.is_part()) == ("", False)


def test_layers_given_their_embeddings_are_the_end():
    whole = canonical(bert(6))
    words = whole.op_ids == op_id("embedding")
    kept = ~words
    kept[whole.edge_index[1][words[whole.edge_index[0]]]] = False  # the sum of both
    part = part_of(cut(whole, kept), whole)
    assert (part.share, part.where) == (1, "the end")


def test_another_design_is_no_part():
    assert not part_of(run(canonical(bert(6)), begin=0.2, end=0.8), RESNET).is_part()


def test_a_whole_that_has_no_layer_more_is_not_called_one():
    softened = plain(f"{PLAIN}; softmax 7")
    part = part_of(plain(PLAIN), softened)
    assert (part.share, part.is_part()) == (1, False)


def test_of_several_wholes_the_smallest_comes_first():
    block = run(RESNET, begin=0.3, end=0.5)
    known = {"larger": canonical(resnet([6, 8, 12, 6])), "bert": canonical(bert(6)), "own": RESNET}
    assert [whole.name for whole in wholes_of(block, known)] == ["own", "larger"]
    assert wholes_of(RESNET, {"itself": RESNET}) == ()


@pytest.mark.slow
@given(random_graphs(min_nodes=6), st.data())
def test_whatever_is_cut_out_is_contained(graph, data):
    whole = canonical(graph)
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, whole.nodes)] * 2)))
    kept = np.zeros(whole.nodes, dtype=np.bool_)
    kept[begin:end] = True
    assume(0 < kept.sum() < whole.nodes and (whole.op_ids[kept] != op_id("input")).any())
    part = part_of(cut(whole, kept), whole)
    assert part.share == 1
    assert 0 < part.of_whole <= 1
    assert not part_of(whole, whole).is_part()


@pytest.mark.slow
@given(random_graphs(), random_graphs())
def test_shares_are_shares_and_a_whole_is_no_part_of_a_smaller_one(first, second):
    query, whole = canonical(first), canonical(second)
    part = part_of(query, whole)
    assert 0 <= part.share <= 1
    assert 0 <= part.of_whole <= 1
    assert whole.nodes > query.nodes or not part.is_part()
