"""The one place where an answer is made: hits are found, then each part that the query asks for.

::

    queries ── answer_all ─┬─ find: one search for all queries and for what their parts need
                           └─ one row of _MAKERS for each part ──> Answer

A further part is a field of `nar.answers.query.Answer`, a row of `_MAKERS`, a sentence in
`nar.answers.words`, and a message of the contract.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol

from nar.answers.bodies import (
    Dissected,
    SharedBody,
    differing,
    same_but_for_widths,
    shared_bodies,
)
from nar.answers.comparison import edits_between
from nar.answers.coverage import Coverage, coverage, shipped_codes
from nar.answers.difference import Changes, Cut, Explanation, motif_difference
from nar.answers.part_of import Whole, wholes_of
from nar.answers.query import PARTS, Answer, Part, Query
from nar.answers.verdict import HITS, FamilyVerdict, Resemblance, family_verdict, resemblance
from nar.base.errors import NarError
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.graphs.fingerprints import Fingerprinted, Network, design_change, fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.graphs.normal_form import normal_form
from nar.index.rows import Hit, IndexEntry, IndexRow

if TYPE_CHECKING:
    from nar.answers.design_card import DesignCard

# The first hits that are compared with the query, node by node. Chosen on validation data
# (`results/part_of.md`): more hits find more originals, and cost more graphs to read.
COMPARED: Final = 20
# Chosen: networks that are explained; a person reads no more explanations at once.
EXPLAINED: Final = 3
# Hits of each answer that may cover the query. Chosen: the normal form of a hit takes 3 to 15 ms,
# and the nearest by copy or by design mostly covers most.
COVERING: Final = 1
# Hits by copy that are ranked once more. Chosen: more cost more, and on validation data the
# original stands among so many for nearly all (`results/pairs.md`).
RANKED: Final = 100
# Hits of the searches that parts need besides the query. They run without its filter, which would
# hide needed hits.
_TOP_K: Final[Mapping[By, int]] = {
    "design": COMPARED,
    "copy": RANKED,
    "family": HITS,
    "trunk": HITS,
}

_name_of: Final = attrgetter("name")
_source_of: Final = attrgetter("source")

Find = Callable[[Sequence[Query], Sequence[Query]], list[Answer | NarError]]
Rows = Callable[[Sequence[str]], Mapping[str, IndexRow]]
Again = Callable[[ComputationalGraph, Sequence[Hit], int | None], Sequence[Hit]]


class Graphs(Protocol):
    """Has the graphs of hits: a `Corpus`, or a `CorpusGraphs`, which keeps some in memory."""

    def graphs(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, Architecture]:
        """Architectures by name; names without a graph are left out."""

    def backbones(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, str]:
        """Families of the encoders that composed models stand on, by name."""


class NoGraphs:
    """`Graphs` where there are none: answers are made of hits alone."""

    def graphs(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, Architecture]:
        """None."""
        return {}

    def backbones(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, str]:
        """None."""
        return {}


def answer_all(
    queries: Sequence[Query],
    find: Find,
    graphs: Graphs,
    rows: Rows,
    max_nodes: int | None = None,
    again: Again = lambda _graph, hits, _max_nodes: hits,
) -> list[Answer | NarError]:
    """Answer queries together, each with the parts that it asks for.

    Args:
        queries: The queries.
        find: Finds, for all queries at once and for those that their parts need, hits and what is
            the same as each.
        graphs: Has the graphs of hits.
        rows: Rows of the index by name or id.
        max_nodes: Bound on the nodes of all graphs that are compared; None for any number.
        again: Ranks the hits by copy of a graph once more, within such a bound.

    Returns:
        For each query its answer, or its error.
    """
    queries = [query if query.has_verdict else _without_parts(query) for query in queries]
    wanted = [query.parts | query.parts_if_new for query in queries]
    beside = [
        # Searches of one length run as one.
        Query(query.target, max(_TOP_K[by], RANKED if by == "design" else 0), by=by)
        for query, parts in zip(queries, wanted, strict=True)
        for by in _searches(parts)
    ]
    found = find(queries, beside)
    further = iter(found[len(queries) :])
    reading = len([parts for parts in wanted if parts & READING])
    share = None if max_nodes is None else max_nodes // max(reading, 1)
    answers = []
    for query, parts, answer in zip(queries, wanted, found, strict=False):
        near: dict[By, tuple[Hit, ...]] = {}
        for by in _searches(parts):
            each = next(further)
            if isinstance(each, Answer):
                near[by] = each.hits[: _TOP_K[by]]
        if isinstance(answer, Answer) and parts:
            answer = _Making(query, answer, near, graphs, rows, share, again).complete()
        answers.append(answer)
    return answers


def _without_parts(query: Query) -> Query:
    """The question for hits alone, of what was read by less than half."""
    return replace(query, parts=frozenset(), parts_if_new=frozenset())


def compared_hits(
    by_copy: Sequence[Hit], by_design: Sequence[Hit], count: int = COMPARED
) -> list[Hit]:
    """The first hits of both answers, each once; hits by copy come first and win a tie.

    Args:
        by_copy: Hits by copy, nearest first.
        by_design: Hits by design, nearest first.
        count: How many hits of each answer are taken.
    """
    hits = [*by_copy[:count], *by_design[:count]]
    return list({hit.name: hit for hit in hits}.values())


def explanation_of(cut: Cut, dissected: Dissected, other: Architecture) -> Explanation:
    """Why a network is near: what it shares with a query, and where the two differ.

    Args:
        cut: The query, cut into motifs.
        dissected: The same query, with embedding, body and head told apart.
        other: The network.
    """
    differs = differing(dissected, Dissected(other))
    return Explanation(other.labels.name, motif_difference(cut, Cut(other)), differs)


def change_of(known: Architecture, own: Network) -> Changes:
    """How a known network becomes another one.

    Args:
        known: The known network.
        own: The other one.
    """
    design = None
    if known.topology == own.topology:
        design = design_change(known.graph, own.graph)
    elif same_but_for_widths(known.graph, own.graph):
        design = design_change(normal_form(known.graph), normal_form(own.graph))
    return Changes(known.labels.name, edits_between(known.graph, own.graph), design)


def explained_names(answer: Answer, networks: Iterable[str]) -> list[str]:
    """Names that an explanation compares a query with: near networks, a whole, and a shared body.

    Args:
        answer: The answer with its other parts.
        networks: Names of the first networks among its hits.
    """
    wholes = [whole.name for whole in (answer.part_of or ())[:1]]
    bodies = [body.name for body in (answer.bodies or ())[:1]]
    return list(dict.fromkeys([*networks, *wholes, *bodies]))


@dataclass(eq=False)
class _Making:
    """One answer in the making; what several parts need is computed once.

    Attributes:
        query: The query.
        answer: Its hits, what is the same, its novelty; then its parts, too.
        near: Hits of the further searches of its parts.
        graphs: Has the graphs of hits.
        rows: Rows of the index.
        max_nodes: Nodes of the graphs that are compared; None for any number.
        again: Ranks hits by copy once more.
    """

    query: Query
    answer: Answer
    near: Mapping[By, tuple[Hit, ...]]
    graphs: Graphs
    rows: Rows
    max_nodes: int | None
    again: Again

    def complete(self) -> Answer:
        """The answer with the parts that the query asks for."""
        wanted = self.query.parts
        if not self.answer.is_known:
            wanted |= self.query.parts_if_new
        for part in _IN_ORDER:
            if part in wanted:
                made: dict[str, Any] = {part: _MAKERS[part].make(self)}
                self.answer = replace(self.answer, **made)
                if part == "bodies":
                    self.answer = self._known_at_inference()
        if wanted & _COMPARING and self._network:
            self.answer = replace(self.answer, compared=len(self._compared))
        return self.answer

    def _known_at_inference(self) -> Answer:
        """The answer, with the designs that the query has but for widths once norms are folded.

        No index has fingerprints of such designs. They have the body of the query, exactly, so that
        they are among the networks whose bodies were found.
        """
        own = self._network
        if own is None or self.answer.is_known or not self.answer.bodies:
            return self.answer
        hits = {hit.name: hit for each in self.near.values() for hit in each}
        same = [
            hits[body.name]
            for body in self.answer.bodies
            if same_but_for_widths(own.graph, self._compared[body.name].graph)
        ]
        if not same:
            return self.answer
        novelty = None if self.answer.novelty is None else 0.0
        return replace(self.answer, same_design=tuple(same), novelty=novelty)

    def resemblance(self) -> Resemblance:
        """What the query is like, by its own graph, its body and what contains it, too."""
        return resemblance(
            self.near["design"],
            self.near["copy"],
            bodies=self.answer.bodies or (),
            wholes=self.answer.part_of or (),
            graph=self._network.graph if self._network else None,
        )

    def family(self) -> FamilyVerdict:
        """Of a composed model, the family of its decoder."""
        return family_verdict(self.near["family" if self._is_composed else "design"])

    def trunk(self) -> FamilyVerdict | None:
        """The family of the encoder of a composed model."""
        if not self._is_composed:
            return None
        return family_verdict(
            self.near["trunk"],
            lambda hit: self._backbones.get(hit.name) or hit.family,
            joins=False,
        )

    def wholes(self) -> tuple[Whole, ...] | None:
        """What the query is a part of."""
        if self._network is None:
            return None
        known = {name: item.graph for name, item in self._compared.items()}
        return wholes_of(self._network.graph, known)

    def bodies(self) -> tuple[SharedBody, ...] | None:
        """Which hits have the body of the query."""
        return shared_bodies(self._network, self._compared) if self._network else None

    def changes(self) -> tuple[Changes, ...] | None:
        """How what is most like the query becomes it."""
        if self._network is None:
            return None
        names = self._changed_names()
        if not names:
            return ()
        hits = {hit.name: hit for hit in (*self.answer.hits, *self.answer.same_design)}
        hits |= {hit.name: hit for each in self.near.values() for hit in each}
        known = self._read([hits[name] for name in names if name in hits])
        return tuple(change_of(each, self._network) for each in known.values())

    def _changed_names(self) -> Sequence[str]:
        """Names of the networks that are most like the query."""
        answer = self.answer
        if answer.same_network or answer.same_at_inference or answer.wrapped:
            return ()
        if answer.same_design:
            return [answer.same_design[0].name]
        told = answer.resemblance
        like = told.name if told and told.word == "variant" else ""
        nearest = [hit.name for hit in (*self._by_copy, *self.near["design"])[:1]]
        bodies = [body.name for body in (answer.bodies or ())[:1]]
        return list(dict.fromkeys([*([like] if like else nearest), *bodies]))

    def coverage(self) -> Coverage | None:
        """How much of the query stands in no known architecture."""
        known = shipped_codes()
        if self._network is None or known is None:
            return None
        hits = compared_hits(self._by_copy, self.near["design"], COVERING)
        near = {name: item.graph for name, item in self._read(hits).items()}
        return coverage(self._network.graph, known, near)

    def shared(self) -> tuple[Explanation, ...] | None:
        """Why the first networks are near."""
        if self._network is None:
            return None
        networks: dict[str, Hit] = {}
        for hit in self.answer.hits:
            if hit.name == self._name or hit.exact not in networks:
                networks[hit.exact] = hit
        first = [hit.name for hit in networks.values()][:EXPLAINED]
        names = explained_names(self.answer, first)
        hits = {hit.name: hit for each in self.near.values() for hit in each}
        hits |= {hit.name: hit for hit in self.answer.hits}
        others = self._read([hits[name] for name in names])
        cut, dissected = Cut(self._network), Dissected(self._network)
        return tuple(explanation_of(cut, dissected, item) for item in others.values())

    def card(self) -> "DesignCard | None":
        """What the query is made of."""
        from nar.answers.design_card import design_card

        if self._network is None:
            return None
        details = self._network.details if isinstance(self._network, Architecture) else None
        return design_card(self._network.graph, details)

    @property
    def _name(self) -> str:
        """Name of the query; a graph or a vector has an empty one."""
        match self.query.target:
            case str(name) | IndexRow(name=name):
                return name
            case Architecture() as item:
                return item.labels.name
        return ""

    @cached_property
    def _network(self) -> Network | None:
        """The query with its graph; None where it has none."""
        match self.query.target:
            case Architecture() | Fingerprinted() as item:
                return item
            case ComputationalGraph() as graph:
                return fingerprinted(graph)
            case IndexRow() as row:
                return self._read([row]).get(row.name)
            case str(name):
                rows = [*self.rows([name]).values()]
                return next(iter(self._read(rows).values()), None)
        return None

    @cached_property
    def _by_copy(self) -> Sequence[Hit]:
        """The hits by copy, ranked once more; of a network that is known, no original is sought."""
        near, network = self.near["copy"], self._network
        if network is None or self.answer.same_network:
            return near
        return self.again(network.graph, near, self.max_nodes)

    @cached_property
    def _compared(self) -> Mapping[str, Architecture]:
        """The nearest hits with their graphs.

        A copy of the query's design is neither a whole that it is a part of nor a body with other
        ends, so that its graph says nothing more.
        """
        own = self._network
        hits = compared_hits(self._by_copy, self.near["design"])
        return self._read([hit for hit in hits if own and hit.topology != own.topology])

    @cached_property
    def _backbones(self) -> Mapping[str, str]:
        hits = (*self.near["design"][:HITS], *self.near["trunk"])
        return self.graphs.backbones(*_names_and_sources(hits))

    @cached_property
    def _is_composed(self) -> bool:
        """Whether most hits are a decoder on an encoder."""
        names, _ = _names_and_sources(self.near["design"][:HITS])
        composed = filter(None, map(self._backbones.get, names))
        return 2 * len([*composed]) > len(names)

    def _read(self, entries: Sequence[IndexEntry]) -> Mapping[str, Architecture]:
        """The graphs of rows, as far as there is room; graphs of another version are left out."""
        fitting, left = [], self.max_nodes
        for entry in entries:
            if left is not None:
                if entry.nodes > left:
                    continue
                left -= entry.nodes
            fitting.append(entry)
        items = self.graphs.graphs(*_names_and_sources(fitting)) if fitting else {}
        exact = {entry.name: entry.exact for entry in fitting}
        return {name: item for name, item in items.items() if item.exact == exact[name]}


@dataclass(frozen=True, slots=True)
class _Maker:
    """How a part of an answer is made.

    Attributes:
        searches: Further searches that the part needs.
        make: Makes the part.
    """

    searches: tuple[By, ...]
    make: Callable[[_Making], object]


_MAKERS: Final[Mapping[Part, _Maker]] = {
    "resemblance": _Maker(("design", "copy"), _Making.resemblance),
    "family": _Maker(("design", "family", "trunk"), _Making.family),
    "trunk": _Maker(("design", "family", "trunk"), _Making.trunk),
    "part_of": _Maker(("design", "copy"), _Making.wholes),
    "bodies": _Maker(("design", "copy"), _Making.bodies),
    "changes": _Maker(("design", "copy"), _Making.changes),
    "coverage": _Maker(("design", "copy"), _Making.coverage),
    "shared": _Maker((), _Making.shared),
    "card": _Maker((), _Making.card),
}
# What a design is like is said by the evidence of other parts; how it differs, of what it is like.
_LAST: Final = ("resemblance", "changes")
_IN_ORDER: Final = (*(part for part in PARTS if part not in _LAST), *_LAST)
_COMPARING: Final = frozenset[Part]({"part_of", "bodies"})
# Parts for which graphs of hits are read.
READING: Final = frozenset[Part]({*_COMPARING, "changes", "coverage", "shared"})


def _searches(parts: Collection[Part]) -> list[By]:
    """The further searches that some parts need, each once."""
    searches: dict[By, None] = {}
    for part in PARTS:
        if part in parts:
            searches |= dict.fromkeys(_MAKERS[part].searches)
    return list(searches)


def _names_and_sources(entries: Sequence[IndexEntry]) -> tuple[list[str], set[str]]:
    return list(map(_name_of, entries)), set(map(_source_of, entries))
