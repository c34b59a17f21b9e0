"""What the hits of a design say of it: whose variant it is, and its family.

Hits vote for their families. Near hits count more: the vote of a hit halves with every `HALVING`
that its score lies behind the first one's. A family of few members can so win against a large one
that is farther. Models of one's own that were added without a family do not vote.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from nar.graphs.architecture import UNKNOWN
from nar.index.rows import Hit

# Chosen on validation data: `python -m benchmark parts-of`.
HALVING: Final = 0.02
MIN_AGREEMENT: Final = 0.6
MIN_SCORE: Final = 0.75
HITS: Final = 10
# Chosen on validation data: `python -m benchmark verdicts`.
MIN_COPY: Final = 0.8
MIN_KNOWN: Final = 0.7

Word = Literal["variant", "family", "relative", "unlike"]


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
        counts: Families of the hits that have one, that of the largest vote first.
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
    voters = [hit for hit in first if family(hit) != UNKNOWN]
    votes: defaultdict[str, float] = defaultdict(float)
    members: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in voters:
        name = family(hit)
        votes[name] += 2 ** ((hit.score - voters[0].score) / HALVING)
        members[name].append(hit)
    total = sum(votes.values())
    counts = (
        FamilyCount(name, len(own), own[0].score, votes[name] / total)
        for name, own in members.items()
    )
    return FamilyVerdict(len(first), tuple(sorted(counts, key=lambda count: -count.vote)))


@dataclass(frozen=True, slots=True)
class Resemblance:
    """What is said of a design that is not known.

    Attributes:
        word: It is a close ``variant`` of a known model, or of a ``family``; it has a ``relative``,
            and no family stands out; or it is ``unlike`` all that is known.
        name: Of the model that it is a variant of, or of its nearest relative; empty where there
            are no hits.
        family: Of that model, or the one that stands out; empty where none is said.
    """

    word: Word
    name: str = ""
    family: str = ""


UNLIKE: Final = Resemblance("unlike")


def resemblance(
    by_design: Sequence[Hit],
    by_copy: Sequence[Hit],
    *,
    min_copy: float = MIN_COPY,
    min_known: float = MIN_KNOWN,
) -> Resemblance:
    """Say what a design resembles.

    Args:
        by_design: Its hits by design, nearest first.
        by_copy: Its hits by copy, nearest first.
        min_copy: The score by copy from which it is called a variant.
        min_known: Where no score reaches it, nothing like it is known.
    """
    if not by_design:
        return UNLIKE
    copy, nearest = (by_copy or by_design)[0], by_design[0]
    if by_copy and copy.score >= min_copy:
        return Resemblance("variant", copy.name, "" if copy.family == UNKNOWN else copy.family)
    family = family_verdict(by_design).family
    if family:
        return Resemblance("family", nearest.name, family)
    is_like = max(copy.score, nearest.score) >= min_known
    return Resemblance("relative" if is_like else "unlike", nearest.name)
