"""Growing pieces into blocks: pieces that always follow one another are one design.

A pair grows together if the left one is always followed by the right one, and the right one is not
stacked on itself: attention and feed-forward become the encoder layer, while a downsampling block
stays apart from the run of plain blocks behind it. Depth does not change the blocks: whether two
pieces join depends on whether they ever part, not on how many there are.

Six pieces of a transformer, one letter for each code, and how they grow:

      E   A   F   A   F   H        embedding, attention, feed-forward, head
      E   [A   F]   [A   F]   H    A is always followed by F, and F never by itself: one block
      E   B         B         H    B is stacked on itself: E and H stay apart from it
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.graphs.hashing import OWNER, PIECES, Codes, salted
from nar.motifs.pieces import Flow, Starts

_MAX_ROUNDS = 64


def grow(starts: Starts, codes: Codes, borders: Flow) -> Starts:
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
    hashes = salted(codes, borders.graph[starts], OWNER)
    grown = _Blocks(starts, hashes, np.full(len(starts), PIECES))
    for forks_too in (False, True):
        grown = _grown(grown, borders, forks_too=forks_too)
    return grown.starts


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks in order: shape (blocks,) each.

    Attributes:
        starts: First node.
        hashes: Polynomial hash of the pieces; it does not depend on the order of joining.
        powers: Base of that hash to the number of pieces.
    """

    starts: Starts
    hashes: Codes
    powers: Codes

    def where(self, chosen: NDArray[np.bool_]) -> "_Blocks":
        """Some of them."""
        return _Blocks(self.starts[chosen], self.hashes[chosen], self.powers[chosen])


def _grown(blocks: _Blocks, borders: Flow, *, forks_too: bool) -> _Blocks:
    """Join until no pair does; a graph in which none did is done, and is not looked at again."""
    done: list[_Blocks] = []
    for _ in range(_MAX_ROUNDS):
        graph = borders.graph[blocks.starts]
        allowed = graph[1:] == graph[:-1]
        if not forks_too:
            allowed &= ~borders.is_fork[blocks.starts[1:]]
        pairs = _pairs(blocks.hashes, graph, allowed)
        joined = np.append(_alternate(_most_frequent(pairs, graph[1:])), False)
        moves = np.zeros(int(graph.max(initial=-1)) + 1, dtype=bool)
        moves[graph[joined]] = True
        done.append(blocks.where(~moves[graph]))
        blocks = _join(blocks.where(moves[graph]), joined[moves[graph]])
        if not len(blocks.starts):
            break
    return _in_order([*done, blocks])


def _in_order(parts: list[_Blocks]) -> _Blocks:
    starts = np.concatenate([part.starts for part in parts])
    order = np.argsort(starts)
    hashes = np.concatenate([part.hashes for part in parts])
    powers = np.concatenate([part.powers for part in parts])
    return _Blocks(starts[order], hashes[order], powers[order])


def _pairs(
    hashes: Codes, graph: NDArray[np.int64], allowed: NDArray[np.bool_]
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


def _join(blocks: _Blocks, joined: NDArray[np.bool_]) -> _Blocks:
    """Join marked blocks with the next one."""
    left = np.flatnonzero(joined)
    hashes, powers = blocks.hashes.copy(), blocks.powers.copy()
    hashes[left] = hashes[left] * powers[left + 1] + hashes[left + 1]
    powers[left] *= powers[left + 1]
    kept = np.ones(len(hashes), dtype=bool)
    kept[left + 1] = False
    return _Blocks(blocks.starts, hashes, powers).where(kept)
