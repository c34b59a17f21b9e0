"""Samples of a corpus that is read once, part by part, so that no graph is kept."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from nar.encoding.targets import Described, Targets
from nar.graphs.architecture import Architecture, Labels
from nar.graphs.graph import ComputationalGraph

SamplesT = TypeVar("SamplesT", covariant=True)


class Reader(Protocol[SamplesT]):
    """Takes what an encoder learns from out of graphs that it then forgets."""

    def read(self, graphs: Sequence[ComputationalGraph]) -> None:
        """Take some more canonical graphs."""

    def samples(self, targets: Targets) -> SamplesT:
        """Of all graphs, whose targets these are."""


@dataclass(frozen=True, slots=True)
class Description:
    """What is kept of an architecture: its coarse class, and of what families it is."""

    block: str
    labels: Labels

    @classmethod
    def of(cls, item: Architecture) -> "Description":
        """Equal for all that have the same targets, however many they are."""
        return cls(item.block, replace(item.labels, name="", source="", library="", task=""))


def collected(
    architectures: Iterable[Architecture],
    reader: Reader[SamplesT],
    targets: Callable[[Sequence[Described]], Targets],
    *,
    nodes_a_part: int,
) -> SamplesT:
    """Read a corpus.

    Args:
        architectures: The corpus, in its order.
        reader: Reads its graphs.
        targets: What is aimed at, by how the architectures are described.
        nodes_a_part: So many nodes are read at once; a larger graph is read alone.
    """
    kinds: dict[Description, int] = {}
    kind_of = array("q")
    for part in parts(architectures, nodes_a_part):
        reader.read([item.graph for item in part])
        kind_of.extend(kinds.setdefault(Description.of(item), len(kinds)) for item in part)
    return reader.samples(targets(list(kinds)).take(np.array(kind_of, dtype=np.int64)))


def parts(architectures: Iterable[Architecture], nodes_a_part: int) -> Iterator[list[Architecture]]:
    """Consecutive architectures whose nodes add up to that many at most."""
    part: list[Architecture] = []
    nodes = 0
    for item in architectures:
        if part and nodes + item.graph.nodes > nodes_a_part:
            yield part
            part, nodes = [], 0
        part.append(item)
        nodes += item.graph.nodes
    if part:
        yield part
