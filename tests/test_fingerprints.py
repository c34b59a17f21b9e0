"""Three fingerprints of one graph, and what they say of two networks."""

from dataclasses import dataclass

import pytest
from graphs import graph_of, random_graphs
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical, exact_fingerprint, topology_fingerprint
from nar.graphs.fingerprints import fingerprinted, same_at_inference, sameness
from nar.graphs.normal_form import inference_fingerprint


@dataclass
class Network:
    topology: str = "t"
    exact: str = "e"
    inference: str = "i"
    parameters: int = 1_000


@pytest.mark.slow
@given(random_graphs())
def test_a_fingerprinted_graph_is_its_canonical_form_with_all_fingerprints(graph):
    whole = fingerprinted(graph)
    assert whole.graph == canonical(graph)
    assert whole.topology == topology_fingerprint(graph)
    assert whole.exact == exact_fingerprint(graph)
    assert whole.inference == inference_fingerprint(graph)
    assert whole.parameters == graph.parameters


def test_what_is_folded_has_another_topology_and_the_same_inference_fingerprint():
    written = fingerprinted(graph_of("input; conv 0; batch_norm 1; relu 2"))
    deployed = fingerprinted(graph_of("input; conv 0; relu 1"))
    assert written.inference == deployed.inference
    assert written.topology != deployed.topology
    assert sameness(written, deployed) == "inference"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Network(), "network"),
        (Network(exact="x"), "design"),
        (Network(exact="x", inference="x"), "design"),
        (Network(exact="x", parameters=5_000), "design"),
        (Network(exact="x", topology="x"), "inference"),
        (Network(exact="x", topology="x", parameters=1_180), "inference"),
        (Network(exact="x", topology="x", parameters=850), "inference"),
        (Network(exact="x", topology="x", parameters=1_200), None),
        (Network(exact="x", topology="x", parameters=830), None),
        (Network(exact="x", topology="x", parameters=0), None),
        (Network(exact="x", topology="x", inference="x"), None),
    ],
)
def test_the_most_that_can_be_said_of_two_networks_is_said(other, said):
    assert sameness(Network(), other) == sameness(other, Network()) == said


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_what_is_the_same_is_so_both_ways(one, other):
    pair = (Network(parameters=one), Network(parameters=other))
    assert same_at_inference(*pair) == same_at_inference(*pair[::-1])
    assert same_at_inference(pair[0], pair[0])


def test_networks_without_parameters_are_of_one_size():
    assert same_at_inference(Network(parameters=0), Network(parameters=0))
