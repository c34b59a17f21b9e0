"""The page about verdicts on designs that are not known: ``python -m benchmark verdicts``.

The bounds are chosen where originals select a model, and on one half of the designs that were
written by hand; what is said is then asked once of the others.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, get_args

from benchmark.evidence import by_hand
from benchmark.evidence.intervals import share
from benchmark.evidence.parts import PARTS_TOGETHER
from benchmark.evidence.queries import NEW, WHOLE, AtlasQueries, AtlasQuery
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.tasks.asking import EDITS
from benchmark.tasks.task import Held
from nar.answers.verdict import (
    MIN_AGREEMENT,
    MIN_COPY,
    MIN_NEAR,
    MIN_SCORE,
    FamilyVerdict,
    Resemblance,
    Word,
    family_verdict,
    resemblance,
)
from nar.corpus import Corpus, shipped_corpus
from nar.labels.lineage import relatives

COMMAND: Final = "python -m benchmark verdicts --results results"
# Chosen: queries of a kind and half; an end of an interval is then six points away at most.
_MOST: Final = 250
_COPIES: Final = (0.7, 0.75, 0.8, 0.85, 0.9)
_BOUNDS: Final = ((0.65, 0.8), (0.7, 0.8), (0.75, 0.6), (0.75, 0.7), (0.75, 0.8), (0.75, 0.9),
                  (0.8, 0.8), (0.85, 0.8))  # fmt: skip
_NEAR: Final = (0.4, 0.45, 0.5, 0.55, 0.6)
_BY_HAND: Final = "written by hand"
_KINDS: Final[Mapping[str, str]] = {
    WHOLE: "a new member of a known family",
    EDITS: "an edit of a known model",
    PARTS_TOGETHER: "a part of a known model",
    NEW: "a member of a family that does not answer",
    _BY_HAND: "a design written by hand, of a family of the atlas",
}
# Of these the family stands in the atlas.
_HAVING: Final = (WHOLE, EDITS, PARTS_TOGETHER, _BY_HAND)
_INTRODUCTION: Final = (
    "Designs that are not known ask the shipped atlas, at most 250 of a kind. Each word is a share "
    "of the designs that asked; in brackets how often the family that it names is right: it is the "
    "query's own, or has a design of it. Where it is a parent, a child or a sibling of that "
    "family, by the reviewed table of lineage, it counts neither way. A new member "
    "asks without its own design among the hits, a member of another family without its family. "
    "Exact parts and bodies are not looked for here. The encoder has learned from all these "
    "designs, so that unseen designs are named less well than this: the last row has "
    "unseen designs."
)
_CHOSEN: Final = (
    "Chosen on validation: a variant is said from a score by copy of {copy}; a family as the "
    "query's own from a score of {score} and {agreement} of the votes; a family as the nearest, "
    "and no close relative, from a score of {near}. Where a hit has the design with other "
    "activations or norms, a variant is said whatever the scores are."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One query, and what the hits say of it.

    Attributes:
        kind: What it is.
        families: Its own, and those of the same design.
        votes: What the hits say of its family.
        query: The query; None of a design that was written by hand.
        said: The verdict, where it is not made of the query.
    """

    kind: str
    families: frozenset[str]
    votes: FamilyVerdict
    query: AtlasQuery | None = None
    said: Resemblance | None = None

    def verdict(self, min_copy: float = MIN_COPY) -> Resemblance:
        """What is said."""
        if self.query is None:
            return self.said or Resemblance("unlike")
        near, graph = (self.query.by_design, self.query.by_copy), self.query.graph
        return resemblance(*near, graph=graph, min_copy=min_copy)

    def judged(self, family: str) -> bool | None:
        """Whether a family is right; None of a relative, and of no family."""
        if family in self.families:
            return True
        kin = set().union(*(relatives(own) for own in self.families))
        return None if not family or family in kin else False


def as_markdown(held: Sequence[Held]) -> str:
    """The page: how the bounds were chosen, and what is said where they are tested."""
    blocks = ["# Verdicts in words", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    for each in held:
        asked = [*_of_atlas(each), *_by_hand(each)]
        blocks.append(f"## {each.capitalize()}")
        blocks += _chosen(asked) if each == "validation" else _tested(asked)
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Measure both and write the page.

    Args:
        results: Directory that gets ``verdicts.md``.
    """
    text = as_markdown(("validation", "test"))
    keep_page(results, "verdicts.md", text)


def _of_atlas(held: Held) -> Iterator[Asked]:
    asking = AtlasQueries(held, _MOST)
    for query in (*asking.changed(), *asking.wholes(), *asking.of_new_families()):
        kind = query.kind if query.kind in _KINDS else PARTS_TOGETHER
        own = query.original.family
        yield Asked(kind, alike()[own] | {own}, family_verdict(query.by_design), query)


def _by_hand(held: Held) -> Iterator[Asked]:
    for told in by_hand.told([held]):
        if told.design.families and not told.answer.is_known:
            votes = family_verdict(told.answer.hits)
            families = frozenset(told.design.families)
            yield Asked(_BY_HAND, families, votes, said=told.answer.resemblance)


@cache
def alike() -> Mapping[str, frozenset[str]]:
    """For each family those that have one of its designs."""
    by_design: defaultdict[str, set[str]] = defaultdict(set)
    for card in Corpus(shipped_corpus()).cards():
        by_design[card.topology].add(card.labels.family)
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for families in by_design.values():
        for family in families:
            found[family] |= families
    return found


def _chosen(asked: Sequence[Asked]) -> Iterator[str]:
    bounds = {"copy": MIN_COPY, "score": MIN_SCORE, "agreement": MIN_AGREEMENT, "near": MIN_NEAR}
    yield _CHOSEN.format(**bounds)
    yield from _tested(asked)
    yield "The bounds of a family: how often one is said, and how often rightly."
    yield _by_family_bound(asked)
    yield "The bound of variants: how often one is said, and how often rightly."
    yield _by_copy(asked)
    yield "The bound of what is near: share of each kind below it, and how often rightly even so."
    yield _by_nearness(asked)


def _tested(asked: Sequence[Asked]) -> Iterator[str]:
    """What is said: the confusion, and how often a family that is said to be its own is right."""
    words = get_args(Word)
    lines = []
    for kind, meaning in _KINDS.items():
        own = [each for each in asked if each.kind == kind]
        told = [(each, each.verdict()) for each in own]
        cells = (
            _cell([x.judged(said.family) for x, said in told if said.word == word], len(own))
            for word in words
        )
        lines.append([meaning, f"{len(own):,}", *cells])
    yield markdown_table(("what asks", "queries", *words), lines)
    yield "A family is said to be its own (`variant` or `family`), with 95% intervals:"
    yield _own_family(asked)


def _own_family(asked: Sequence[Asked]) -> str:
    told = [(each, each.verdict()) for each in asked]
    groups = {
        "a family of the atlas": [pair for pair in told if pair[0].kind in _HAVING],
        "all": told,
    }
    lines = []
    for name, pairs in groups.items():
        naming = [(x, said) for x, said in pairs if said.word in ("variant", "family")]
        verdicts = [(min(x.families), x.judged(said.family)) for x, said in naming]
        right = share((family, each) for family, each in verdicts if each is not None)
        said = share((min(x.families), v.word in ("variant", "family")) for x, v in pairs)
        lines.append([name, f"{len(pairs):,}", str(said), str(right)])
    return markdown_table(("what asks", "queries", "said", "right when said"), lines)


def _cell(judged: Sequence[bool | None], of: int) -> str:
    clear = [each for each in judged if each is not None]
    part = f"{len(judged) / of:.2f}" if of else "-"
    return f"{part} ({sum(clear) / len(clear):.2f})" if clear else part


def _by_family_bound(asked: Sequence[Asked]) -> str:
    lines = []
    for score, agreement in _BOUNDS:
        cells = [
            _verdict_at([each for each in asked if each.kind in kinds], score, agreement)
            for kinds in (*((kind,) for kind in _KINDS), _HAVING, tuple(_KINDS))
        ]
        lines.append([str(score), str(agreement), *cells])
    header = ("score", "votes", *_KINDS.values(), "all of a family of the atlas", "all")
    return markdown_table(header, lines)


def _verdict_at(own: Sequence[Asked], score: float, agreement: float) -> str:
    names = [(each, each.votes.family_at(agreement, score)) for each in own]
    return _cell([each.judged(name) for each, name in names if name], len(own))


def _by_copy(asked: Sequence[Asked]) -> str:
    lines = []
    for bound in _COPIES:
        cells = []
        for kind in list(_KINDS)[:-1]:
            own = [each for each in asked if each.kind == kind]
            told = [(each, each.verdict(bound)) for each in own]
            variants = [x.judged(said.family) for x, said in told if said.word == "variant"]
            cells.append(_cell(variants, len(own)))
        lines.append([str(bound), *cells])
    return markdown_table(("bound", *list(_KINDS.values())[:-1]), lines)


def _by_nearness(asked: Sequence[Asked]) -> str:
    lines = []
    for bound in _NEAR:
        cells = []
        for kind in _KINDS:
            own = [each for each in asked if each.kind == kind]
            far = [first for first in _firsts(own) if first[1] < bound]
            cells.append(_cell([each.judged(family) for each, _, family in far], len(own)))
        lines.append([str(bound), *cells])
    return markdown_table(("bound", *_KINDS.values()), lines)


def _firsts(asked: Iterable[Asked]) -> Iterator[tuple[Asked, float, str]]:
    """Queries with the score and the name of the family of the largest vote."""
    for each in asked:
        for first in each.votes.counts[:1]:
            yield each, first.score, first.family
