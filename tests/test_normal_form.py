"""The graph that a deployed model shares with its source: what is folded, and what must stay."""

import numpy as np
import pytest
from graphs import bert, graph_of, random_graphs, renumbered, resnet, swin
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical
from nar.graphs.normal_form import inference_fingerprint, normal_form
from nar.graphs.ops import ATTRIBUTES


def drawn(text):
    """As `graph_of`, with attributes behind the operands: ``conv 0 kernel=3 stride=2``."""
    words = [line.split() for line in text.split(";")]
    graph = graph_of(";".join(" ".join(w for w in line if "=" not in w) for line in words))
    for node, line in enumerate(words):
        for name, _, number in (word.partition("=") for word in line if "=" in word):
            graph.attributes[node, ATTRIBUTES.index(name)] = int(number)
    return graph


SAME_AT_INFERENCE = {
    "batch norm": ("input; conv 0; batch_norm 1; relu 2", "input; conv 0; relu 1"),
    "two batch norms": ("input; linear 0; batch_norm 1; batch_norm 2", "input; linear 0"),
    "batch norm of a transposed convolution": (
        "input; conv_transpose 0 kernel=2 stride=2; batch_norm 1",
        "input; conv_transpose 0 kernel=2 stride=2",
    ),
    "batch norms before heads": (
        "input; adaptive_avg_pool 0; batch_norm 1; linear 2; linear 2; concat 3 4",
        "input; adaptive_avg_pool 0; linear 1; linear 1; concat 2 3",
    ),
    "pair of a scale and a shift": (
        "input; conv 0; mul 1 parameter_operands=1; add 2 constant_operands=1",
        "input; conv 0",
    ),
    "sum that begins with a number": ("input; conv 0; batch_norm 1; add 2", "input; conv 0"),
    "repvgg": (
        "input; conv 0 kernel=3; batch_norm 1; conv 0 kernel=1; batch_norm 3; add 2 4;"
        "batch_norm 0; add 5 6; relu 7",
        "input; conv 0 kernel=3; relu 1",
    ),
    "wide and tall": (
        "input; conv 0 kernel=3 kernel_shape=2; conv 0 kernel=3 kernel_shape=3; add 1 2",
        "input; conv 0 kernel=3 kernel_shape=1",
    ),
    "wide and small": (
        "input; conv 0 kernel=3 kernel_shape=2; conv 0 kernel=1 kernel_shape=1; add 1 2",
        "input; conv 0 kernel=3 kernel_shape=2",
    ),
    "repvit": (
        "input; conv_depthwise 0 kernel=3; batch_norm 1; conv_depthwise 0 kernel=1; add 2 3;"
        "add 4 0; batch_norm 5",
        "input; conv_depthwise 0 kernel=3",
    ),
    "fastvit": (
        "input; conv_depthwise 0 kernel=3; batch_norm 1; batch_norm 0; add 3; sub 2 4;"
        "mul 5 parameter_operands=1; add 0 6",
        "input; conv_depthwise 0 kernel=3",
    ),
    "residual of a depthwise convolution": (
        "input; conv_depthwise 0 kernel=7; add 0 1",
        "input; conv_depthwise 0 kernel=7",
    ),
    "mean of two heads": (
        "input; adaptive_avg_pool 0; batch_norm 1; linear 2; batch_norm 1; linear 4; add 3 5;div 6",
        "input; adaptive_avg_pool 0; linear 1",
    ),
}


@pytest.mark.parametrize(
    ("written", "deployed"), SAME_AT_INFERENCE.values(), ids=SAME_AT_INFERENCE.keys()
)
def test_what_is_deployed_otherwise_is_the_same_at_inference(written, deployed):
    assert normal_form(drawn(written)) == canonical(drawn(deployed))
    assert inference_fingerprint(drawn(written)) == inference_fingerprint(drawn(deployed))


NARROW, WIDE = "channel_ratio=-18", "channel_ratio=18"
ADAPTED = f"input; relu 0; linear 1; linear 1 {NARROW}; linear 3 {WIDE}"
SAME_AT_INFERENCE |= {
    "lora": (f"{ADAPTED}; mul 4; add 2 5", "input; relu 0; linear 1"),
    "lora without a scale": (f"{ADAPTED}; add 4 2", "input; relu 0; linear 1"),
    "lora with a learned scale": (
        f"{ADAPTED}; mul 4 parameter_operands=1; add 2 5",
        "input; relu 0; linear 1",
    ),
    "lora with a norm between": (
        f"{ADAPTED.replace('linear 3', 'batch_norm 3; linear 4')}; add 2 5",
        "input; relu 0; linear 1",
    ),
    "two adapters": (
        f"{ADAPTED}; add 2 4; linear 1 {NARROW}; linear 6 {WIDE}; add 5 7",
        "input; relu 0; linear 1",
    ),
    "lora of a layer that widens": (
        f"input; linear 0 channel_ratio=8; linear 0 {NARROW}; linear 2 channel_ratio=25; add 1 3",
        "input; linear 0 channel_ratio=8",
    ),
    "lora of a convolution": (
        f"input; conv 0 kernel=3 stride=2; conv 0 kernel=3 stride=2 {NARROW};"
        f"conv 2 kernel=1 stride=1 {WIDE}; add 1 3",
        "input; conv 0 kernel=3 stride=2",
    ),
    "lora of query, key and value": (
        f"input; linear 0 channel_ratio=6; linear 0 {NARROW}; linear 2 channel_ratio=25; mul 3;"
        "add 1 4; split 5; attention 6 heads=3",
        "input; linear 0; linear 0; linear 0; attention 1 2 3 heads=3",
    ),
    "lora of query, key and value, with a bias of positions": (
        f"input; linear 0 channel_ratio=6; linear 0 {NARROW}; linear 2 channel_ratio=25;"
        "add 1 3; split 4; index; attention 5 6",
        "input; linear 0; linear 0; linear 0; index; attention 1 2 3 4",
    ),
}

STAYS = {
    "batch norm after a sum": "input; conv 0; add 0 1; batch_norm 2; relu 3",
    "batch norm before a convolution": "input; batch_norm 0; conv 1",
    "batch norm before a linear layer": "input; relu 0; batch_norm 1; linear 2",
    "batch norm before a head and another reader": (
        "input; adaptive_avg_pool 0; batch_norm 1; linear 2; relu 2; concat 3 4"
    ),
    "layer that others read, too": "input; conv 0; batch_norm 1; relu 2; add 1 3",
    "layer with weights that are computed": "input; relu 0; conv 0 1; batch_norm 2",
    "residual": "input; conv 0 kernel=3; add 0 1",
    "residual of a normed value": "input; batch_norm 0; add 0 1",
    "residual with a scale": "input; linear 0; mul 1 parameter_operands=1; add 0 2",
    "scale alone": "input; conv 0; mul 1 parameter_operands=1; relu 2",
    "scale by a second value": "input; conv 0; relu 0; mul 1 2; add 3 constant_operands=1",
    "embedding of positions": "input; conv 0; add 1 parameter_operands=1; layer_norm 2",
    "square": "input; conv 0; mul 1; relu 2",
    "layers in sequence": "input; conv 0 kernel=1; conv 1 kernel=3",
    "branches of two values": "input; relu 0; conv 0; conv 1; add 2 3",
    "branches of other strides": "input; conv 0 stride=1; conv 0 stride=2; add 1 2",
    "branches of other dilations": (
        "input; conv 0 kernel=3 dilation=1; conv 0 kernel=3 dilation=2; add 1 2"
    ),
    "branches of other groups": "input; conv 0; conv_grouped 0; add 1 2",
    "branches of other ranks": "input; conv 0 rank=1; conv 0 rank=2; add 1 2",
    "branch that others read, too": "input; conv 0; conv 0; add 1 2; relu 1; concat 3 4",
    "batch norm beside a stride": "input; conv 0 stride=2; batch_norm 0; add 1 2",
    "batch norm beside a wider layer": "input; conv 0 channel_ratio=4; batch_norm 0; add 1 2",
    "parts of one value": "input; split 0; conv 1; conv 1; add 2 3",
    "sum of linear layers": "input; linear 0; linear 0; add 1 2",
    "linear layers in sequence": f"input; linear 0 {NARROW}; linear 1 {WIDE}; relu 2",
    "sum of two pairs": (
        f"input; linear 0 {NARROW}; linear 1 {WIDE}; linear 0 {NARROW}; linear 3 {WIDE}; add 2 4"
    ),
    "pair beside its source": f"input; linear 0 {NARROW}; linear 1 {WIDE}; add 0 2",
    "pair of another source": (
        f"input; relu 0; linear 0; linear 1 {NARROW}; linear 3 {WIDE}; add 2 4"
    ),
    "pair that is not narrow": "input; linear 0; linear 0; linear 2; add 1 3",
    "pair of another width": (
        f"input; linear 0 channel_ratio=8; linear 0 {NARROW}; linear 2 {WIDE}; add 1 3"
    ),
    "pair with something between": (
        f"input; linear 0; linear 0 {NARROW}; relu 2; linear 3 {WIDE}; add 1 4"
    ),
    "pair that others read, too": (
        f"input; linear 0; linear 0 {NARROW}; linear 2 {WIDE}; add 1 3; concat 2 4"
    ),
    "pair of convolutions with two windows": (
        f"input; conv 0 kernel=3 stride=1; conv 0 kernel=3 stride=1 {NARROW};"
        f"conv 2 kernel=3 stride=1 {WIDE}; add 1 3"
    ),
    "packed layer without an adapter": (
        "input; linear 0 channel_ratio=6; split 1; attention 2 heads=3"
    ),
    "transposed convolutions": "input; conv_transpose 0; conv_transpose 0; add 1 2",
    "convolution by a number": "input; conv 0; div 1",
}


@pytest.mark.parametrize("written", STAYS.values(), ids=STAYS.keys())
def test_a_design_of_its_own_stays(written):
    graph = drawn(written)
    assert normal_form(graph) is graph


@pytest.mark.parametrize("graph", [bert(2), swin([1, 2])], ids=["bert", "swin"])
def test_a_graph_with_nothing_to_fold_stays(graph):
    assert normal_form(graph) is graph


def test_the_totals_stay_and_are_no_part_of_the_fingerprint():
    graph, other = drawn("input; conv 0; batch_norm 1"), drawn("input; conv 0")
    object.__setattr__(graph, "parameters", 12)
    object.__setattr__(graph, "flops", 34)
    form = normal_form(graph)
    assert (form.parameters, form.flops) == (12, 34)
    assert inference_fingerprint(graph) == inference_fingerprint(other)


def test_attributes_are_part_of_the_fingerprint():
    one, other = drawn("input; conv 0 kernel=3"), drawn("input; conv 0 kernel=5")
    assert inference_fingerprint(one) != inference_fingerprint(other)


def test_every_batch_norm_of_a_resnet_is_folded():
    graph = resnet([2, 3])
    form = normal_form(graph)
    assert form.nodes == graph.nodes - 18
    assert inference_fingerprint(form) == inference_fingerprint(graph)


@st.composite
def foldable_graphs(draw):
    """Graphs in which most nodes are a part of some pattern."""
    kinds = st.sampled_from([
        "conv {} kernel=3 kernel_shape=1", "conv {} kernel=1 kernel_shape=1",
        "conv {} kernel=3 kernel_shape=2", "conv_depthwise {} kernel=3", "linear {}",
        "batch_norm {}", "batch_norm {}", "add {}", "add {} parameter_operands=1", "add {} {}",
        "add {} {}", "add {} {}", "sub {} {}", "mul {} parameter_operands=1", "div {}", "relu {}",
        "split {}", "adaptive_avg_pool {}", "linear {} channel_ratio=-9", "attention {}",
        "linear {} channel_ratio=9", "linear {} channel_ratio=6", "linear {} channel_ratio=15",
    ])  # fmt: skip
    lines = ["input"]
    for node in range(1, draw(st.integers(2, 14))):
        kind = draw(kinds)
        low = max(0, node - draw(st.integers(1, 4)))
        read = draw(st.lists(st.integers(low, node - 1), min_size=2, max_size=2))
        one, other = read if node > 1 and read[0] != read[1] else (node - 1, max(0, node - 2))
        lines.append(kind.format(one, other) if one != other else f"batch_norm {one}")
    return drawn(";".join(lines))


@pytest.mark.slow
@given(st.one_of(foldable_graphs(), random_graphs()))
def test_a_normal_form_is_valid_and_final(graph):
    form = normal_form(graph)
    form.validate()
    assert normal_form(form) is form
    assert form is graph or (form.nodes < graph.nodes and canonical(form) == form)
    assert inference_fingerprint(form) == inference_fingerprint(graph)


@pytest.mark.slow
@given(foldable_graphs(), st.randoms(use_true_random=False))
def test_numbering_changes_nothing(graph, random):
    other = renumbered(graph, random)
    assert inference_fingerprint(other) == inference_fingerprint(graph)
    assert canonical(normal_form(other)) == canonical(normal_form(graph))


@pytest.mark.slow
@given(foldable_graphs())
def test_what_is_read_is_never_written(graph):
    before = [array.copy() for array in (graph.op_ids, graph.attributes, graph.edge_index)]
    normal_form(graph)
    after = (graph.op_ids, graph.attributes, graph.edge_index)
    assert all(map(np.array_equal, before, after))
