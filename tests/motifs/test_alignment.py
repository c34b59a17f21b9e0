"""Which operators of one graph stand for which operators of another one."""

import numpy as np
import pytest
from graphs import Drawing, graph_of, resnet
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import op_name
from nar.motifs.alignment import align, common_subsequence, period


def gaps(first: ComputationalGraph, second: ComputationalGraph) -> list[tuple[str, str]]:
    """What has no counterpart, in operators."""
    return [
        tuple(
            " ".join(op_name(int(graph.op_ids[node])) for node in nodes)
            for graph, nodes in ((first, gap.first), (second, gap.second))
        )
        for gap in align(first, second).gaps
    ]


def test_equal_graphs_have_no_gap():
    graph = resnet([2, 2])
    told = align(graph, graph)
    assert told.pairs == tuple((node, node) for node in range(graph.nodes))
    assert (told.gaps, told.cost) == ((), 0)


def test_an_operator_of_the_same_class_takes_the_place_of_another():
    told = align(graph_of("input; conv 0; relu 1"), graph_of("input; conv_grouped 0; gelu 1"))
    assert told.pairs == ((0, 0), (1, 1), (2, 2))


@pytest.mark.parametrize("operators", ["linear mul", "linear silu mul"])
def test_a_gate_is_seen_as_a_whole(operators):
    plain, gated = Drawing(), Drawing()
    value = plain("layer_norm", plain("input"))
    plain("linear", plain("gelu", plain("linear", value)))
    value = gated("layer_norm", gated("input"))
    acted = gated("gelu", gated("linear", value))
    *inner, last = operators.split()
    gated("linear", gated(last, acted, gated.chain(" ".join(inner), value)))
    assert gaps(plain.graph(), gated.graph()) == [("", operators)]


def test_blocks_that_one_has_more_begin_where_a_block_begins():
    [(less, more)] = gaps(resnet([3]), resnet([5]))
    assert less == ""
    assert more == " ".join(
        2 * ["conv batch_norm relu conv batch_norm relu conv batch_norm add relu"]
    )


def test_a_branch_that_became_the_deeper_one_is_the_same_branch():
    def drawn(extra: str) -> ComputationalGraph:
        draw = Drawing()
        value = draw("input")
        one = draw.chain("conv relu max_pool", value)
        other = draw.chain(f"linear {extra} tanh softmax", value)
        draw("concat", one, other)
        return canonical(draw.graph())

    assert gaps(drawn(""), drawn("gelu gelu")) == [("", "gelu gelu")]


@pytest.mark.slow
@given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.integers(0, 3), max_size=40))
def test_a_common_subsequence_is_one_of_the_longest(first, second):
    lengths = np.zeros((len(first) + 1, len(second) + 1), dtype=int)
    for row, one in enumerate(first):
        for column, other in enumerate(second):
            lengths[row + 1, column + 1] = (
                lengths[row, column] + 1
                if one == other
                else max(lengths[row, column + 1], lengths[row + 1, column])
            )
    pairs = common_subsequence(first, second)
    assert len(pairs) == lengths[-1, -1]
    assert pairs == sorted(pairs)
    assert all(first[row] == second[column] for row, column in pairs)
    for side in zip(*pairs, strict=True):
        assert len(set(side)) == len(side)


@given(st.integers(1, 4), st.integers(1, 4))
def test_the_period_of_a_repeated_run(length, times):
    assert period([*range(length)] * times) == length
