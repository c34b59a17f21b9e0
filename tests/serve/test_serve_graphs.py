import numpy as np
import pytest
from graphs import graph_of
from hypothesis import given
from hypothesis import strategies as st

from nar.base.errors import InvalidGraphError
from nar.graphs.canonical import canonical
from nar.graphs.ops import ATTRIBUTES, op_id
from nar.v1.retrieval_pb2 import EdgeIndex, Graph
from nar.wire.graphs import MAX_OPERATOR_CHARS, decode_graph, encode_graph

BLOCK = "input; conv 0; batch_norm 1; relu 2; conv 3; add 1 4"


def decoded(message, max_nodes=6, max_edges=6):
    return decode_graph(message, max_nodes=max_nodes, max_edges=max_edges).graph


def chain(*, operators=("input", "relu"), nodes=(0, 1), edges=((0, 1),), **fields):
    sources, targets = zip(*edges, strict=True) if edges else ((), ())
    edge_index = EdgeIndex(sources=sources, targets=targets)
    return Graph(operators=operators, nodes=nodes, edge_index=edge_index, **fields)


def test_message_of_a_graph():
    message = encode_graph(graph_of("input; relu 0; relu 1; add 2 0"))
    assert list(message.operators) == ["input", "relu", "add"]
    assert list(message.nodes) == [0, 1, 1, 2]
    assert list(message.edge_index.sources) == [0, 1, 2, 0]
    assert list(message.edge_index.targets) == [1, 2, 3, 3]
    assert list(message.attribute_names) == list(ATTRIBUTES)


def test_round_trip_is_canonical():
    graph = graph_of("add 4 2; relu 3; conv 1; batch_norm 4; input")
    assert decoded(encode_graph(graph)) == canonical(graph)


def test_operators_outside_the_vocabulary_keep_their_identity():
    graph = graph_of("input; frobnicate 0")
    assert decoded(encode_graph(graph)) == graph
    by_name = decoded(chain(operators=["input", "frobnicate"]))
    assert by_name.op_ids.tolist() == [0, op_id("frobnicate")]


def test_attributes_go_by_name_and_the_rest_is_zero():
    message = chain(attribute_names=["stride", "kernel"], attributes=[0, 0, 2, 7])
    attributes = decoded(message).attributes
    assert attributes[1, ATTRIBUTES.index("kernel")] == 7
    assert attributes[1, ATTRIBUTES.index("stride")] == 2
    assert attributes.sum() == 9


@pytest.mark.parametrize(
    ("message", "field", "reason"),
    [
        (Graph(), "nodes", "wanted at least one node, came none"),
        (chain(nodes=[0, 2]), "nodes[1]", "wanted an operator below 2, came 2"),
        (chain(operators=["input", ""]), "operators[1]", "wanted a name of 1 to 128 characters"),
        (chain(operators=["a", "b", "c"]), "operators", "wanted at most 2, came 3"),
        (chain(edges=[(0, 2**32 - 1)]), "edge_index[0]", "wanted nodes 0 to 1, came [0,"),
        (chain(edges=[(1, 1)]), "edge_index[0]", "node 1 reads itself"),
        (chain(edges=[(0, 1), (0, 1)]), "edge_index[1]", "duplicate of edge 0 -> 1"),
        (chain(edges=[(0, 1), (1, 0)]), "edge_index", "wanted no cycle, came 1 -> 0 -> 1"),
        (
            Graph(operators=["a"], nodes=[0], edge_index=EdgeIndex(sources=[0])),
            "edge_index",
            "wanted as many targets as sources, came 0 for 1",
        ),
        (chain(attribute_names=["colour"], attributes=[0, 0]), "attribute_names[0]", "wanted one"),
        (
            chain(attribute_names=["rank", "rank"], attributes=[0] * 4),
            "attribute_names[1]",
            "rank came before",
        ),
        (chain(attribute_names=["rank"], attributes=[0]), "attributes", "wanted 1 attributes for"),
        (chain(attribute_names=["rank"], attributes=[0, 40_000]), "attributes[1]", "-32768 to"),
        (chain(parameters=-1), "parameters", "must not be negative"),
        (chain(flops=-1), "parameters", "must not be negative"),
    ],
)
def test_a_fault_is_named_by_its_field(message, field, reason):
    with pytest.raises(InvalidGraphError) as caught:
        decoded(message)
    assert caught.value.field == field
    assert reason in caught.value.reason


@pytest.mark.parametrize(("bound", "fits"), [(6, True), (5, False), (7, True)])
def test_bound_of_nodes(bound, fits):
    assert accepts(encode_graph(graph_of(BLOCK)), max_nodes=bound) is fits


@pytest.mark.parametrize(("bound", "fits"), [(6, True), (5, False), (7, True)])
def test_bound_of_edges(bound, fits):
    assert accepts(encode_graph(graph_of(BLOCK)), max_edges=bound) is fits


@pytest.mark.parametrize(("length", "fits"), [(127, True), (128, True), (129, False)])
def test_bound_of_operator_names(length, fits):
    assert MAX_OPERATOR_CHARS == 128
    assert accepts(chain(operators=["input", "x" * length])) is fits


@pytest.mark.parametrize("value", [-32_768, 32_767])
def test_bounds_of_attributes(value):
    message = chain(attribute_names=["kernel"], attributes=[0, value])
    assert decoded(message).attributes[1, 0] == value


@pytest.mark.slow
@given(
    st.builds(
        chain,
        operators=st.lists(st.sampled_from(["input", "add", "conv", "?", ""]), max_size=4),
        nodes=st.lists(st.integers(0, 4), max_size=6),
        edges=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=7),
        attribute_names=st.lists(st.sampled_from([*ATTRIBUTES, "?"]), max_size=2),
        attributes=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=12),
        parameters=st.integers(-(2**63), 2**63 - 1),
    )
)
def test_any_message_gives_a_valid_graph_or_a_named_fault(message):
    match outcome(message):
        case InvalidGraphError(field=field):
            assert field.split("[")[0] in Graph.DESCRIPTOR.fields_by_name
        case graph:
            graph.validate()
            assert graph == canonical(graph)
            assert (graph.op_ids.dtype, graph.edge_index.dtype) == (np.uint16, np.int32)


def outcome(message, **bounds):
    try:
        return decoded(message, **bounds)
    except InvalidGraphError as error:
        return error


def accepts(message, **bounds):
    return not isinstance(outcome(message, **bounds), InvalidGraphError)
