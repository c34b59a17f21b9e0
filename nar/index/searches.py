"""Search: what an index is asked for, and several of them in as few calls as can be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nar.index.filters import Filter
from nar.index.rows import Hit


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What an index is asked for.

    Attributes:
        vector: Shape (dim,), of any length but 0.
        top_k: Number of hits, from 1 to `nar.index.ranking.MAX_TOP_K`.
        wanted: What hits must be.
    """

    vector: NDArray[np.floating]
    top_k: int
    wanted: Filter = field(default_factory=Filter)


def in_groups(
    searches: Sequence[Search],
    ask: Callable[[NDArray[np.floating], int, Filter], list[list[Hit]]],
) -> list[list[Hit]]:
    """The hits of each search; those of equal filter and ``top_k`` are asked together.

    Args:
        searches: Their vectors have one length.
        ask: Takes vectors of shape (queries, dim), how many hits each, and what they must be.
    """
    groups: dict[tuple[int, Filter], list[int]] = {}
    for position, search in enumerate(searches):
        groups.setdefault((search.top_k, search.wanted), []).append(position)
    hits: list[list[Hit]] = [[] for _ in searches]
    for (top_k, wanted), positions in groups.items():
        vectors = np.stack([searches[position].vector for position in positions])
        for position, nearest in zip(positions, ask(vectors, top_k, wanted), strict=True):
            hits[position] = nearest
    return hits
