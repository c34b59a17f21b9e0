"""What the hits of a design say of it: which model it is a variant of, and its family.

Hits vote for their families. Near hits count more: the vote of a hit halves with every `HALVING`
that its score lies behind that of the first hit. So a family of few members can win against a large
family that is farther. Models that a user added without a family do not vote.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from nar.graphs.architecture import UNKNOWN
from nar.index.rows import Hit

# Chosen on validation data: `python -m benchmark parts-of`.
HALVING: Final = 0.02
# Chosen on validation data, among the bounds in `results/part_of.md`: higher bounds name a family
# less often, and are right more often.
MIN_AGREEMENT: Final = 0.6
# Chosen in the same way.
MIN_SCORE: Final = 0.75
# Chosen: hits that vote, as many as an answer has by default.
HITS: Final = 10
# Chosen on validation data: `results/verdicts.md`.
MIN_COPY: Final = 0.8
# Chosen on validation data: `results/verdicts.md`.
MIN_KNOWN: Final = 0.7

Word = Literal["variant", "family", "relative", "unlike"]


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """How a family stands among the hits.

    Attributes:
        family: Its name.
        hits: How many hits belong to the family.
        score: Score of its nearest hit.
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
        of: How many hits were counted, with and without a family.
        counts: Families of the hits that have one, the largest vote first.
    """

    of: int
    counts: tuple[FamilyCount, ...]

    @property
    def family(self) -> str:
        """The family that stands out; empty where the hits disagree or are far."""
        return self.family_at(MIN_AGREEMENT, MIN_SCORE)

    def family_at(self, min_agreement: float, min_score: float) -> str:
        """The same with other bounds: of the share of votes, and of the nearest hit's score."""
        first = next(iter(self.counts), None)
        stands_out = first and first.vote >= min_agreement and first.score >= min_score
        return first.family if first and stands_out else ""


def family_of(hit: Hit) -> str:
    """Family of a hit; a composed model has the family of its decoder or head."""
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
    """What a design that is not known resembles.

    Attributes:
        word: It is a close ``variant`` of a known model, or of a ``family``; it has a ``relative``,
            and no family stands out; or it is ``unlike`` all that is known.
        name: Name of the model that it is a variant of, or of its nearest relative; empty where
            there are no hits.
        family: Family of that model, or the family that stands out; empty where neither is known.
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
