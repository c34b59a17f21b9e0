"""The records of which motifs two architectures share; a client knows them without any library."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MotifCounts:
    """How often a motif type occurs in each of two architectures.

    Attributes:
        code: The motif's fingerprint, 16 hex digits.
        operators: Its operators, in canonical order.
        first: Occurrences in the first.
        second: Occurrences in the second.
    """

    code: str
    operators: tuple[str, ...]
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class MotifDifference:
    """The motifs of two architectures side by side.

    Attributes:
        shared: Motif types of both, those that cover most nodes first.
        other: Motif types of one only, in the same order.
        at_inference: Whether normal forms were compared.
    """

    shared: tuple[MotifCounts, ...]
    other: tuple[MotifCounts, ...]
    at_inference: bool = False

    @property
    def in_shared(self) -> tuple[float, float]:
        """Share of the nodes of each that stand in motifs of both, 0 to 1."""
        shared, others = map(_nodes_in, (self.shared, self.other))
        first, second = (own / (own + other) for own, other in zip(shared, others, strict=True))
        return first, second


def _nodes_in(motifs: Sequence[MotifCounts]) -> tuple[int, int]:
    """How many nodes of each stand in some motifs: every node stands in one."""
    return (
        sum(len(motif.operators) * motif.first for motif in motifs),
        sum(len(motif.operators) * motif.second for motif in motifs),
    )
