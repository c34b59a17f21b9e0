"""How often the original of a part is named, and how often a whole is called a part."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmark.evidence.asked import DEPTH, Asked, sources_of
from benchmark.protocol.asking import EDITS
from nar.answers.part_of import MIN_SHARE, RADIUS, Reading, Whole, compared, in_order, reading
from nar.corpus import Corpus, shipped_corpus
from nar.graphs.graph import ComputationalGraph


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
class Said:
    """What is said of the queries of one kind, in shares of them.

    Attributes:
        queries: How many there are.
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


def compare_all(asked: Iterable[Asked], radius: int = RADIUS) -> Compared:
    """Compare every query but edits with its first hits.

    Returns:
        Kind of query -> for each query its hits.
    """
    asking = [one for one in asked if one.graph is not None and one.kind != EDITS]
    names = {hit.name for one in asking for hit in one.compared(DEPTH)}
    corpus = Corpus(shipped_corpus()).graphs(sorted(names), sources_of(names))
    known = {name: reading(item.graph, radius) for name, item in corpus.items()}
    compared_by_kind: defaultdict[str, list[list[Comparison]]] = defaultdict(list)
    for one in asking:
        compared_by_kind[one.kind].append(list(_comparisons(one, known, radius)))
    return compared_by_kind


def _comparisons(one: Asked, known: Mapping[str, Reading], radius: int) -> Iterator[Comparison]:
    assert isinstance(one.graph, ComputationalGraph)
    query = reading(one.graph, radius)
    ranks = [
        {hit.name: rank for rank, hit in enumerate(hits)} for hits in (one.by_copy, one.by_design)
    ]
    for hit in one.compared(DEPTH):
        rank = min(rank.get(hit.name, DEPTH) for rank in ranks)
        whole = Whole(hit.name, compared(query, known[hit.name]))
        own = one.original
        yield Comparison(rank, hit.exact == own.exact, hit.family == own.family, whole)


def said(queries: Sequence[Sequence[Comparison]], setting: Setting) -> Said:
    """What is said of queries of one kind, that were compared with the radius of the setting."""
    told = [_said_of_one(comparisons, setting) for comparisons in queries]
    return Said(len(queries), *(fmean(column) for column in zip(*told, strict=True)))


def _said_of_one(comparisons: Sequence[Comparison], setting: Setting) -> tuple[bool, ...]:
    """Of one query: the shares of `Said`, in their order."""
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
