"""FamilyVerdict: which family the first hits of an answer speak for, and whether they agree.

Hits vote for their families. Near hits count more: the vote of a hit halves with every `HALVING`
that its score lies behind the first one's. A family of few members can so win against a large one
that is farther.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nar.index.rows import Hit

# Chosen on validation data: `nar benchmark families-of`.
HALVING: Final = 0.02
MIN_AGREEMENT: Final = 0.6
MIN_SCORE: Final = 0.75
HITS: Final = 10


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """How a family stands among the hits.

    Attributes:
        family: Its name.
        hits: How many hits are of it.
        score: Of the nearest of them.
        vote: Its share of the votes, 0 to 1.
    """

    family: str
    hits: int
    score: float
    vote: float


@dataclass(frozen=True, slots=True)
class FamilyVerdict:
    """What the hits say of a query's family.

    Attributes:
        of: How many hits were asked.
        counts: Families of the hits, that of the largest vote first.
    """

    of: int
    counts: tuple[FamilyCount, ...]

    @property
    def family(self) -> str:
        """The family that stands out; empty where the hits disagree or are far."""
        return self.family_at(MIN_AGREEMENT, MIN_SCORE)

    def family_at(self, min_agreement: float, min_score: float) -> str:
        """The same, where its share of the votes and its nearest hit's score are at least these."""
        first = next(iter(self.counts), None)
        stands_out = first and first.vote >= min_agreement and first.score >= min_score
        return first.family if first and stands_out else ""


def family_of(hit: Hit) -> str:
    """Family of a hit; of a composed model that of its decoder or head."""
    return hit.family


def family_verdict(hits: Sequence[Hit], family: Callable[[Hit], str] = family_of) -> FamilyVerdict:
    """Count the votes of the first hits of an answer.

    Args:
        hits: Nearest first; further ones than `HITS` do not vote.
        family: What a hit votes for.
    """
    first = hits[:HITS]
    votes: defaultdict[str, float] = defaultdict(float)
    members: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in first:
        name = family(hit)
        votes[name] += 2 ** ((hit.score - first[0].score) / HALVING)
        members[name].append(hit)
    total = sum(votes.values())
    counts = (
        FamilyCount(name, len(own), own[0].score, votes[name] / total)
        for name, own in members.items()
    )
    return FamilyVerdict(len(first), tuple(sorted(counts, key=lambda count: -count.vote)))
