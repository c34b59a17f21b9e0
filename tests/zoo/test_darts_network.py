"""Genotype -> graph: the layout of the paper's A.4, and the known size of a known network."""

from collections import Counter

import numpy as np
import pytest
import torch
from darts_drawn import drawn
from darts_torch import DartsNetwork
from genotype_edits import edited_genotypes
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from nar.graphs.canonical import canonical, topology_fingerprint
from nar.graphs.fingerprints import fingerprinted
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.zoo.sources.darts.genotypes import GENOTYPE_COUNT, genotype_at, parse_genotype
from nar.zoo.sources.darts.network import darts_graph, darts_network

DARTS_V2 = parse_genotype(
    "sep3@0+sep3@1,sep3@0+sep3@1,skip@0+sep3@1,skip@0+dil3@2"
    "/max3@0+max3@1,max3@1+skip@2,max3@0+skip@2,max3@1+skip@2"
)
ALL_SKIP = genotype_at(0)
indices = st.integers(0, GENOTYPE_COUNT - 1)


def operators(graph):
    return [op_name(identifier) for identifier in graph.op_ids.tolist()]


def test_operators_of_a_known_network():
    counts = Counter(operators(darts_graph(DARTS_V2)))
    assert counts == {
        "input": 1,
        "conv": 1,
        "sep_conv_3x3": 18 * 5,
        "dil_conv_3x3": 18,
        "skip_connect": 18 * 2 + 2 * 3,
        "max_pool_3x3": 2 * 5,
        "add": 20 * 4,
        "concat": 20,
        "adaptive_avg_pool": 1,
        "linear": 1,
    }


def test_parameters_and_multiply_adds_are_the_published_ones():
    """3.35 M parameters as the authors' code counts them, 528 M multiply-adds on CIFAR-10."""
    graph = darts_graph(DARTS_V2)
    assert graph.parameters == 3_349_342
    assert round(graph.flops / 2e6) == 528


def test_an_operation_stands_between_the_value_and_the_add():
    graph = darts_graph(ALL_SKIP)
    names = operators(graph)
    links = Counter((names[source], names[target]) for source, target in graph.edge_index.T)
    assert links == {
        ("input", "conv"): 1,
        ("conv", "skip_connect"): 8 + 4,
        ("concat", "skip_connect"): 4 + 18 * 8,
        ("skip_connect", "add"): 160,
        ("add", "concat"): 80,
        ("concat", "adaptive_avg_pool"): 1,
        ("adaptive_avg_pool", "linear"): 1,
    }


def test_only_reductions_have_stride():
    graph = darts_graph(DARTS_V2)
    strides = graph.attributes[:, ATTRIBUTES.index("stride")]
    strided = Counter(np.array(operators(graph))[strides == 2].tolist())
    assert strided == {"max_pool_3x3": 10}
    assert np.count_nonzero(graph.attributes) == 10


@given(indices)
@settings(max_examples=20, deadline=None)
def test_every_network_is_valid_and_canonical(index):
    graph = darts_graph(genotype_at(index))
    graph.validate()
    assert canonical(graph) == graph
    assert graph.nodes == 264


@given(indices, st.integers(0, 119))
@settings(max_examples=20, deadline=None)
def test_every_edit_makes_another_design(index, number):
    genotype = genotype_at(index)
    edited = edited_genotypes(genotype)[number]
    before, after = darts_graph(genotype), darts_graph(edited)
    assert topology_fingerprint(before) != topology_fingerprint(after)


@pytest.mark.slow
@given(indices)
@example(0)
@example(GENOTYPE_COUNT - 1)
@example(1845)  # equal operations on two additions: only a second look tells them apart
@settings(max_examples=50, deadline=None)
def test_a_composed_network_is_the_drawn_one_in_canonical_order(index):
    """Numbering, the three fingerprints, and the kinds of the arrays: as of any other graph."""
    genotype = genotype_at(index)
    composed = darts_network(genotype)
    graph = composed.graph
    wanted = fingerprinted(drawn(genotype, parameters=graph.parameters, flops=graph.flops))
    assert graph == wanted.graph == darts_graph(genotype)
    assert (composed.topology, composed.exact, composed.inference) == (
        wanted.topology,
        wanted.exact,
        wanted.inference,
    )
    for name in ("op_ids", "attributes", "edge_index"):
        assert getattr(graph, name).dtype == getattr(wanted.graph, name).dtype


@pytest.mark.slow
@given(indices)
@example(0)
@settings(max_examples=5, deadline=None)
def test_parameters_and_operations_are_those_of_the_torch_module(index):
    genotype = genotype_at(index)
    with torch.device("meta"):
        module, image = DartsNetwork(genotype).eval(), torch.empty(1, 3, 32, 32)
    with FlopCounterMode(display=False) as counter:
        module(image)
    graph = darts_graph(genotype)
    assert graph.parameters == sum(weight.numel() for weight in module.parameters())
    assert graph.flops == counter.get_total_flops()
