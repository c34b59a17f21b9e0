"""The compiled kernel gives what Python and numpy give, to the bit, and refuses other arrays."""

import logging
import sys
from contextlib import contextmanager
from types import ModuleType
from unittest import mock

import numpy as np
import pytest
from graphs import bert, graph_of, random_graph, random_graphs, renumbered, resnet, swin
from hypothesis import given
from hypothesis import strategies as st

from nar.encoding.default.encoder import sketch
from nar.graphs import kernel
from nar.graphs.fingerprints import in_order
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import WORD
from nar.graphs.ops import ATTRIBUTES, op_id
from nar.motifs.borders import kernel_properties
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import feature_sets
from nar.motifs.partition import _cut_rules, partition_all

COMPILED = kernel.compiled()
DEFAULT = MotifConfig()
needs_kernel = pytest.mark.skipif(COMPILED is None, reason="the compiled kernel is not installed")

OPERATORS = (
    "input embedding conv linear batch_norm relu add mul sub concat attention split max_pool"
)


@contextmanager
def read_by(chosen):
    with mock.patch.object(kernel, "compiled", return_value=chosen):
        yield


@st.composite
def varied_graphs(draw):
    """Graphs with every property of operators, hubs on both sides, and attributes of any sign."""
    nodes = draw(st.integers(1, 60))
    names = st.sampled_from([op_id(name) for name in OPERATORS.split()])
    op_ids = draw(st.lists(names, min_size=nodes, max_size=nodes))
    most = draw(st.sampled_from([1, 2, 40]))
    edges = [
        (source, node)
        for node in range(1, nodes)
        for source in draw(st.lists(st.integers(0, node - 1), max_size=most, unique=True))
    ]
    drawn = np.random.default_rng(draw(st.integers(0, 99))).integers(
        -3, 4, (nodes, len(ATTRIBUTES))
    )
    return ComputationalGraph(
        op_ids=np.array(op_ids, dtype=np.uint16),
        attributes=drawn.astype(np.int16),
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
        parameters=draw(st.integers(0, 5)),
    )


def assert_same(one, other):
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)


def assert_sets_are_same(one, other):
    for name in ("codes", "aspects", "weights", "start"):
        assert_same(getattr(one, name), getattr(other, name))
    for dim in (32, 320):
        with read_by(None):
            expected = sketch(one, one.weights, dim)
        with read_by(COMPILED):
            assert_same(sketch(other, other.weights, dim), expected)


def read(graphs, chosen, config):
    """Everything that the kernel has a part in, of some graphs at once."""
    with read_by(chosen):
        ordered = [in_order(graph) for graph in graphs]
        partitions = partition_all([network.graph for network, _ in ordered], config)
        sets = [feature_sets(partitions, border_widths=widths) for widths in (True, False)]
    return ordered, partitions, sets


def assert_both_read_alike(graphs, config=DEFAULT):
    ordered, partitions, sets = read(graphs, None, config)
    ordered_too, partitions_too, sets_too = read(graphs, COMPILED, config)
    for (network, order), (network_too, order_too) in zip(ordered, ordered_too, strict=True):
        assert network == network_too
        assert_same(order, order_too)
    for partition, too in zip(partitions, partitions_too, strict=True):
        assert_same(partition.node_to_motif, too.node_to_motif)
        assert_same(partition.motif_codes, too.motif_codes)
    for some, too in zip(sets, sets_too, strict=True):
        assert_sets_are_same(some, too)


@needs_kernel
@pytest.mark.slow
@given(st.lists(random_graphs(), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_graphs_in_any_numbering_are_read_alike(graphs, random):
    assert_both_read_alike([renumbered(graph, random) for graph in graphs])


@needs_kernel
@pytest.mark.slow
@given(
    varied_graphs(),
    st.builds(MotifConfig, steps=st.integers(1, 4), max_remainder_nodes=st.integers(1, 20)),
)
def test_hubs_borders_and_attributes_are_read_alike(graph, config):
    assert_both_read_alike([graph], config)


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize(
    "graph",
    [
        *(resnet([3, 4]), bert(4), swin([2, 4]), random_graph(700, 2, reads=5)),
        graph_of("input"),
        graph_of("input; relu 0; conv 1; relu 1; gelu 1"),  # outputs that are tied
        # More than a block of the hash, read by a node without an order and by one with it.
        graph_of("input;" + "conv 0;" * 40 + f"add {' '.join(map(str, range(1, 41)))}"),
        graph_of("input;" + "conv 0;" * 40 + f"concat {' '.join(map(str, range(1, 41)))}"),
    ],
    ids=["cnn", "bert", "swin", "no repeats", "one node", "tied", "wide sum", "wide concat"],
)
def test_designs_are_read_alike(graph):
    assert_both_read_alike([graph, renumbered(graph, np.random.default_rng(0)), graph])


@needs_kernel
def test_neighbours_that_paths_leave_out_are_logged(caplog):
    hub = graph_of("input; " + ";".join(f"{name} 0" for name in OPERATORS.split() * 2))
    hub.attributes[:, 0] = np.arange(hub.nodes)
    lines = []
    for chosen in (None, COMPILED):
        caplog.clear()
        with read_by(chosen), caplog.at_level(logging.INFO, "nar.motifs"):
            feature_sets(partition_all([hub]))
        lines.append(list(caplog.messages))
    # Of 26 different readers 16 are walked; the skeleton has fewer.
    assert lines == [["paths leave out 10 neighbours of hubs"]] * 2


@needs_kernel
@pytest.mark.parametrize(
    "edges",
    [[(0, 3)], [(-1, 1)], [(1, 0)], [(1, 1)], [(0, 2), (0, 1)], [(2**31 - 1, 1)]],
    ids=["past the end", "negative", "backwards", "of itself", "out of order", "largest"],
)
def test_what_is_no_canonical_graph_is_refused(edges):
    op_ids = np.zeros(3, dtype=np.uint16)
    edge_index = np.array(edges, dtype=np.int32).T.copy()
    with pytest.raises(ValueError, match="wanted edges"):
        COMPILED.cut(op_ids, edge_index, kernel_properties(), _cut_rules(COMPILED, 2, 16))


@needs_kernel
@pytest.mark.parametrize("edges", [[(0, 3)], [(-1, 1)], [(1, 1)], [(0, 1), (1, 2), (2, 0)]])
def test_what_is_no_graph_is_refused(edges):
    edge_index = np.array(edges, dtype=np.int32).T.copy()
    commutative, rows = np.zeros(3, dtype=np.uint8), np.zeros((3, 2), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"wanted (edges|a graph without cycles)"):
        COMPILED.node_codes(edge_index, commutative, rows)
    with pytest.raises(ValueError, match=r"wanted (edges|a graph without cycles)"):
        COMPILED.canonical_order(edge_index, commutative, rows)


@needs_kernel
def test_arrays_that_do_not_match_are_refused():
    edges, commutative = np.array([[0], [1]], dtype=np.int32), np.zeros(3, dtype=np.uint8)
    with pytest.raises(ValueError, match="wanted bytes of every node"):
        COMPILED.node_codes(edges, commutative, np.zeros((2, 2), dtype=np.uint8))
    codes, weights = np.zeros(4, dtype=np.uint64), np.ones(4, dtype=np.float32)
    for start in ([0, 5], [-1, 2], [0, 3, 2]):
        with pytest.raises(ValueError, match="wanted"):
            COMPILED.sketch(codes, weights, np.array(start), 32, int(WORD))
    with pytest.raises(ValueError, match="multiple of 8"):
        COMPILED.sketch(codes, weights, np.array([0, 4]), 31, int(WORD))
    with pytest.raises(ValueError, match="properties"):
        COMPILED.cut(
            np.zeros(3, dtype=np.uint16),
            edges,
            kernel_properties()[:9],
            _cut_rules(COMPILED, 2, 16),
        )
    with pytest.raises(TypeError):
        COMPILED.cut(np.zeros(3), edges, kernel_properties(), _cut_rules(COMPILED, 2, 16))


@pytest.fixture
def asked_anew():
    kernel.compiled.cache_clear()
    yield
    kernel.compiled.cache_clear()


@pytest.mark.usefixtures("asked_anew")
def test_it_can_be_left_alone(monkeypatch, caplog):
    monkeypatch.setenv(kernel.VARIABLE, "off")
    with caplog.at_level(logging.INFO, "nar.graphs"):
        assert kernel.in_use() == "numpy"
    assert caplog.messages == ["graphs are read by Python and numpy: NAR_KERNEL=off"]


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize("contract", [None, kernel.CONTRACT - 1])
def test_a_kernel_of_another_version_is_left_alone(contract, monkeypatch, caplog):
    other = ModuleType("nar_kernel")
    if contract is not None:
        other.CONTRACT = contract
    monkeypatch.delenv(kernel.VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "nar_kernel", other)
    with caplog.at_level(logging.INFO, "nar.graphs"):
        assert kernel.in_use() == "numpy"
    assert "build it anew" in caplog.text


@pytest.mark.usefixtures("asked_anew")
def test_without_it_graphs_are_read_all_the_same(monkeypatch, caplog):
    monkeypatch.delenv(kernel.VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "nar_kernel", None)
    with caplog.at_level(logging.INFO, "nar.graphs"):
        assert kernel.in_use() == "numpy"
        assert in_order(graph_of("input; conv 0"))[0].topology
    assert len(caplog.messages) == 1
