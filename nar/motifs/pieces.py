"""Pieces: the node sequence cut where the flow of data is narrow, and the blocks that they form.

A piece is a range of nodes in canonical order. Its code is Eq. 2 run inside it: equal codes mean
equal operators and equal inner wiring, whatever surrounds the piece. Everything works on many
graphs at once, end to end; each step takes a few passes over nodes and edges.

Six nodes with a skip connection. ``live`` counts the values that a node or a later node still reads
from before it; borders where it is smallest are cut first:

      input ──> conv ──> relu ──> conv ──> add ──> linear
                  └────────────────────────^
      live  0       1        1        2       2        1
      cut           |        |                         |      where live is 1

Pieces that always follow one another are one design: they grow into a block. A pair grows together
if the right piece always follows the left piece, and the right piece is not stacked on itself:
attention and feed-forward become the encoder layer, while a downsampling block stays apart from the
run of plain blocks behind it. Depth does not change the blocks: whether two pieces join depends on
whether they are always together, not on how many there are.

Six pieces of a transformer, one letter for each code, and how they grow:

      E   A   F   A   F   H        embedding, attention, feed-forward, head
      E   [A   F]   [A   F]   H    A is always followed by F, and F never by itself: one block
      E   B         B         H    B is stacked on itself: E and H stay apart from it
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.graphs.hashing import OUTSIDE, OWNER, PIECES, POSITION, Codes, mix, operator_codes, salted
from nar.graphs.ragged import owners, ranks
from nar.motifs.neighbours import Wiring, refine

MAX_SLOT = 2  # chosen: further operands from outside count alike: concat reads any number

# Chosen, only so that the loop ends in any case: every round but the last joins pieces.
MAX_ROUNDS = 64

Starts = NDArray[np.int64]  # first node of each piece, ascending, beginning with 0


@dataclass(frozen=True, slots=True)
class Flow:
    """The values that cross the border before each node.

    Attributes:
        graph: Shape (nodes,), which graph a node belongs to.
        live: Shape (nodes,), number of earlier values that this or a later node still reads.
        is_fork: Shape (nodes,), whether the node just before is read more than once.
    """

    graph: NDArray[np.int64]
    live: NDArray[np.int64]
    is_fork: NDArray[np.bool_]


def flow(wires: Wiring, graph: NDArray[np.int64]) -> Flow:
    """Count the values alive at every border, in one pass."""
    nodes = len(wires.op_ids)
    last_read = np.arange(nodes)
    last_read[wires.source] = wires.target  # edges ascend by target: the last write is the last use
    change = np.zeros(nodes + 1, dtype=np.int64)
    change[1:] = 1
    change -= np.bincount(last_read + 1, minlength=nodes + 1)
    readers = np.bincount(wires.source, minlength=nodes)
    is_fork = np.zeros(nodes, dtype=bool)
    is_fork[1:] = readers[:-1] > 1
    return Flow(graph, np.cumsum(change)[:nodes], is_fork)


def lengths(starts: Starts, nodes: int) -> NDArray[np.int64]:
    """Number of nodes of each piece."""
    return np.diff(starts, append=nodes)


def piece_codes(wires: Wiring, starts: Starts, steps: int) -> Codes:
    """Code of each piece, which does not depend on where the piece stands."""
    nodes = len(wires.op_ids)
    sizes = lengths(starts, nodes)
    return group_codes(wires, owners(sizes), ranks(sizes), steps)


def group_codes(
    wires: Wiring, group: NDArray[np.int64], position: NDArray[np.int64], steps: int
) -> Codes:
    """Code of each group of nodes from its operators and inner wiring.

    Args:
        wires: The graphs.
        group: Shape (nodes,), group of each node, 0 to groups - 1.
        position: Shape (nodes,), rank of each node inside its group.
        steps: s of Eq. 2.

    Returns:
        Shape (groups,).
    """
    inside = group[wires.source] == group[wires.target]
    of_node = operator_codes(wires.op_ids) + _outside_reads(wires, group, ~inside)
    of_node = refine(of_node, wires, steps, inside)
    codes = np.zeros(int(group.max()) + 1, dtype=np.uint64)
    np.add.at(codes, group, salted(of_node, position, POSITION))
    return mix(codes)


def _outside_reads(wires: Wiring, group: NDArray[np.int64], outside: NDArray[np.bool_]) -> Codes:
    """Which operands come from outside, and whether from the nearest outside value or another."""
    source, target = wires.source[outside], wires.target[outside]
    nearest = np.full(int(group.max()) + 1, -1)
    np.maximum.at(nearest, group[target], source)
    slot = np.minimum((np.flatnonzero(outside) - wires.in_start[target]), MAX_SLOT)
    slot[wires.slot[outside] == 0] = 0
    kind = slot + (MAX_SLOT + 1) * (source < nearest[group[target]])
    flags = np.zeros(len(group), dtype=np.uint64)
    begins = np.flatnonzero(np.diff(target, prepend=-1))  # edges ascend by target
    if len(begins):
        flags[target[begins]] = np.bitwise_or.reduceat(
            np.uint64(1) << kind.astype(np.uint64), begins
        )
    return flags * OUTSIDE


CutRule = Callable[[Flow, Starts, NDArray[np.bool_]], NDArray[np.bool_]]


def _narrowest(borders: Flow, starts: Starts, inner: NDArray[np.bool_]) -> NDArray[np.bool_]:
    live = np.where(inner, borders.live, np.iinfo(np.int64).max)
    smallest = np.minimum.reduceat(live, starts)
    is_narrow: NDArray[np.bool_] = live == np.repeat(smallest, lengths(starts, len(live)))
    return inner & is_narrow


def _forks(borders: Flow, _starts: Starts, inner: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return inner & borders.is_fork


def _everywhere(_borders: Flow, _starts: Starts, inner: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return inner


# From borders that a person would draw to the last resort. The second round of narrow borders finds
# layers beside which a long-lived value (an encoder's output, the cell before the last) is alive.
CUT_RULES: tuple[CutRule, ...] = (_narrowest, _narrowest, _forks, _everywhere)


def cut(wires: Wiring, borders: Flow, steps: int) -> tuple[Starts, Codes]:
    """Cut until every piece is repeated in its graph or is a single node.

    Returns:
        First nodes and codes of the pieces.
    """
    nodes = len(wires.op_ids)
    starts = np.flatnonzero(np.diff(borders.graph, prepend=-1))
    is_open = lengths(starts, nodes) > 1  # each graph is one piece, which repeats nowhere in it
    codes: Codes | None = None
    for rule in CUT_RULES:
        inner = np.repeat(is_open, lengths(starts, nodes))
        inner[starts] = False
        new = np.flatnonzero(rule(borders, starts, inner))
        if len(new):
            starts = np.union1d(starts, new)
            codes = piece_codes(wires, starts, steps)
            is_open = (lengths(starts, nodes) > 1) & ~repeated(codes, borders.graph[starts])
    return starts, piece_codes(wires, starts, steps) if codes is None else codes


def repeated(codes: Codes, graph: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which codes occur at least twice within their graph."""
    keys = salted(codes, graph, OWNER)
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return counts[inverse] > 1


def grow(starts: Starts, codes: Codes, borders: Flow) -> Starts:
    """Join neighbouring pieces until no two pieces are always together.

    Borders after a value that is read once are joined first, so that a block ends where its result
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
    """Blocks in order; every array has shape (blocks,).

    Attributes:
        starts: First node.
        hashes: Polynomial hash of the pieces; it does not depend on the order of joining.
        powers: Base of the hash to the power of the number of pieces.
    """

    starts: Starts
    hashes: Codes
    powers: Codes

    def where(self, chosen: NDArray[np.bool_]) -> "_Blocks":
        """The chosen blocks."""
        return _Blocks(self.starts[chosen], self.hashes[chosen], self.powers[chosen])


def _grown(blocks: _Blocks, borders: Flow, *, forks_too: bool) -> _Blocks:
    """Join pairs until none joins; a graph in which no pair joined is left out of later rounds."""
    done: list[_Blocks] = []
    for _ in range(MAX_ROUNDS):
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
    """How often each pair of neighbours occurs, if the right always follows the left.

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
    times = pair_count[pair]
    joins = allowed & (left != right) & (times > 1)
    joins &= (times == count[left]) & ~stacked[right]
    return np.where(joins, times, 0)


def _most_frequent(times: NDArray[np.int64], graph: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The pairs that occur most often in each graph: small units form before larger units."""
    highest = np.zeros(int(graph.max(initial=0)) + 1, dtype=np.int64)
    np.maximum.at(highest, graph, times)
    wanted: NDArray[np.bool_] = (times > 0) & (times == highest[graph])
    return wanted


def _alternate(wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Every other pair of each run, from the left: no piece joins both neighbours at once."""
    index = np.arange(len(wanted))
    run_start = np.maximum.accumulate(np.where(wanted, -1, index))
    is_odd: NDArray[np.bool_] = (index - run_start) % 2 == 1
    return wanted & is_odd


def _join(blocks: _Blocks, joined: NDArray[np.bool_]) -> _Blocks:
    """Join each marked block with the next block."""
    left = np.flatnonzero(joined)
    hashes, powers = blocks.hashes.copy(), blocks.powers.copy()
    hashes[left] = hashes[left] * powers[left + 1] + hashes[left + 1]
    powers[left] *= powers[left + 1]
    kept = np.ones(len(hashes), dtype=bool)
    kept[left + 1] = False
    return _Blocks(blocks.starts, hashes, powers).where(kept)
