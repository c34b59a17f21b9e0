"""Parts and families as the shipped atlas tells them: ``python -m benchmark parts-of``.

How often the original of a part is named, and a whole is called a part; how often the first hits
speak for a family, and for the right one. Settings are chosen where originals select a model; how
well they do is then asked once of the others.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

from benchmark.evidence.queries import DEPTH, NEW, WHOLE, AtlasQueries, AtlasQuery, sources_of
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.tasks.asking import EDITS
from benchmark.tasks.task import Held
from nar.answers.answer import COMPARED
from nar.answers.part_of import MIN_SHARE, RADIUS, Reading, Whole, compared, in_order, reading
from nar.answers.verdict import MIN_AGREEMENT, MIN_SCORE, FamilyVerdict, family_verdict
from nar.corpus import Corpus, shipped_corpus

PARTS_TOGETHER = "parts"
COMMAND: Final = "python -m benchmark parts-of --results results"
_OTHER_RADII: Final = (1, 2, 4)
_AGREEMENTS: Final = (0.5, 0.6, 0.7)
_SCORES: Final = (0.0, 0.7, 0.75, 0.8, 0.9)
_PARTS: Final = ("queries", "reached", "contained", "named", "of its family", "any")
_INTRODUCTION: Final = (
    "Parts of models ask the shipped atlas. *reached*: the original is among the hits that are "
    "compared; *contained*: and the part is said to be one of it; *named*: the original is what is "
    "named first; *of its family*: what is named first is of the original's family; *any*: "
    "something is said. A whole is a named model that ends in a head, and its own design does not "
    "answer: whatever is said of it is a false alarm. Some are right all the same: "
    "`timm:vit_base_mci_224` is the image tower of `open_clip:MobileCLIP2-B`."
)
_FAMILIES: Final = (
    "A family is said when the first hits agree on it and are near. *speaks*: share of the queries "
    "of which a family is said; *right*: share of these queries whose family it is. Of a new "
    "family no model answers, so that whatever is said of its models is wrong; the encoder has "
    "learned these models all the same."
)


@dataclass(frozen=True, slots=True)
class Setting:
    """When a query is called a part of a hit.

    Attributes:
        hits: So many first hits are compared, by copy and by design each.
        min_share: Share of the query that the hit has to contain.
        radius: How far above a node is looked.
    """

    hits: int
    min_share: float = MIN_SHARE
    radius: int = RADIUS


@dataclass(frozen=True, slots=True)
class Comparison:
    """A query beside one of its hits.

    Attributes:
        rank: Of the hit from 0, the better one of both answers.
        is_original: Whether the hit is the network that the query was cut from.
        is_kin: Whether both are of one family.
        whole: The hit, and how much of the query it contains.
    """

    rank: int
    is_original: bool
    is_kin: bool
    whole: Whole


Compared = Mapping[str, Sequence[Sequence[Comparison]]]


@dataclass(frozen=True, slots=True)
class PartShares:
    """What is said of the queries of one kind, in shares of them.

    Attributes:
        queries: Number of queries.
        reached: The original is among the hits that are compared.
        contained: It is, and the query is called a part of it.
        named: It is what is named first.
        kin: What is named first is of its family.
        any: The query is called a part of something; of a whole that is a false alarm.
    """

    queries: int
    reached: float
    contained: float
    named: float
    kin: float
    any: float


def compare_all(asked: Iterable[AtlasQuery], radius: int = RADIUS) -> Compared:
    """Compare every query but edits with its first hits.

    Returns:
        Kind of query -> for each query its hits.
    """
    asking = [one for one in asked if one.kind not in (EDITS, NEW)]
    names = {hit.name for one in asking for hit in one.compared(DEPTH)}
    corpus = Corpus(shipped_corpus()).graphs(sorted(names), sources_of(names))
    known = {name: reading(item.graph, radius) for name, item in corpus.items()}
    compared_by_kind: defaultdict[str, list[list[Comparison]]] = defaultdict(list)
    for one in asking:
        compared_by_kind[one.kind].append(list(_comparisons(one, known, radius)))
    return compared_by_kind


def _comparisons(
    one: AtlasQuery, known: Mapping[str, Reading], radius: int
) -> Iterator[Comparison]:
    query = reading(one.graph, radius)
    ranks = [
        {hit.name: rank for rank, hit in enumerate(hits)} for hits in (one.by_copy, one.by_design)
    ]
    for hit in one.compared(DEPTH):
        rank = min(rank.get(hit.name, DEPTH) for rank in ranks)
        whole = Whole(hit.name, compared(query, known[hit.name]))
        own = one.original
        yield Comparison(rank, hit.exact == own.exact, hit.family == own.family, whole)


def part_shares(queries: Sequence[Sequence[Comparison]], setting: Setting) -> PartShares:
    """What is said of queries of one kind, that were compared with the radius of the setting."""
    told = [_shares_of_one(comparisons, setting) for comparisons in queries]
    return PartShares(len(queries), *(fmean(column) for column in zip(*told, strict=True)))


def _shares_of_one(comparisons: Sequence[Comparison], setting: Setting) -> tuple[bool, ...]:
    """Of one query: the shares of `PartShares`, in their order."""
    seen = {each.whole.name: each for each in comparisons if each.rank < setting.hits}
    wholes = in_order([each.whole for each in seen.values()], setting.min_share)
    named = [seen[whole.name] for whole in wholes]
    return (
        any(each.is_original for each in seen.values()),
        any(each.is_original for each in named),
        any(each.is_original for each in named[:1]),
        any(each.is_kin for each in named[:1]),
        bool(named),
    )


@dataclass(frozen=True, slots=True)
class FamilyVote:
    """A verdict, and what is right.

    Attributes:
        family: Of the query.
        verdict: Of its hits.
    """

    family: str
    verdict: FamilyVerdict


@dataclass(frozen=True, slots=True)
class FamilyShares:
    """What is said of the queries of one kind.

    Attributes:
        queries: Number of queries.
        speaks: Share of the queries of which a family is said.
        right: Share of these queries whose family it is; 0 where nothing is said.
    """

    queries: int
    speaks: float
    right: float


def vote_all(asked: Iterable[AtlasQuery]) -> Mapping[str, Sequence[FamilyVote]]:
    """Count the votes of the hits of every query; kinds of parts are one kind."""
    by_kind: defaultdict[str, list[FamilyVote]] = defaultdict(list)
    for one in asked:
        kind = one.kind if one.kind in (WHOLE, NEW, EDITS) else PARTS_TOGETHER
        by_kind[kind].append(FamilyVote(one.original.family, family_verdict(one.by_design)))
    return by_kind


def family_shares(
    votes: Sequence[FamilyVote], min_agreement: float = MIN_AGREEMENT, min_score: float = MIN_SCORE
) -> FamilyShares:
    """How often something is said, and how often that is right.

    Example:
        >>> from nar.answers.verdict import FamilyCount
        >>> verdict = FamilyVerdict(10, (FamilyCount("bart", 8, 0.97, 0.9),))
        >>> family_shares([FamilyVote("bart", verdict), FamilyVote("t5", verdict)])
        FamilyShares(queries=2, speaks=1.0, right=0.5)
        >>> family_shares([FamilyVote("bart", verdict)], min_score=0.98)
        FamilyShares(queries=1, speaks=0.0, right=0)
    """
    names = [each.verdict.family_at(min_agreement, min_score) for each in votes]
    right = [name == each.family for name, each in zip(names, votes, strict=True) if name]
    return FamilyShares(len(votes), len(right) / len(votes), fmean(right) if right else 0)


_CHOSEN: Final = Setting(COMPARED)
# What else could have been chosen, one thing at a time.
_SETTINGS: Final[Mapping[str, Sequence[Setting]]] = {
    "hits": [replace(_CHOSEN, hits=hits) for hits in (5, 10, 20)],
    "min_share": [replace(_CHOSEN, min_share=share) for share in (0.6, 0.7, 0.8, 0.9, 0.95, 1.0)],
}


def as_markdown(held: Sequence[Held]) -> str:
    """The page: how settings were chosen, and what they reach where they are tested."""
    parts = {"validation": _chosen, "test": _tested}
    blocks = ["# What a query is a part of, and its family", f"```sh\n{COMMAND}\n```"]
    for each in held:
        blocks += [f"## {each.capitalize()}", *parts[each](AtlasQueries(each))]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Measure both and write the page.

    Args:
        results: Directory that gets ``part_of.md``.
    """
    text = as_markdown(("validation", "test"))
    keep_page(results, "part_of.md", text)


def _chosen(asking: AtlasQueries) -> Iterator[str]:
    """Validation: what else could have been chosen, one setting at a time."""
    changed, wholes = list(asking.changed()), list(asking.wholes())
    comparisons = compare_all([*changed, *wholes])
    yield _INTRODUCTION
    for name, settings in _SETTINGS.items():
        yield _parts_by_setting(name, [(setting, comparisons) for setting in settings])
    radii = [(_CHOSEN, comparisons)]
    for radius in _OTHER_RADII:
        again = compare_all([*changed, *wholes], radius)
        radii.append((replace(_CHOSEN, radius=radius), again))
    yield _parts_by_setting("radius", sorted(radii, key=lambda pair: pair[0].radius))
    yield from _parts_by_kind(comparisons)
    votes = vote_all([*changed, *wholes, *asking.of_new_families()])
    yield _FAMILIES
    thresholds = [(agreement, MIN_SCORE) for agreement in _AGREEMENTS]
    thresholds += [(MIN_AGREEMENT, score) for score in _SCORES if score != MIN_SCORE]
    yield _families_by_threshold(votes, thresholds)


def _tested(asking: AtlasQueries) -> Iterator[str]:
    """Test: the setting that was chosen."""
    changed, wholes = list(asking.changed()), list(asking.wholes())
    yield from _parts_by_kind(compare_all([*changed, *wholes]))
    votes = vote_all([*changed, *wholes, *asking.of_new_families()])
    yield _families_by_threshold(votes, [(MIN_AGREEMENT, MIN_SCORE)])


def _all_parts(comparisons: Compared) -> Sequence[Sequence[Comparison]]:
    return [query for kind, queries in comparisons.items() if kind != WHOLE for query in queries]


def _parts_by_setting(name: str, asked: Iterable[tuple[Setting, Compared]]) -> str:
    """All parts together, and the false alarms, a line a setting."""
    lines = []
    for setting, comparisons in asked:
        parts = part_shares(_all_parts(comparisons), setting)
        wholes = part_shares(comparisons[WHOLE], setting)
        lines.append([str(getattr(setting, name)), *_cells(parts), _shown(wholes.any)])
    return markdown_table((name, *_PARTS, "false alarms"), lines)


def _parts_by_kind(comparisons: Compared) -> Iterator[str]:
    """The chosen setting, a line a kind of part; all parts; wholes."""
    yield f"Chosen: {_CHOSEN}."
    rows = {**comparisons, "all parts": _all_parts(comparisons)}
    rows[WHOLE] = rows.pop(WHOLE)
    lines = [[kind, *_cells(part_shares(queries, _CHOSEN))] for kind, queries in rows.items()]
    yield markdown_table(("kind", *_PARTS), lines)


def _cells(what: PartShares) -> list[str]:
    shares = (what.reached, what.contained, what.named, what.kin, what.any)
    return [f"{what.queries:,}", *map(_shown, shares)]


def _families_by_threshold(
    votes: Mapping[str, Sequence[FamilyVote]], settings: Iterable[tuple[float, float]]
) -> str:
    """A line a pair of thresholds and kind of query."""
    lines = []
    for setting in settings:
        for kind, each in votes.items():
            told = family_shares(each, *setting)
            right = "" if kind == NEW else _shown(told.right)
            lines.append(
                [*map(str, setting), kind, f"{told.queries:,}", _shown(told.speaks), right]
            )
    header = ("min_agreement", "min_score", "kind", "queries", "speaks", "right")
    return markdown_table(header, lines)


def _shown(share: float) -> str:
    return f"{share:.3f}"
