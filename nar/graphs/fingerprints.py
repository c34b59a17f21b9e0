"""The three fingerprints of a graph: of its design, of the network, and of its normal form.

- ``topology``: operators and wiring, "the same design".
- ``exact``: with attributes and the parameter total, "the same network".
- ``inference``: the normal form with its attributes, "the same at inference".
"""

from dataclasses import dataclass
from math import log2
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from nar.graphs.canonical import Adjacency
from nar.graphs.graph import ComputationalGraph
from nar.graphs.normal_form import inference_fingerprint_of

Sameness = Literal["network", "design", "inference"]
# In octaves, chosen: folding changes a parameter total by less, the next width of a design mostly
# by more.
_NEAR_TOTALS: Final = 0.25


class HasFingerprints(Protocol):
    """A network whose fingerprints are known: a graph, an architecture, its card or its row."""

    @property
    def topology(self) -> str:
        """Topology fingerprint, sha256 hex."""

    @property
    def exact(self) -> str:
        """Exact fingerprint, sha256 hex."""

    @property
    def inference(self) -> str:
        """Inference fingerprint, sha256 hex."""

    @property
    def parameters(self) -> int:
        """Learned scalars."""


class Network(HasFingerprints, Protocol):
    """A network with its graph: a `Fingerprinted` or an `Architecture`."""

    @property
    def graph(self) -> ComputationalGraph:
        """Canonical graph."""


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """A graph in canonical order with its fingerprints.

    Attributes:
        graph: Canonical graph.
        topology: Topology fingerprint, sha256 hex.
        exact: Exact fingerprint, sha256 hex.
        inference: Inference fingerprint, sha256 hex.
    """

    graph: ComputationalGraph
    topology: str
    exact: str
    inference: str

    @property
    def parameters(self) -> int:
        """Learned scalars."""
        return self.graph.parameters


def fingerprinted(graph: ComputationalGraph) -> Fingerprinted:
    """Canonical order and all fingerprints, computed together: they share the codes of nodes.

    Args:
        graph: A valid graph in any numbering.
    """
    return in_order(graph)[0]


def in_order(graph: ComputationalGraph) -> tuple[Fingerprinted, NDArray[np.int64]]:
    """As `fingerprinted`, and the canonical order: shape (nodes,), numbers of the graph's nodes."""
    adjacency = Adjacency(graph)
    written = adjacency.coded()
    ordered, order = written.canonical()
    network = Fingerprinted(
        ordered,
        adjacency.topology(),
        written.exact(graph.parameters),
        inference_fingerprint_of(written),
    )
    return network, order


def sameness(one: HasFingerprints, other: HasFingerprints) -> Sameness | None:
    """The strongest sameness of two networks; None if they are different.

    Equal topologies come before equal normal forms: where networks are written alike, nothing was
    folded in between, and what differs is their widths.
    """
    if one.exact == other.exact:
        return "network"
    if one.topology == other.topology:
        return "design"
    return "inference" if same_at_inference(one, other) else None


def same_at_inference(one: HasFingerprints, other: HasFingerprints) -> bool:
    """Whether two networks have one normal form and about the same size.

    Normal forms do not say how wide they are, so the parameter totals are compared as well: folding
    takes less than a quarter of an octave away.

    Example:
        >>> from types import SimpleNamespace as Network
        >>> trained = Network(inference="f", parameters=11_689_512)
        >>> same_at_inference(trained, Network(inference="f", parameters=11_684_712))
        True
        >>> same_at_inference(trained, Network(inference="f", parameters=9_000_000))
        False
    """
    return one.inference == other.inference and near_totals(one.parameters, other.parameters)


def near_totals(one: int, other: int) -> bool:
    """Whether two parameter totals are within a quarter of an octave of each other."""
    return one == other or (one > 0 < other and abs(log2(one / other)) <= _NEAR_TOTALS)
