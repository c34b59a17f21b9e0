"""Retriever: queries go in, ranked relatives come out (paper, Eq. 1)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from nar.architecture import Architecture
from nar.by import By
from nar.errors import InvalidQueryError, NarError, UnknownArchitectureError
from nar.fingerprints import Fingerprinted, Known, Sameness, fingerprinted, sameness
from nar.graph import ComputationalGraph
from nar.index.filters import Filter
from nar.index.ranking import MAX_TOP_K, check_filter, check_top_k, check_vector, rank
from nar.index.rows import Hit, IndexRow
from nar.novelty import Novelty
from nar.query import Answer, Query, Target, in_place


class Embeds(Protocol):
    """What a Retriever needs of an embedder."""

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Shape (graphs, dim), of length 1."""

    def weights(self, by: By) -> NDArray[np.float32]:
        """What a query's vector is multiplied with, by what is asked for: shape (dim,)."""


class Searches(Protocol):
    """What a Retriever needs of an index: an `ArchitectureIndex` or an `ExactIndex`."""

    @property
    def dim(self) -> int:
        """Length of the vectors."""

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id."""

    def find_by_fingerprint(
        self, *, topologies: Sequence[str] = (), inferences: Sequence[str] = ()
    ) -> list[IndexRow]:
        """Rows of these designs, or with these normal forms, by id."""

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = ...
    ) -> list[list[Hit]]:
        """The nearest rows of each vector."""


Same = dict[Sameness, tuple[Hit, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Resolved:
    """A query whose vector is known; fingerprints and own id as far as its target has them."""

    query: Query
    vector: NDArray[np.float32]
    network: Known | None = None
    own_id: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether hits may be anything and share the whole design, as novelty has it."""
        return self.query.by == "design" and not any(True for _ in self.query.filter.conditions())


class Retriever:
    """Answers queries from an index; safe to share between threads, if the embedder is.

    Args:
        embedder: Turns graphs into vectors of the index's encoder.
        index: Holds the known architectures.
        novelty: How far these are from each other, if that was measured.
    """

    def __init__(self, embedder: Embeds, index: Searches, novelty: Novelty | None = None) -> None:
        self.embedder = embedder
        self.index = index
        self.novelty = novelty

    def search(self, target: Target, *, top_k: int = 10, wanted: Filter | None = None) -> Answer:
        """Answer one query; see `answer`."""
        return self.answer(Query(target, top_k, wanted or Filter()))

    def answer(self, query: Query) -> Answer:
        """Answer one query.

        Raises:
            UnknownArchitectureError: No architecture of that name or id is indexed.
            InvalidQueryError: Names the field of the query at fault.
        """
        [outcome] = self.search_all([query])
        if isinstance(outcome, NarError):
            raise outcome
        return outcome

    def search_all(self, queries: Sequence[Query]) -> list[Answer | NarError]:
        """Answer queries together: graphs are embedded in one batch, equal searches run as one.

        Returns:
            For each query its answer, or the error that `answer` would raise: a query at fault
            leaves the others alone.

        Raises:
            IndexUnavailableError: The index cannot be reached, which concerns all of them.
        """
        resolved = self._resolve(queries)
        answers = self._answer([one for one in resolved if isinstance(one, _Resolved)])
        return in_place(resolved, answers)

    def _resolve(self, queries: Sequence[Query]) -> list[_Resolved | NarError]:
        """The vector of each query, or its error."""
        faults = [self._fault(query) for query in queries]
        targets = [query.target for query, fault in zip(queries, faults, strict=True) if not fault]
        graphs = [graph for graph in map(_graph, targets) if graph is not None]
        names = [target for target in targets if isinstance(target, str)]
        vectors = iter(self.embedder.embed(graphs) if graphs else ())
        rows = self.index.get(names) if names else {}
        return [
            fault or _resolve_one(query, vectors, rows)
            for query, fault in zip(queries, faults, strict=True)
        ]

    def _fault(self, query: Query) -> InvalidQueryError | None:
        """What is wrong with a query, whatever is indexed."""
        try:
            check_top_k(query.top_k)
            check_filter(query.filter)
            if isinstance(query.target, np.ndarray):
                check_vector(query.target, self.index.dim, "target")
        except InvalidQueryError as error:
            return error
        return None

    def _answer(self, resolved: Sequence[_Resolved]) -> list[Answer]:
        hits = self._search([(one, one.query) for one in resolved])
        same = self._same(resolved)
        percentiles = self._percentiles(resolved, hits, same)
        return [
            Answer(
                tuple(mine),
                same_network=known["network"],
                same_at_inference=known["inference"],
                same_design=known["design"],
                novelty=percentile,
            )
            for mine, known, percentile in zip(hits, same, percentiles, strict=True)
        ]

    def _search(self, asked: Sequence[tuple[_Resolved, Query]]) -> list[list[Hit]]:
        """One call to the index for all queries of equal ``top_k``, filter and what is shared."""
        groups: dict[tuple[int, Filter, By], list[int]] = {}
        for position, (_, query) in enumerate(asked):
            groups.setdefault((query.top_k, query.filter, query.by), []).append(position)
        hits: list[list[Hit]] = [[] for _ in asked]
        for (top_k, wanted, by), positions in groups.items():
            group = [asked[position][0] for position in positions]
            own = any(one.own_id for one in group)
            vectors = np.stack([one.vector for one in group])
            answers = self._nearest(vectors, min(top_k + own, MAX_TOP_K), wanted, by)
            for position, one, nearest in zip(positions, group, answers, strict=True):
                hits[position] = [hit for hit in nearest if hit.id != one.own_id][:top_k]
        return hits

    def _nearest(
        self, vectors: NDArray[np.float32], top_k: int, wanted: Filter, by: By
    ) -> list[list[Hit]]:
        """The nearest rows by what is asked for; a copy has score 1 whatever that is."""
        if by == "design":
            return self.index.search(vectors, top_k, wanted)
        weighed = vectors * self.embedder.weights(by)
        # A vector that has nothing of what is asked for has a design all the same.
        weighed = np.where(weighed.any(axis=1, keepdims=True), weighed, vectors)
        answers = self.index.search(weighed, top_k, wanted)
        copies = [_cosine(*pair) for pair in zip(weighed, vectors, strict=True)]
        return [
            [replace(hit, score=min(hit.score / copy, 1.0)) for hit in hits]
            for hits, copy in zip(answers, copies, strict=True)
        ]

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
                for fingerprint in (row.topology, row.inference):
                    rows.setdefault(fingerprint, []).append(row)
        return [_same_as(one, rows) for one in resolved]

    def _percentiles(
        self, resolved: Sequence[_Resolved], hits: Sequence[list[Hit]], same: Sequence[Same]
    ) -> list[float | None]:
        """The novelty of each query: its first hit tells, unless something chose the hits."""
        if self.novelty is None:
            return [None] * len(resolved)
        new = [position for position, known in enumerate(same) if not any(known.values())]
        chosen = [position for position in new if not resolved[position].is_plain]
        plain = [(one, Query(one.query.target, 1)) for one in (resolved[each] for each in chosen)]
        nearest = {position: hits[position] for position in new}
        nearest |= dict(zip(chosen, self._search(plain), strict=True))
        percentiles: list[float | None] = [0.0] * len(resolved)
        for position, others in nearest.items():
            if others:
                percentiles[position] = self.novelty.percentile(others[0].score)
        return percentiles


def unknown(name: str) -> UnknownArchitectureError:
    """The error of a name or id that nothing in the index has."""
    return UnknownArchitectureError(f"no architecture of the name or id {name!r} is indexed")


def _graph(target: Target) -> ComputationalGraph | None:
    if isinstance(target, Architecture | Fingerprinted):
        return target.graph
    return target if isinstance(target, ComputationalGraph) else None


def _resolve_one(
    query: Query, vectors: Iterator[NDArray[np.float32]], rows: dict[str, IndexRow]
) -> _Resolved | NarError:
    match query.target:
        case Architecture() | Fingerprinted() as item:
            return _Resolved(query, next(vectors), item)
        case ComputationalGraph() as graph:
            return _Resolved(query, next(vectors), fingerprinted(graph))
        case str(name):
            row = rows.get(name)
            if row is None:
                return unknown(name)
            return _Resolved(query, row.embedding, row, row.id)
        case vector:
            return _Resolved(query, vector)


def _same_as(one: _Resolved, rows: Mapping[str, Sequence[IndexRow]]) -> Same:
    """What is the same as a query, the nearest first.

    Args:
        one: The query.
        rows: Of the index, by topology and by inference fingerprint.
    """
    same: dict[Sameness, list[Hit]] = {kind: [] for kind in get_args(Sameness)}
    network = one.network
    if network:
        alike = [*rows.get(network.topology, ()), *rows.get(network.inference, ())]
        others = {row.id: row for row in alike if row.id != one.own_id}
        scored = [row.hit(_cosine(one.vector, row.embedding)) for row in others.values()]
        for hit in rank(scored, len(scored), complete=True) or []:
            kind = sameness(network, hit)
            if kind:
                same[kind].append(hit)
    return {kind: tuple(hits) for kind, hits in same.items()}


def _cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    left_exact, right_exact = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(left_exact) * np.linalg.norm(right_exact)
    return float(left_exact @ right_exact / lengths)
