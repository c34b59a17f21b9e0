"""Parts of graphs that can be checked by hand."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.editing.parts import cut, one_block, run, without_embedding, without_head
from benchmark.editing.shares import BANDS, shares_of
from benchmark.rewriting.rewrite import NotApplicableError
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical, exact_fingerprint
from nar.graphs.ops import op_id
from tests.graphs import Drawing, bert, graph_of, random_graphs, resnet


def is_drawn(part, text):
    """Whether a part is the graph of a drawing, whatever its size."""
    drawn = replace(graph_of(text), parameters=part.parameters)
    return exact_fingerprint(part) == exact_fingerprint(drawn)


def test_values_from_outside_become_inputs_one_for_each_source():
    graph = graph_of("input; conv 0; relu 1; sigmoid 1; mul 2 3; add 4 1")
    part = cut(graph, np.array([False, False, True, True, True, True]))
    assert is_drawn(part, "input; relu 0; sigmoid 0; mul 1 2; add 3 0")


def test_the_order_of_operands_stays():
    graph = graph_of("input; conv 0; relu 0; sub 1 2")
    part = cut(graph, np.array([True, True, False, True]))
    assert is_drawn(part, "input; input; conv 0; sub 2 1")


def test_a_part_has_its_share_of_the_layers_of_the_parameters():
    graph = replace(graph_of("input; conv 0; relu 1; conv 2; linear 3"), parameters=300, flops=90)
    part = cut(graph, np.array([True, True, True, True, False]))
    assert (part.parameters, part.flops) == (200, 60)


@pytest.mark.parametrize("kept", [[True, True], [False, False], [True, False]])
def test_the_whole_nothing_and_inputs_alone_are_no_parts(kept):
    with pytest.raises(NotApplicableError):
        cut(graph_of("input; conv 0"), np.array(kept))


def test_runs_are_shares_of_the_canonical_order():
    graph = canonical(graph_of("input; conv 0; relu 1; tanh 2; sigmoid 3; gelu 4; silu 5; neg 6"))
    assert is_drawn(run(graph, begin=0.25, end=0.75), "input; relu 0; tanh 1; sigmoid 2; gelu 3")
    assert is_drawn(run(graph, begin=0, end=0.4), "input; conv 0; relu 1")
    assert is_drawn(run(graph, begin=0.6, end=1), "input; gelu 0; silu 1; neg 2")


def test_without_embedding_the_sum_of_embeddings_is_the_input():
    part = without_embedding(canonical(bert(1)))
    drawn = Drawing()
    value = drawn("layer_norm", drawn("input"))
    heads = [drawn("linear", value) for _ in range(3)]
    attended = drawn("linear", drawn("attention", *heads))
    value = drawn("layer_norm", drawn("add", attended, value))
    hidden = drawn.chain("linear gelu linear", value)
    drawn.chain("layer_norm linear tanh", drawn("add", hidden, value))
    assert is_drawn(part, ";".join(drawn.lines))


@pytest.mark.parametrize(
    "text",
    [
        "input; linear 0; embedding; attention 1 2",
        "input; conv 0; embedding; add 1 2; linear 3",
        "input; linear 0",
    ],
)
def test_biases_and_positions_of_features_are_no_embedding_of_tokens(text):
    with pytest.raises(NotApplicableError, match="no embedding"):
        without_embedding(graph_of(text))


def test_an_embedding_that_a_residual_sum_reads_as_well_is_of_tokens():
    part = without_embedding(graph_of("embedding; rms_norm 0; linear 1; add 2 0; linear 3"))
    assert is_drawn(part, "input; rms_norm 0; linear 1; add 2 0; linear 3")


def test_a_scaled_embedding_is_one_still():
    assert is_drawn(without_embedding(graph_of("embedding; mul 0; linear 1")), "input; linear 0")


def test_without_head_a_network_ends_in_its_pooling():
    graph = canonical(resnet([1]))
    part = without_head(graph)
    assert part.nodes == graph.nodes - 1
    assert "linear" not in str(part)


def test_a_head_of_several_layers_goes_as_a_whole():
    part = without_head(graph_of("input; conv 0; max_pool 1; linear 2; relu 3; linear 4"))
    assert is_drawn(part, "input; conv 0; max_pool 1")


@pytest.mark.parametrize(
    ("text", "why"),
    [("input; conv 0; max_pool 1; relu 2", "no layer"), ("input; add 0; conv 1; conv 2", "trunk")],
)
def test_networks_without_a_head_have_no_trunk_either(text, why):
    graph = graph_of(text + "; relu 3; relu 4" if why == "trunk" else text)
    with pytest.raises(NotApplicableError, match=why):
        without_head(graph)


def test_one_block_is_the_largest_that_repeats():
    draw = Drawing()
    value = draw.chain("conv batch_norm relu max_pool", draw("input"))
    for _ in range(4):
        value = draw("relu", draw("add", draw.chain("conv batch_norm relu conv", value), value))
    draw.chain("mean linear", value)
    block = one_block(canonical(draw.graph()))
    assert sorted(str(block).count(f"= {name}(") for name in ("conv", "add", "input")) == [1, 1, 2]


def test_a_chain_that_repeats_nothing_has_no_block():
    with pytest.raises(NotApplicableError, match="no block"):
        one_block(canonical(graph_of("input; conv 0; relu 1; linear 2")))


def test_a_share_is_drawn_in_each_band_and_always_the_same():
    item = architecture(Labels("a:x", "a", "a 1", "x", "", "named", ""), canonical(bert(4)))
    drawn = list(shares_of([item]))
    assert [each.labels.name for each in drawn] == [
        "a:x@share_20_to_43",
        "a:x@share_43_to_67",
        "a:x@share_67_to_90",
    ]
    assert {each.labels.source for each in drawn} == {"shares"}
    for part, (least, most) in zip(drawn, BANDS, strict=True):
        # What a part reads from outside are inputs of its own.
        operators = np.count_nonzero(part.graph.op_ids != op_id("input"))
        assert least - 0.1 < operators / item.graph.nodes < most + 0.1
    assert [each.exact for each in shares_of([item])] == [each.exact for each in drawn]


def test_a_model_too_small_for_a_share_has_no_part_of_it():
    labels = Labels("a:x", "a", "a 1", "x", "", "named", "")
    tiny = architecture(labels, canonical(graph_of("input; relu 0")))
    assert {each.graph.nodes for each in shares_of([tiny])} <= {2}


@given(random_graphs(min_nodes=4), st.data())
@pytest.mark.slow
def test_every_part_is_a_canonical_graph_of_the_nodes_that_stay(graph, data):
    mask = data.draw(st.lists(st.booleans(), min_size=graph.nodes, max_size=graph.nodes))
    for cutting in (partial(cut, kept=np.array(mask)), partial(run, begin=0.25, end=0.75)):
        try:
            part = cutting(canonical(graph))
        except NotApplicableError:
            continue
        part.validate()
        assert canonical(part) == part
