"""What deployment puts around a known network is taken off, step by step, and said."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import bert, graph_of, resnet

from nar.answers.words import wrapping_text
from nar.answers.wrapping import TakenOff, Wrapped, unwrapped
from nar.graphs.fingerprints import fingerprinted
from nar.graphs.ops import ATTRIBUTES, op_id

RATIO = ATTRIBUTES.index("channel_ratio")
PLAIN = replace(graph_of("input; conv 0; relu 1; conv 2; add 3 1; mean 4; linear 5"), parameters=9)
BEHIND = replace(graph_of("input; conv 0; sigmoid 1"), parameters=9)


def finding(*known):
    """Looks among graphs as an index does."""
    rows = [fingerprinted(graph) for graph in known]

    def find(*, topologies=(), inferences=()):
        return [row for row in rows if row.topology in topologies or row.inference in inferences]

    return find


def behind(graph, *known):
    [found] = unwrapped([fingerprinted(graph)], finding(*known))
    return found


def with_result(graph, *operators):
    for operator in operators:
        results = np.setdiff1d(np.arange(graph.nodes), graph.edge_index[0])[-1:]
        graph = grown(graph, operator, results)
    return graph


def grown(graph, operator, operands, ratio=0):
    """The graph with one more node at its end."""
    attributes = np.zeros((1, len(ATTRIBUTES)), dtype=np.int16)
    attributes[0, RATIO] = ratio
    edges = [[int(source) for source in operands], [graph.nodes] * len(operands)]
    return replace(
        graph,
        op_ids=np.append(graph.op_ids, np.uint16(op_id(operator))),
        attributes=np.concatenate([graph.attributes, attributes]),
        edge_index=np.concatenate([graph.edge_index, np.array(edges, dtype=np.int32)], axis=1),
    )


@pytest.mark.parametrize(
    "operators", [("softmax",), ("argmax",), ("softmax", "topk"), ("mean", "l2_norm")]
)
def test_what_reads_the_result_is_taken_off_and_said_in_its_order(operators):
    found = behind(with_result(PLAIN, *operators), PLAIN)
    assert found.network.exact == fingerprinted(PLAIN).exact
    assert found.taken_off == (TakenOff("result", operators),)


def test_what_normalises_the_input_is_taken_off():
    text = "input; sub 0; div 1; conv 2; relu 3; conv 4; add 5 3; mean 6; linear 7"
    found = behind(replace(graph_of(text), parameters=9), PLAIN)
    assert found.network.exact == fingerprinted(PLAIN).exact
    assert found.taken_off == (TakenOff("input", ("sub", "div")),)


def test_an_operator_of_the_network_itself_stays():
    found = behind(with_result(BEHIND, "argmax"), BEHIND)
    assert found.taken_off == (TakenOff("result", ("argmax",)),)
    assert found.network.topology == fingerprinted(BEHIND).topology
    normed = graph_of("input; batch_norm 0; conv 1; relu 2")
    scaled = graph_of("input; div 0; batch_norm 1; conv 2; relu 3")
    assert behind(scaled, normed).taken_off == (TakenOff("input", ("div",)),)


def test_what_is_known_as_it_is_or_not_at_all_is_left_alone():
    wrapped = with_result(PLAIN, "softmax")
    assert behind(wrapped, PLAIN, wrapped) is None
    assert behind(wrapped, BEHIND) is None
    assert behind(PLAIN, BEHIND) is None
    assert behind(graph_of("input; div 0; softmax 1"), graph_of("input")) is None


def adapted(rank, inputs=64, outputs=256):
    """One linear layer with an adapter, and the same without."""
    text = "input; layer_norm 0; linear 1; linear 1; linear 3; mul 4; add 2 5; relu 6"
    graph = graph_of(text)
    graph.attributes[2, RATIO] = round(4 * np.log2(outputs / inputs))
    graph.attributes[3, RATIO] = round(4 * np.log2(rank / inputs))
    graph.attributes[4, RATIO] = round(4 * np.log2(outputs / rank))
    plain = graph_of("input; layer_norm 0; linear 1; relu 2")
    plain.attributes[2, RATIO] = graph.attributes[2, RATIO]
    weights = inputs * outputs
    return (
        replace(graph, parameters=weights + rank * (inputs + outputs)),
        replace(plain, parameters=weights),
    )


@pytest.mark.parametrize("rank", [2, 4, 6, 8])
def test_adapters_are_taken_off_and_their_rank_is_said(rank):
    graph, plain = adapted(rank)
    found = behind(graph, plain)
    assert found.network.exact == fingerprinted(plain).exact
    assert found.taken_off == (TakenOff("layers", count=1, rank=rank),)


def test_of_another_size_the_design_is_known_and_the_rank_is_not():
    graph, plain = adapted(8)
    found = behind(graph, replace(plain, parameters=plain.parameters // 4))
    assert found.network.topology == fingerprinted(plain).topology
    assert found.network.exact != fingerprinted(plain).exact
    assert found.taken_off == (TakenOff("layers", count=1),)


def test_two_layers_side_by_side_that_narrow_nothing_are_no_adapter():
    text = "input; layer_norm 0; linear 1; linear 1; linear 3; add 2 4; relu 5"
    plain = graph_of("input; layer_norm 0; linear 1; relu 2")
    # The normal form does not merge them, either.
    assert behind(with_result(graph_of(text), "softmax"), plain) is None


def test_one_more_output_is_taken_off_with_what_only_it_reads():
    more = grown(grown(PLAIN, "linear", [4]), "sigmoid", [PLAIN.nodes])
    found = behind(more, PLAIN)
    assert found.network.topology == fingerprinted(PLAIN).topology
    assert TakenOff("outputs", count=1) in found.taken_off


def test_wrapped_and_folded_is_found_at_inference():
    folded = graph_of("input; conv 0; relu 1; linear 2; softmax 3")
    trained = graph_of("input; conv 0; batch_norm 1; relu 2; linear 3")
    found = behind(replace(folded, parameters=100), replace(trained, parameters=104))
    assert found.taken_off == (TakenOff("result", ("softmax",)),)
    assert found.network.inference == fingerprinted(trained).inference
    assert behind(replace(folded, parameters=100), replace(trained, parameters=400)) is None


def test_several_networks_are_looked_up_together():
    large = resnet([3, 4, 6, 3])
    asked = [with_result(large, "softmax"), bert(2), with_result(bert(2), "argmax"), large]
    found = unwrapped([fingerprinted(graph) for graph in asked], finding(large, bert(2)))
    assert [each and each.taken_off[0].operators for each in found] == [
        ("softmax",), None, ("argmax",), None,
    ]  # fmt: skip


POINTWISE = {"kernel": 1, "kernel_shape": 1, "stride": 1, "dilation": 1, "rank": 2}


def with_windows(graph):
    """The graph with the attributes of a convolution of one place on its convolutions."""
    attributes = graph.attributes.copy()
    for name, number in POINTWISE.items():
        attributes[graph.op_ids == op_id("conv"), ATTRIBUTES.index(name)] = number
    return replace(graph, attributes=attributes, parameters=9)


MIXED = "input; {0} 0; layer_norm 1; {0} 2; gelu 3; {0} 4; add 5 1; adaptive_avg_pool 6; linear 7"


@pytest.mark.parametrize(
    ("asked", "known"), [("conv", "linear"), ("linear", "conv")], ids=lambda each: each
)
def test_layers_of_each_place_are_known_as_linear_layers_and_as_convolutions(asked, known):
    one, other = (with_windows(graph_of(MIXED.format(each))) for each in (asked, known))
    found = behind(one, other)
    assert found.network.exact == fingerprinted(other).exact
    assert found.taken_off == (TakenOff("pointwise", (asked,), count=3),)
    assert (
        wrapping_text(Wrapped("network", (), found.taken_off))
        == {
            "conv": "with pointwise convolutions for 3 of its linear layers",
            "linear": "with linear layers for 3 of its pointwise convolutions",
        }[asked]
    )


@pytest.mark.slow
def test_a_convolution_with_a_window_or_a_stride_is_no_linear_layer():
    plain = graph_of("input; conv 0; relu 1; linear 2")
    for name in ("kernel", "stride"):
        windowed = with_windows(plain)
        windowed.attributes[1, ATTRIBUTES.index(name)] = 2
        assert behind(windowed, with_windows(graph_of("input; linear 0; relu 1; linear 2"))) is None


@pytest.mark.slow
def test_a_network_that_is_known_as_it_is_stays_as_it_is():
    one, other = (with_windows(graph_of(MIXED.format(each))) for each in ("conv", "linear"))
    assert behind(one, one, other) is None


@pytest.mark.slow
def test_of_many_results_the_odd_one_is_peeled():
    heads = "; ".join(f"conv 2; sigmoid {3 + 2 * number}" for number in range(5))
    detector = replace(graph_of(f"input; conv 0; relu 1; {heads}"), parameters=9)
    wrapped = with_result(detector, "softmax")
    found = behind(wrapped, detector)
    assert found.taken_off == (TakenOff("result", ("softmax",)),)
    assert found.network.exact == fingerprinted(detector).exact
