"""What the hits of a design say of it: which model it is a variant of, and its family.

Hits vote for their families. Near hits count more: the vote of a hit halves with every `HALVING`
that its score lies behind that of the first hit. So a family of few members can win against a large
family that is farther. Families that have one design among the hits vote together: libraries give
one design several names. Models that a user added without a family do not vote.

Before they vote, their fingerprints are asked: a hit whose design is the query's with other
activations or other norms is what the query is a variant of, whatever the scores are.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from operator import attrgetter
from typing import Final, Literal

import numpy as np

from nar.answers.bodies import SharedBody
from nar.answers.part_of import Whole
from nar.graphs.architecture import UNKNOWN
from nar.graphs.canonical import topology_fingerprint
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import op_id
from nar.index.rows import Hit

# Chosen on validation data: `python -m benchmark parts-of`.
HALVING: Final = 0.02
# Chosen on validation data, among the bounds in `results/verdicts.md`: of a design whose family the
# atlas has, 97 of 100 families that are said are right; designs written by hand get a family, too.
MIN_AGREEMENT: Final = 0.8
MIN_SCORE: Final = 0.75  # of the nearest hit
# Chosen on validation data: below it stand 2 of 100 designs whose family the atlas has.
MIN_NEAR: Final = 0.5
# Chosen: hits that vote, as many as an answer has by default.
HITS: Final = 10
# Chosen on validation data: `results/verdicts.md`.
MIN_COPY: Final = 0.8
# Chosen on validation data: a composed model counts as this much farther than it is, since sources
# combine each decoder with many encoders.
COMPOSED_MARGIN: Final = 0.05
# Chosen: by so much the nearest copy of the voted family may be farther than that of another one.
COPY_MARGIN: Final = 0.03

# Operators that take each other's place in a block; the commonest first, for the first are tried
# where a graph is large.
_EXCHANGED: Final = tuple(
    tuple(map(op_id, names.split()))
    for names in (
        "relu gelu silu leaky_relu hard_swish relu6 elu mish tanh prelu",
        "batch_norm layer_norm group_norm rms_norm instance_norm",
    )
)
# Chosen: nodes of all graphs that are tried for one question. Of five models of 151 to 815 nodes
# that took 21 to 38 ms.
_MOST_NODES: Final = 15_000

# A composed model has the family of its decoder or head.
_family_of: Final[Callable[[Hit], str]] = attrgetter("family")

Word = Literal["body", "part", "variant", "family", "relative", "near", "unlike"]


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """How a family stands among the hits.

    Attributes:
        family: Its name.
        hits: How many hits belong to the family, or to a family that has a design of it.
        score: Score of the nearest hit of the family.
        vote: Their share of the votes, 0 to 1.
        also: Further families among the family's hits: each shares a design with another.
    """

    family: str
    hits: int
    score: float
    vote: float
    also: tuple[str, ...] = ()


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


def family_verdict(
    hits: Sequence[Hit], family: Callable[[Hit], str] = _family_of, *, joins: bool = True
) -> FamilyVerdict:
    """Count the votes of the first hits of an answer.

    Args:
        hits: Nearest first; further ones than `HITS` do not vote.
        family: What a hit votes for.
        joins: Whether families that have one design vote together. Of trunks they do not: one
            design of a whole model has one trunk, whatever it is called.
    """
    first = hits[:HITS]
    voters = [hit for hit in first if family(hit) != UNKNOWN]
    if not voters:
        return FamilyVerdict(len(first), ())
    scores = {
        hit.id: hit.score - (COMPOSED_MARGIN if hit.tier == "composed" else 0) for hit in voters
    }
    nearest = max(scores.values())
    votes = {row: 2 ** ((score - nearest) / HALVING) for row, score in scores.items()}
    groups: defaultdict[str, list[Hit]] = defaultdict(list)
    leaders = _alike(voters if joins else (), family)
    for hit in voters:
        groups[leaders.get(family(hit), family(hit))].append(hit)
    total = sum(votes.values())
    counts = [_count(own, votes, total, family) for own in groups.values()]
    return FamilyVerdict(len(first), tuple(sorted(counts, key=attrgetter("vote"), reverse=True)))


def _alike(voters: Sequence[Hit], family: Callable[[Hit], str]) -> dict[str, str]:
    """The family that each family votes with: families with one design among the hits are one."""
    leaders = {family(hit): family(hit) for hit in voters}
    of_design: dict[str, str] = {}
    for hit in voters:
        one = leaders[family(hit)]
        other = leaders[of_design.setdefault(hit.topology, family(hit))]
        leaders = {name: other if leader == one else leader for name, leader in leaders.items()}
    return leaders


def _count(
    own: Sequence[Hit], votes: dict[str, float], total: float, family: Callable[[Hit], str]
) -> FamilyCount:
    """How the hits of families that vote together stand, under the name of the largest vote."""
    by_name: defaultdict[str, float] = defaultdict(float)
    for hit in own:
        by_name[family(hit)] += votes[hit.id]
    name, *also = sorted(by_name, key=by_name.__getitem__, reverse=True)
    return FamilyCount(name, len(own), own[0].score, sum(by_name.values()) / total, tuple(also))


@dataclass(frozen=True, slots=True)
class Resemblance:
    """What a design that is not known resembles.

    Attributes:
        word: It has the ``body`` of a known network, or is a ``part`` of one, and nothing else that
            is known is near; it is a close ``variant`` of a known model, or of a ``family``; it has
            a close ``relative``, and no family stands out; it has no close relative, and a family
            that is ``near``; or it is ``unlike`` all that is known.
        name: Name of the model that it shares a body with, is a part or a variant of, or of its
            nearest relative; empty where there are no hits.
        family: Family of that model, or the family that is said; empty where none is known.
        hits: How many hits are of the family that is said.
        of: How many hits were counted.
        score: Score of the nearest hit of this family.
    """

    word: Word
    name: str = ""
    family: str = ""
    hits: int = 0
    of: int = 0
    score: float = 0.0


UNLIKE: Final = Resemblance("unlike")


def resemblance(
    by_design: Sequence[Hit],
    by_copy: Sequence[Hit],
    *,
    bodies: Sequence[SharedBody] = (),
    wholes: Sequence[Whole] = (),
    graph: ComputationalGraph | None = None,
    min_copy: float = MIN_COPY,
) -> Resemblance:
    """Say what a design resembles: by the strongest evidence, and by nothing that contradicts it.

    Args:
        by_design: Its hits by design, nearest first.
        by_copy: Its hits by copy, nearest first.
        bodies: Which networks have its body, the best first.
        wholes: What it is a part of, the best first.
        graph: Its graph, where there is one.
        min_copy: The score by copy from which it is called a variant.
    """
    alike = None if graph is None else exchanged(graph, [*by_copy, *by_design])
    if alike:
        return Resemblance("variant", alike.name, _known(alike.family), score=alike.score)
    told = _by_hits(by_design, by_copy, min_copy)
    if told.word in ("near", "unlike"):
        if bodies:
            return _exact("body", bodies[0].name, [*by_copy, *by_design])
        if wholes:
            return _exact("part", wholes[0].name, [*by_copy, *by_design])
    return told


def _exact(word: Literal["body", "part"], name: str, hits: Sequence[Hit]) -> Resemblance:
    """An exact body or part is never unlike what has it, whatever the scores are."""
    hit = next((hit for hit in hits if hit.name == name), None)
    if hit is None:
        return Resemblance(word, name)
    return Resemblance(word, name, _known(hit.family), score=hit.score)


def exchanged(graph: ComputationalGraph, hits: Sequence[Hit]) -> Hit | None:
    """The first hit whose design is that of a graph with other activations, norms, or both.

    Args:
        graph: The graph.
        hits: What may have its design.
    """
    of_design = {hit.topology: hit for hit in reversed(hits)}
    found = filter(None, map(of_design.get, map(topology_fingerprint, _exchanges(graph))))
    return next(found, None)


def _exchanges(graph: ComputationalGraph) -> Iterator[ComputationalGraph]:
    """The graph with one activation in place of others, with one norm, then with both."""
    present = set(np.unique(graph.op_ids).tolist())
    activations, norms = (list(_replacements(kind, present)) for kind in _EXCHANGED)
    exchanges = [*((each,) for each in (*activations, *norms)), *product(norms, activations)]
    for replaced in islice(exchanges, _MOST_NODES // graph.nodes):
        op_ids = graph.op_ids.copy()
        for old, new in replaced:
            op_ids[np.isin(graph.op_ids, old)] = new
        yield replace(graph, op_ids=op_ids)


def _replacements(
    kind: Sequence[int], present: Collection[int]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Operators of a kind that a graph has, all and then each, and what may stand for them."""
    own = tuple(each for each in kind if each in present)
    for old in dict.fromkeys((own, *((each,) for each in own))):
        yield from ((old, new) for new in kind if old not in {(), (new,)})


def _by_hits(by_design: Sequence[Hit], by_copy: Sequence[Hit], min_copy: float) -> Resemblance:
    if not by_design:
        return UNLIKE
    told = family_verdict(by_design)
    first = next(iter(told.counts), None)
    names = (first.family,) if first else ()
    if by_copy and by_copy[0].score >= min_copy:
        copy = _of_families(by_copy, names, by_copy[0].score - COPY_MARGIN)
        return Resemblance("variant", copy.name, _known(copy.family), score=copy.score)
    nearest = by_design[0]
    if first is None:
        word: Word = "relative" if nearest.score >= MIN_NEAR else "unlike"
        return Resemblance(word, nearest.name, of=told.of, score=nearest.score)
    if first.score >= MIN_SCORE and not told.family:
        return Resemblance("relative", nearest.name, _known(nearest.family), score=nearest.score)
    if not told.family and first.score < MIN_NEAR:
        # What is named as the nearest is the first row of the table, whichever family has more; a
        # near row without a family is a relative all the same.
        word = "relative" if nearest.score >= MIN_NEAR else "unlike"
        return Resemblance(word, nearest.name, _known(nearest.family), score=nearest.score)
    named = _of_families(by_design, names, -1)
    counted = (first.hits, told.of, first.score)
    return Resemblance("family" if told.family else "near", named.name, first.family, *counted)


def _of_families(hits: Sequence[Hit], families: Sequence[str], from_score: float) -> Hit:
    """The first hit of some families that is near enough; else the first."""
    near = (hit for hit in hits if hit.family in families and hit.score >= from_score)
    return next(near, hits[0])


def _known(family: str) -> str:
    return "" if family == UNKNOWN else family
