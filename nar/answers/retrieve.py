"""Retriever: queries go in, ranked relatives come out (paper, Eq. 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from nar.answers.answer import RANKED, Graphs, NoGraphs, answer_all
from nar.answers.novelty import Novelty
from nar.answers.query import Answer, Query, Target, in_place
from nar.answers.wrapping import TakenOff, Unwrapped, Wrapped, unwrapped
from nar.base.errors import InvalidQueryError, NarError, UnknownArchitectureError
from nar.graphs.architecture import Architecture, architecture, place_of_name
from nar.graphs.by import By
from nar.graphs.fingerprints import (
    Fingerprinted,
    HasFingerprints,
    Sameness,
    fingerprinted,
    sameness,
)
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import EVERYTHING, Filter
from nar.index.ranking import (
    MAX_TOP_K,
    Search,
    check_filter,
    check_top_k,
    check_vector,
    check_vectors,
    rank,
)
from nar.index.rows import Hit, IndexRow

if TYPE_CHECKING:
    from nar.answers.origin import OriginQuery

# Chosen: hits that are searched for, for each network that is wanted: libraries repeat each other.
# Where that was too few, so many times more.
_COPIES: Final = 10
_WIDER: Final = 10  # three such steps lead from ten hits to the widest search, of MAX_TOP_K
_exact_of: Final = attrgetter("exact")
_RANKED_AGAIN: Final = frozenset[By]({"copy", "origin"})


class Embeds(Protocol):
    """What a Retriever needs of an embedder."""

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Shape (graphs, dim), of length 1."""

    def weights(self, by: By) -> NDArray[np.float32]:
        """What a query's vector is multiplied with, for each kind of search: shape (dim,)."""


class Searches(Protocol):
    """What a Retriever needs of an index: an `ArchitectureIndex`, an `ExactIndex` or a `Reader`."""

    @property
    def dim(self) -> int:
        """Length of the vectors."""

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id."""

    def find_by_fingerprint(
        self, *, topologies: Sequence[str] = (), inferences: Sequence[str] = ()
    ) -> list[IndexRow]:
        """Rows with any of these topology or inference fingerprints, by id."""

    def search_all(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """The nearest rows of each search."""


Same = dict[Sameness, tuple[Hit, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Resolved:
    """A query whose vector is known; fingerprints and own id as far as its target has them.

    ``is_beside``: parts of the answer to another query need its hits.
    """

    query: Query
    vector: NDArray[np.float32]
    network: HasFingerprints | None = None
    own_id: str | None = None
    is_beside: bool = False

    @property
    def is_ranked_again(self) -> bool:
        """Whether a second stage ranks its first hits; parts rank theirs where they are made."""
        return self.query.by in _RANKED_AGAIN and not self.is_beside


class Retriever:
    """Answers queries from an index; safe to share between threads, if the embedder is.

    Args:
        embedder: Turns graphs into vectors of the index's encoder.
        index: Holds the known architectures.
        novelty: How far the known architectures are from each other, if that was measured.
        graphs: Has their graphs; without it, the parts of an answer that compare graphs are not
            made.
        max_nodes: Bound on the nodes of the graphs that one call compares; None for any number.
        max_hits: Bound on the hits of a query that counts networks.
    """

    def __init__(
        self,
        embedder: Embeds,
        index: Searches,
        novelty: Novelty | None = None,
        graphs: Graphs | None = None,
        max_nodes: int | None = None,
        max_hits: int = MAX_TOP_K,
    ) -> None:
        self.embedder = embedder
        self.index = index
        self.novelty = novelty
        self.graphs = graphs or NoGraphs()
        self.max_nodes = max_nodes
        self.max_hits = max_hits

    def search(self, target: Target, *, top_k: int = 10, wanted: Filter | None = None) -> Answer:
        """Answer one query for so many networks; see `answer`."""
        return self.answer(Query(target, top_k, wanted or Filter(), counted="networks"))

    def answer(self, query: Query) -> Answer:
        """Answer one query.

        Raises:
            UnknownArchitectureError: No architecture of that name or id is indexed.
            InvalidQueryError: Names the field of the query at fault.
        """
        [answer] = self.answers([query])
        return answer

    def answers(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer queries together, as `search_all` does.

        Raises:
            UnknownArchitectureError: No architecture of a name or id is indexed.
            InvalidQueryError: Names the field of a query at fault.
        """
        answers = []
        for outcome in self.search_all(queries):
            if isinstance(outcome, NarError):
                raise outcome
            answers.append(outcome)
        return answers

    def search_all(self, queries: Sequence[Query]) -> list[Answer | NarError]:
        """Answer queries together: one batch embeds each graph once, equal searches run as one.

        Returns:
            For each query its answer, or the error that `answer` would raise: a query at fault
            leaves the others alone.

        Raises:
            IndexUnavailableError: The index cannot be reached, which concerns all queries.
        """
        behind = self._unwrapped(queries)
        asked = list(queries)
        for position, each in behind.items():
            target = _without_wrapping(asked[position].target, each)
            asked[position] = replace(asked[position], target=target)
        answers = answer_all(
            asked, self._find, self.graphs, self.index.get, self.max_nodes, self._copies
        )
        for position, each in behind.items():
            answer = answers[position]
            if isinstance(answer, Answer):
                answers[position] = _as_wrapped(answer, each.taken_off)
        return answers

    def _unwrapped(self, queries: Sequence[Query]) -> dict[int, Unwrapped]:
        """What is known behind wrappings, by position of the query."""
        networks = {
            position: fingerprinted(query.target)
            if isinstance(query.target, ComputationalGraph)
            else query.target
            for position, query in enumerate(queries)
            if query.has_verdict
            and isinstance(query.target, Architecture | Fingerprinted | ComputationalGraph)
        }
        if not networks:
            return {}
        found = unwrapped(list(networks.values()), self.index.find_by_fingerprint)
        return {position: each for position, each in zip(networks, found, strict=True) if each}

    def _find(self, queries: Sequence[Query], further: Sequence[Query]) -> list[Answer | NarError]:
        """The hits of queries, what is the same, and their novelty: one look-up and one search.

        Args:
            queries: The queries.
            further: What their parts need.
        """
        outcomes = [
            replace(one, is_beside=True)
            if isinstance(one, _Resolved) and position >= len(queries)
            else one
            for position, one in enumerate(self._resolve([*queries, *further]))
        ]
        resolved = [one for one in outcomes if isinstance(one, _Resolved)]
        same = self._same(resolved)
        beside = self._beside(resolved, same)
        hits = self._search([*resolved, *beside.values()])
        nearest = dict(enumerate(hits[: len(resolved)])) | dict(
            zip(beside, hits[len(resolved) :], strict=True)
        )
        answers = [
            self._one_answer(one, known, hits[position], nearest[position])
            for position, (one, known) in enumerate(zip(resolved, same, strict=True))
        ]
        return in_place(outcomes, answers)

    def _resolve(self, queries: Sequence[Query]) -> list[_Resolved | NarError]:
        """The vector of each query, or its error."""
        faults = [self._fault(query) for query in queries]
        targets = [query.target for query, fault in zip(queries, faults, strict=True) if not fault]
        graphs = {id(graph): graph for graph in map(_graph, targets) if graph is not None}
        names = [target for target in targets if isinstance(target, str)]
        embedded = self.embedder.embed(list(graphs.values())) if graphs else ()
        vectors = dict(zip(graphs, embedded, strict=True))
        rows = self.index.get(names) if names else {}
        return [
            fault or _resolve_one(query, vectors, rows)
            for query, fault in zip(queries, faults, strict=True)
        ]

    def _fault(self, query: Query) -> InvalidQueryError | None:
        """What is wrong with a query, independent of what is indexed."""
        try:
            check_top_k(query.top_k)
            check_filter(query.filter)
            if isinstance(query.target, np.ndarray):
                check_vector(query.target, self.index.dim, "target")
        except InvalidQueryError as error:
            return error
        return None

    def _one_answer(
        self, one: _Resolved, known: Same, hits: Sequence[Hit], nearest: Sequence[Hit]
    ) -> Answer:
        """Hits, and the verdict where enough of the target was read."""
        query = one.query
        answer = Answer(tuple(self._shown(one, hits)), assumed=query.assumed, unread=query.unread)
        if not query.has_verdict:
            return answer
        novelty = None
        if self.novelty is not None:
            is_same = any(known.values()) or not nearest
            novelty = 0.0 if is_same else self.novelty.percentile(nearest[0].score)
        return replace(
            answer,
            same_network=known["network"],
            same_at_inference=known["inference"],
            same_design=known["design"],
            novelty=novelty,
        )

    def _beside(self, resolved: Sequence[_Resolved], same: Sequence[Same]) -> dict[int, _Resolved]:
        """Searches for novelty, by position, of queries with a filter or another `by`."""
        beside: dict[int, _Resolved] = {}
        if self.novelty is None:
            return beside
        for position, (one, known) in enumerate(zip(resolved, same, strict=True)):
            is_chosen = one.query.by != "design" or one.query.filter != EVERYTHING
            if is_chosen and not any(known.values()):
                beside[position] = replace(one, query=Query(one.query.target, 1))
        return beside

    def _search(self, asked: Sequence[_Resolved]) -> list[list[Hit]]:
        """The hits of all queries, from one call to the index; no query is its own hit.

        A query for networks whose first hits are copies of fewer, or one for origins whose first
        hits are of its own family, is searched for again, wider.
        """
        widths = [self._width(one) for one in asked]
        found = self._nearest(asked, widths)
        while short := [
            position
            for position, one in enumerate(asked)
            if widths[position] < self.max_hits
            and len(found[position]) == widths[position]
            and self._left(one, found[position]) < one.query.top_k
        ]:
            for position in short:
                widths[position] = min(_WIDER * widths[position], self.max_hits)
            again = self._nearest(
                [asked[position] for position in short], [widths[position] for position in short]
            )
            found = [*found]
            for position, hits in zip(short, again, strict=True):
                found[position] = hits
        share = None
        if self.max_nodes is not None:
            share = self.max_nodes // max(sum(one.is_ranked_again for one in asked), 1)
        return [
            _first(one.query, self._in_order(one, hits, share))
            for one, hits in zip(asked, found, strict=True)
        ]

    def _left(self, one: _Resolved, hits: Sequence[Hit]) -> int:
        """How many hits, or networks, are left where a query's own design is left out."""
        if one.query.by == "origin":
            own = self._own(one, hits)
            hits = [hit for hit in hits if not own.is_of(hit)]
        return len(hits) if one.query.counted == "hits" else len(_networks(hits))

    def _width(self, one: _Resolved) -> int:
        """How many hits are searched for at first."""
        width = one.query.top_k
        if one.query.counted == "networks":
            width = min(_COPIES * width, self.max_hits)
        return max(width, RANKED) if one.is_ranked_again else width

    def _in_order(
        self, one: _Resolved, hits: Sequence[Hit], max_nodes: int | None
    ) -> Sequence[Hit]:
        """Hits in the order in which they are shown."""
        if one.query.by == "origin":
            return self._origins(one, hits, max_nodes)
        if one.is_ranked_again:
            graph = self._graph_of(one)
            return hits if graph is None else self._copies(graph, hits, max_nodes)
        # An index orders equal scores by id. As many hits as are asked for stay so: were they
        # ordered anew, a longer list would not begin as a shorter one. Names of one network stand
        # in one row, whose name is chosen there.
        if one.query.counted == "networks":
            for hit, after in pairwise(hits):
                if (
                    hit.score == after.score
                    and hit.family != after.family
                    and hit.exact != after.exact
                ):
                    from nar.answers.origin import oldest_first

                    return oldest_first(hits)
        return hits

    def _origins(self, one: _Resolved, hits: Sequence[Hit], max_nodes: int | None) -> Sequence[Hit]:
        """What a query may have been made from."""
        from nar.answers.origin import origins

        return origins(self._own(one, hits), hits, self.graphs, max_nodes)

    def _copies(
        self, graph: ComputationalGraph, hits: Sequence[Hit], max_nodes: int | None
    ) -> Sequence[Hit]:
        """What a graph may be a copy, a change or a part of."""
        from nar.answers.known_codes import ranked_again

        return ranked_again(graph, hits, self.graphs, max_nodes)

    def _graph_of(self, one: _Resolved) -> ComputationalGraph | None:
        """The graph of a query, or of the row that it names; None where nobody has it."""
        row = one.network
        if not isinstance(row, IndexRow):
            return _graph(one.query.target)
        known = self.graphs.graphs([row.name], [row.source])
        return next((item.graph for item in known.values()), None)

    def _own(self, one: _Resolved, hits: Sequence[Hit]) -> "OriginQuery":
        """What of the hits is the query's own family or design; the graph is the query's."""
        from nar.answers.origin import OriginQuery

        network = one.network
        topologies = frozenset([network.topology] if network else [])
        families = {hit.family for hit in hits if hit.topology in topologies}
        if isinstance(network, IndexRow):
            families.add(network.family)
        return OriginQuery(self._graph_of(one), frozenset(families), topologies)

    def _nearest(self, asked: Sequence[_Resolved], widths: Sequence[int]) -> list[list[Hit]]:
        own_ids = [one.own_id for one in asked]
        own = any(own_ids)
        searches = [
            Search(self._weighed(one), min(width + own, MAX_TOP_K), one.query.filter)
            for one, width in zip(asked, widths, strict=True)
        ]
        return [
            (hits if own_id is None else [hit for hit in hits if hit.id != own_id])[:width]
            for own_id, width, hits in zip(
                own_ids, widths, self.index.search_all(searches), strict=True
            )
        ]

    def _weighed(self, one: _Resolved) -> NDArray[np.float32]:
        """The vector to search by: the query's, weighed for the kind of search."""
        weighed = one.vector * self.embedder.weights(one.query.by)
        # A design may lack every component that a search weighs: then its whole vector is used.
        return weighed if weighed.any() else one.vector

    def _shown(self, one: _Resolved, hits: Sequence[Hit]) -> list[Hit]:
        """Hits with the scores that people see: a copy has 1 in every kind of search."""
        weighed = self._weighed(one)
        if np.array_equal(weighed, one.vector):
            return list(hits)
        copy = _cosine(weighed, one.vector)
        if one.query.by == "design":
            # A component with a weight above 1 must not move a design away from rows in which that
            # component is zero: these rows keep their cosine.
            copy = min(copy, float(np.linalg.norm(one.vector) / np.linalg.norm(weighed)))
        return [hit.hit(min(hit.score / copy, 1.0)) for hit in hits]

    def _same(self, resolved: Sequence[_Resolved]) -> list[Same]:
        """What is the same as each query, in one way or another."""
        networks = [one.network for one in resolved if one.network]
        rows: dict[str, list[IndexRow]] = {}
        if networks:
            indexed = self.index.find_by_fingerprint(
                topologies=sorted({network.topology for network in networks}),
                inferences=sorted({network.inference for network in networks}),
            )
            for row in indexed:
                rows.setdefault(row.topology, []).append(row)
                rows.setdefault(row.inference, []).append(row)
        return [_same_as(one, rows) for one in resolved]


def _without_wrapping(target: Target, behind: Unwrapped) -> Target:
    """The target of a query without its wrapping, under its own name."""
    network = behind.network
    return architecture(target.labels, network) if isinstance(target, Architecture) else network


def _as_wrapped(answer: Answer, taken_off: tuple[TakenOff, ...]) -> Answer:
    """The answer about what is behind a wrapping as one about the network with its wrapping."""
    same: Mapping[Sameness, tuple[Hit, ...]] = {
        "network": answer.same_network,
        "inference": answer.same_at_inference,
        "design": answer.same_design,
    }
    wrapped = next((Wrapped(kind, hits, taken_off) for kind, hits in same.items() if hits), None)
    return replace(answer, same_network=(), same_at_inference=(), same_design=(), wrapped=wrapped)


def _first(query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that a query asks for, of all that were found."""
    if query.counted == "hits":
        return list(hits[: query.top_k])
    networks = set(_networks(hits)[: query.top_k])
    return [hit for hit in hits if hit.exact in networks]


def _networks(hits: Sequence[Hit]) -> list[str]:
    """The fingerprint of each network among the hits, in their order."""
    return list(dict.fromkeys(map(_exact_of, hits)))


def unknown(name: str) -> UnknownArchitectureError:
    """The error of a name or id that nothing in the index has."""
    return UnknownArchitectureError(f"no architecture of the name or id {name!r} is indexed")


def _graph(target: Target) -> ComputationalGraph | None:
    if isinstance(target, Architecture | Fingerprinted):
        return target.graph
    return target if isinstance(target, ComputationalGraph) else None


def _resolve_one(
    query: Query, vectors: Mapping[int, NDArray[np.float32]], rows: dict[str, IndexRow]
) -> _Resolved | NarError:
    """A query that is not at fault, with the vectors of graphs by identity, and rows by name."""
    match query.target:
        case Architecture() | Fingerprinted() as item:
            return _Resolved(query, vectors[id(item.graph)], item)
        case IndexRow() as known:
            return _Resolved(query, known.embedding, known)
        case ComputationalGraph() as graph:
            return _Resolved(query, vectors[id(graph)], fingerprinted(graph))
        case str(name):
            row = rows.get(name)
            if row is None:
                return unknown(name)
            return _Resolved(query, row.embedding, row, row.id)
        case vector:
            # Weighed as it came, the largest and smallest numbers would leave the range of a float.
            [direction] = check_vectors(vector[None], len(vector))
            return _Resolved(query, direction)


def _same_as(one: _Resolved, rows: Mapping[str, Sequence[IndexRow]]) -> Same:
    """What is the same as a query, the nearest first; of equally near ones, the best known.

    Args:
        one: The query.
        rows: Rows of the index, by topology and by inference fingerprint.
    """
    same: Same = {"network": (), "inference": (), "design": ()}
    network = one.network
    if network is None:
        return same
    scored: dict[str, Hit] = {}
    for row in (*rows.get(network.topology, ()), *rows.get(network.inference, ())):
        if row.id != one.own_id and row.id not in scored:
            scored[row.id] = row.hit(_cosine(one.vector, row.embedding))
    ordered = rank([*scored.values()], len(scored), complete=True) or []
    for hit in sorted(ordered, key=lambda hit: (-hit.score, place_of_name(hit.name))):
        kind = sameness(network, hit)
        if kind:
            same[kind] += (hit,)
    return same


def _cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    left_exact, right_exact = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(left_exact) * np.linalg.norm(right_exact)
    return float(left_exact @ right_exact / lengths)
