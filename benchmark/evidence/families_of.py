"""How often the first hits speak for a family, and how often it is the right one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmark.evidence.asked import NEW, WHOLE, Asked
from benchmark.protocol.asking import EDITS
from nar.answers.verdict import MIN_AGREEMENT, MIN_SCORE, FamilyVerdict, family_verdict

PARTS_TOGETHER = "parts"


@dataclass(frozen=True, slots=True)
class Voted:
    """A verdict, and what is right.

    Attributes:
        family: Of the query.
        verdict: Of its hits.
    """

    family: str
    verdict: FamilyVerdict


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is said of the queries of one kind.

    Attributes:
        queries: How many there are.
        speaks: Share of them of which a family is said.
        right: Share of those whose family it is; 0 where nothing is said.
    """

    queries: int
    speaks: float
    right: float


def vote_all(asked: Iterable[Asked]) -> Mapping[str, Sequence[Voted]]:
    """Count the votes of the hits of every query; kinds of parts are one kind."""
    by_kind: defaultdict[str, list[Voted]] = defaultdict(list)
    for one in asked:
        kind = one.kind if one.kind in (WHOLE, NEW, EDITS) else PARTS_TOGETHER
        by_kind[kind].append(Voted(one.original.family, family_verdict(one.by_design)))
    return by_kind


def spoken(
    votes: Sequence[Voted], min_agreement: float = MIN_AGREEMENT, min_score: float = MIN_SCORE
) -> Spoken:
    """How often something is said, and how often that is right.

    Example:
        >>> from nar.answers.verdict import FamilyCount
        >>> verdict = FamilyVerdict(10, (FamilyCount("bart", 8, 0.97, 0.9),))
        >>> spoken([Voted("bart", verdict), Voted("t5", verdict)])
        Spoken(queries=2, speaks=1.0, right=0.5)
        >>> spoken([Voted("bart", verdict)], min_score=0.98)
        Spoken(queries=1, speaks=0.0, right=0)
    """
    names = [each.verdict.family_at(min_agreement, min_score) for each in votes]
    right = [name == each.family for name, each in zip(names, votes, strict=True) if name]
    return Spoken(len(votes), len(right) / len(votes), fmean(right) if right else 0)
