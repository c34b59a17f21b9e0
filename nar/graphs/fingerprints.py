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
from nar.graphs.ops import ATTRIBUTES, op_id

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


# ``sharing``: all operators are the same, and a language model shares its table with its head or
# does not. ``weights``: all operators are the same, and some weight has another size or is shared
# otherwise. ``settings``: kernels, strides, heads and the like differ, widths may as well.
DesignChange = Literal["sharing", "weights", "widths", "settings"]

_RATIO = ATTRIBUTES.index("channel_ratio")


def design_change(one: ComputationalGraph, other: ComputationalGraph) -> DesignChange:
    """What differs between two networks of equal topology that are not the same network.

    Widths are not in a graph, only ratios of widths: networks whose operators have equal attributes
    and cost the same have equal widths.

    Args:
        one: A graph.
        other: A graph of the same topology, in any numbering, captured with inputs of one size.
    """
    if one.flops == other.flops and np.array_equal(_operators(one), _operators(other)):
        return "sharing" if _has_vocabulary_head(one) else "weights"
    same = np.array_equal(_operators(one, ratios=False), _operators(other, ratios=False))
    return "widths" if same else "settings"


def _operators(graph: ComputationalGraph, *, ratios: bool = True) -> NDArray[np.int64]:
    """Operators with their attributes, sorted. Shape (nodes, 1 + attributes)."""
    rows = np.column_stack([graph.op_ids, graph.attributes]).astype(np.int64)
    if not ratios:
        rows[:, 1 + _RATIO] = 0
    order: NDArray[np.int64] = rows[np.lexsort(rows.T)]
    return order


def _has_vocabulary_head(graph: ComputationalGraph) -> bool:
    """Whether a network reads tokens from a table and gives one score for each token it knows.

    Its head costs as much as the vocabulary is large, so that networks of equal cost have equal
    vocabularies, and their tables have one size.
    """
    ends = np.setdiff1d(np.arange(graph.nodes), graph.edge_index[0])
    is_linear = graph.op_ids[ends] == op_id("linear")
    widens = graph.attributes[ends, _RATIO] > 0
    return bool((graph.op_ids == op_id("embedding")).any() and (is_linear & widens).any())
