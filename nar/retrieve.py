"""Retriever: a graph, a name or a vector goes in, ranked relatives come out (paper, Eq. 1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nar.canonical import exact_fingerprint, topology_fingerprint
from nar.errors import InvalidQueryError, UnknownArchitectureError
from nar.graph import ComputationalGraph
from nar.index.filters import Filter
from nar.index.ranking import MAX_TOP_K, check_top_k, rank
from nar.index.rows import Hit, IndexRow
from nar.novelty import Novelty

Target = ComputationalGraph | str | NDArray[np.float32]


class Embeds(Protocol):
    """What a Retriever needs of an embedder."""

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Shape (graphs, dim), of length 1."""


class Searches(Protocol):
    """What a Retriever needs of an index: an `ArchitectureIndex` or an `ExactIndex`."""

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id."""

    def find_by_fingerprint(
        self, *, topologies: Sequence[str] = (), exacts: Sequence[str] = ()
    ) -> list[IndexRow]:
        """Rows of the same designs or networks, by id."""

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = ...
    ) -> list[list[Hit]]:
        """The nearest rows of each vector."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One question.

    Attributes:
        target: A canonical graph, the name or id of an indexed architecture, or a vector of
            shape (dim,).
        top_k: Number of hits wanted.
        filter: What hits must be.
    """

    target: Target
    top_k: int = 10
    filter: Filter = field(default_factory=Filter)


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to one query; an architecture asked for by name or id is in none of its lists.

    Attributes:
        hits: Nearest first, equal scores by id.
        same_network: Known architectures of the same exact fingerprint. Filters do not apply.
        same_design: Further known ones of the same topology fingerprint. Filters do not apply.
        novelty: How many of a hundred known designs have a nearer neighbour; 0 for a known one.
            None where the distances of known designs were not measured. Filters do not apply.
    """

    hits: tuple[Hit, ...]
    same_network: tuple[Hit, ...] = ()
    same_design: tuple[Hit, ...] = ()
    novelty: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Resolved:
    """A query whose vector is known; fingerprints and own id as far as its target has them."""

    query: Query
    vector: NDArray[np.float32]
    topology: str | None = None
    exact: str | None = None
    own_id: str | None = None


class Retriever:
    """Answers queries from an index.

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
        """Answer one query; see `search_all`."""
        return self.search_all([Query(target, top_k, wanted or Filter())])[0]

    def search_all(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer queries together: graphs are embedded in one batch, equal searches run as one.

        Raises:
            UnknownArchitectureError: No architecture of that name or id is indexed.
            InvalidQueryError: Names the query and field at fault.
        """
        resolved = self._resolve(queries)
        hits = self._search(resolved)
        known = [
            _split(one, rows) for one, rows in zip(resolved, self._known(resolved), strict=True)
        ]
        new = self._new(resolved, known)
        return [
            Answer(tuple(found), *same, novelty)
            for found, same, novelty in zip(hits, known, new, strict=True)
        ]

    def _resolve(self, queries: Sequence[Query]) -> list[_Resolved]:
        graphs = [query.target for query in queries if isinstance(query.target, ComputationalGraph)]
        names = [query.target for query in queries if isinstance(query.target, str)]
        vectors = iter(self.embedder.embed(graphs) if graphs else ())
        rows = self.index.get(names) if names else {}
        resolved = []
        for position, query in enumerate(queries):
            match query.target:
                case ComputationalGraph() as graph:
                    prints = topology_fingerprint(graph), exact_fingerprint(graph)
                    resolved.append(_Resolved(query, next(vectors), *prints))
                case str(name):
                    resolved.append(_resolve_row(query, name, rows))
                case vector:
                    _check_shape(vector, f"queries[{position}].target")
                    resolved.append(_Resolved(query, vector))
        return resolved

    def _search(self, resolved: Sequence[_Resolved]) -> list[list[Hit]]:
        """One call to the index for all queries of equal ``top_k`` and filter."""
        groups: dict[tuple[int, Filter], list[int]] = {}
        for position, one in enumerate(resolved):
            groups.setdefault((one.query.top_k, one.query.filter), []).append(position)
        found: list[list[Hit]] = [[] for _ in resolved]
        for (top_k, wanted), positions in groups.items():
            check_top_k(top_k)
            own = any(resolved[position].own_id for position in positions)
            vectors = np.stack([resolved[position].vector for position in positions])
            answers = self.index.search(vectors, min(top_k + own, MAX_TOP_K), wanted)
            for position, hits in zip(positions, answers, strict=True):
                others = [hit for hit in hits if hit.id != resolved[position].own_id]
                found[position] = others[:top_k]
        return found

    def _known(self, resolved: Sequence[_Resolved]) -> list[list[IndexRow]]:
        """Indexed rows of each query's design."""
        topologies = sorted({one.topology for one in resolved if one.topology})
        known: dict[str, list[IndexRow]] = {}
        if topologies:
            for row in self.index.find_by_fingerprint(topologies=topologies):
                known.setdefault(row.topology, []).append(row)
        return [known.get(one.topology or "", []) for one in resolved]

    def _new(
        self, resolved: Sequence[_Resolved], known: Sequence[tuple[Sequence[Hit], Sequence[Hit]]]
    ) -> list[float | None]:
        """The novelty of each query."""
        if self.novelty is None:
            return [None] * len(resolved)
        vectors = np.stack([one.vector for one in resolved])
        percentiles: list[float | None] = []
        # The first may be the query itself.
        nearest = self.index.search(vectors, 2, Filter())
        for one, same, hits in zip(resolved, known, nearest, strict=True):
            others = [hit.score for hit in hits if hit.id != one.own_id]
            is_new = not any(same) and bool(others)
            percentiles.append(self.novelty.percentile(others[0]) if is_new else 0.0)
        return percentiles


def _resolve_row(query: Query, name: str, rows: dict[str, IndexRow]) -> _Resolved:
    if name not in rows:
        raise UnknownArchitectureError(f"no architecture of the name or id {name!r} is indexed")
    row = rows[name]
    return _Resolved(query, row.embedding, row.topology, row.exact, row.id)


def _check_shape(vector: NDArray[np.float32], field_path: str) -> None:
    if vector.ndim != 1:
        raise InvalidQueryError(field_path, f"wanted shape (dim,), came {vector.shape}")


def _split(one: _Resolved, rows: Sequence[IndexRow]) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """Rows of the query's topology as hits: those of its exact fingerprint, and the others."""
    others = [row for row in rows if row.id != one.own_id]
    scored = [row.hit(_cosine(one.vector, row.embedding)) for row in others]
    ranked = rank(scored, len(scored), complete=True) or []
    same = tuple(hit for hit in ranked if hit.exact == one.exact)
    return same, tuple(hit for hit in ranked if hit.exact != one.exact)


def _cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    left_exact, right_exact = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(left_exact) * np.linalg.norm(right_exact)
    return float(left_exact @ right_exact / lengths)
