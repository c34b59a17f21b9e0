"""Compares architectures by their motifs: which they share, and which one of them has alone."""

from functools import cached_property
from typing import Protocol

from nar.answers.difference import MotifDifference, MotifTimes, beside
from nar.graphs.fingerprints import Known, sameness
from nar.graphs.graph import ComputationalGraph
from nar.graphs.normal_form import normal_form
from nar.motifs.partition import MotifPartition, partition


class Drawn(Known, Protocol):
    """A network with its graph: a `Fingerprinted` or an `Architecture`."""

    @property
    def graph(self) -> ComputationalGraph:
        """Canonical graph."""


class Cut:
    """A network that is compared with several others: it is cut into motifs once.

    Args:
        network: The network.
    """

    def __init__(self, network: Drawn) -> None:
        self.network = network

    @cached_property
    def written(self) -> MotifPartition:
        """The motifs of the graph as it is written."""
        return partition(self.network.graph)

    @cached_property
    def deployed(self) -> MotifPartition:
        """The motifs of its normal form."""
        return partition(normal_form(self.network.graph))


def explained(first: Cut, second: Cut) -> MotifDifference:
    """Compare as that says most: by normal forms where these alone are equal."""
    if sameness(first.network, second.network) == "inference":
        return motif_difference(first.deployed, second.deployed, at_inference=True)
    return motif_difference(first.written, second.written)


def motif_difference(
    first: MotifPartition, second: MotifPartition, *, at_inference: bool = False
) -> MotifDifference:
    """Compare the motifs of two graphs."""
    return beside(motif_times(first), motif_times(second), at_inference=at_inference)


def motif_times(cut: MotifPartition) -> tuple[MotifTimes, ...]:
    """The motif types of a graph, in the order of first occurrence."""
    return tuple(
        MotifTimes(f"{code:016x}", tuple(cut.operators(code)), times)
        for code, times in cut.counts().items()
    )
