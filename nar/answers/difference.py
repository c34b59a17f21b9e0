"""The records of which motifs two architectures share; a client knows them without any library."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MotifTimes:
    """How often a motif type occurs in one architecture.

    Attributes:
        code: The motif's fingerprint, 16 hex digits.
        operators: Its operators, in canonical order.
        times: Occurrences.
    """

    code: str
    operators: tuple[str, ...]
    times: int


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


def beside(
    first: Sequence[MotifTimes], second: Sequence[MotifTimes], *, at_inference: bool = False
) -> MotifDifference:
    """Put the motifs of two architectures side by side.

    Example:
        >>> block = MotifTimes("0" * 16, ("conv", "relu"), 3)
        >>> stem = MotifTimes("1" * 16, ("input",), 1)
        >>> compared = beside([stem, block], [block])
        >>> [(each.first, each.second) for each in compared.shared + compared.other]
        [(3, 3), (1, 0)]
    """
    left, right = ({each.code: each for each in motifs} for motifs in (first, second))
    counted = [
        MotifCounts(
            code,
            (left.get(code) or right[code]).operators,
            *(side[code].times if code in side else 0 for side in (left, right)),
        )
        for code in left | right
    ]
    counted.sort(key=lambda each: (-(each.first + each.second) * len(each.operators), each.code))
    return MotifDifference(
        shared=tuple(each for each in counted if each.first and each.second),
        other=tuple(each for each in counted if not (each.first and each.second)),
        at_inference=at_inference,
    )


def _nodes_in(motifs: Sequence[MotifCounts]) -> tuple[int, int]:
    """How many nodes of each stand in some motifs: every node stands in one."""
    return (
        sum(len(motif.operators) * motif.first for motif in motifs),
        sum(len(motif.operators) * motif.second for motif in motifs),
    )
