"""Growing pieces into blocks: pieces that always follow one another are one design.

A pair grows together if the left one is always followed by the right one, and the right one is not
stacked on itself: attention and feed-forward become the encoder layer, while a downsampling block
stays apart from the run of plain blocks behind it. Depth does not change the blocks: whether two
pieces join depends on whether they ever part, not on how many there are.
"""

import numpy as np
from numpy.typing import NDArray

from nar.motifs.neighbours import Labels, mix
from nar.motifs.pieces import Flow, Starts

_BASE = np.uint64(0x2545F4914F6CDD1D)
_GRAPH = np.uint64(0x632BE59BD9B4E019)
_MAX_ROUNDS = 64


def grow(starts: Starts, codes: Labels, borders: Flow) -> Starts:
    """Join neighbouring pieces until nothing always goes together.

    Borders behind a value that is read once go first, so that a block ends where its result
    forks.

    Args:
        starts: Shape (pieces,), first node of each piece.
        codes: Shape (pieces,).
        borders: The flow at every border.

    Returns:
        First node of each block.
    """
    hashes = mix(codes + borders.graph[starts].astype(np.uint64) * _GRAPH)
    powers = np.full(len(starts), _BASE)
    for forks_too in (False, True):
        for _ in range(_MAX_ROUNDS):
            graph = borders.graph[starts]
            allowed = graph[1:] == graph[:-1]
            if not forks_too:
                allowed &= ~borders.is_fork[starts[1:]]
            joined = _alternate(_most_frequent(_pairs(hashes, graph, allowed), graph[1:]))
            if not joined.any():
                break
            starts, hashes, powers = _join(starts, hashes, powers, joined)
    return starts


def _pairs(
    hashes: Labels, graph: NDArray[np.int64], allowed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """How often each pair of neighbours occurs, if its left part never stands without the right.

    Args:
        hashes: Shape (pieces,).
        graph: Shape (pieces,), graph of each piece.
        allowed: Shape (pieces - 1,), which neighbours may join.

    Returns:
        Shape (pieces - 1,), 0 for pairs that stay apart.
    """
    _, kind, count = np.unique(hashes, return_inverse=True, return_counts=True)
    left, right = kind[:-1].astype(np.int64), kind[1:].astype(np.int64)
    stacked = np.zeros(len(count), dtype=bool)
    stacked[left[(left == right) & (graph[1:] == graph[:-1])]] = True
    _, pair, pair_count = np.unique(
        left * len(count) + right, return_inverse=True, return_counts=True
    )
    together = pair_count[pair]
    joins = allowed & (left != right) & (together > 1)
    joins &= (together == count[left]) & ~stacked[right]
    return np.where(joins, together, 0)


def _most_frequent(together: NDArray[np.int64], graph: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of each graph, the pairs that occur most often: small units form before larger ones."""
    highest = np.zeros(int(graph.max(initial=0)) + 1, dtype=np.int64)
    np.maximum.at(highest, graph, together)
    wanted: NDArray[np.bool_] = (together > 0) & (together == highest[graph])
    return wanted


def _alternate(wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Every other pair of each run, from its left end: no piece joins two neighbours at once."""
    index = np.arange(len(wanted))
    run_start = np.maximum.accumulate(np.where(wanted, -1, index))
    is_odd: NDArray[np.bool_] = (index - run_start) % 2 == 1
    return wanted & is_odd


def _join(
    starts: Starts, hashes: Labels, powers: Labels, joined: NDArray[np.bool_]
) -> tuple[Starts, Labels, Labels]:
    """Join marked pairs. The polynomial hash of a block does not depend on the order of joining."""
    left = np.flatnonzero(joined)
    hashes, powers = hashes.copy(), powers.copy()
    hashes[left] = hashes[left] * powers[left + 1] + hashes[left + 1]
    powers[left] *= powers[left + 1]
    kept = np.ones(len(starts), dtype=bool)
    kept[left + 1] = False
    return starts[kept], hashes[kept], powers[kept]
