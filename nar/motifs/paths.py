"""Paths of two edges, and how often each occurs, to the nearest power of two below.

A neighbourhood of Eq. 2 changes as soon as one neighbour does. A path changes only if one of its
three nodes does, so designs that differ here and there still share most of their paths.

Six nodes, the four paths that they have, and what counts two alike ones:

      input ─> conv ─> relu ─> conv ─> relu ─> linear

      input conv relu · conv relu conv · relu conv relu · conv relu linear

Were there a third ``conv ─> relu``, two paths would be ``conv relu conv``: its code occurs, and a
second code says "twice or more", a third "four times or more".
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from nar.graphs.hashing import (
    AFTER,
    BEFORE,
    LEVEL,
    OWNER,
    Codes,
    first_of_each,
    mix,
    operator_codes,
    salted,
)
from nar.graphs.ragged import Integers, offsets, owners, ranks, slices
from nar.motifs.neighbours import Wiring, tells_operands_apart

# Past this many different neighbours on one side a node's paths are drawn by hash: a graph of n
# edges has n^2 paths through one node otherwise.
MAX_NEIGHBOURS: Final = 16
# More than 2^6 times is many times.
MAX_LEVEL: Final = 6

_CODE_BITS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Paths of graphs, equal ones through one node together.

    Attributes:
        middle: Shape (paths,), the node in the middle.
        codes: Shape (paths,), by the three nodes in their order.
        times: Shape (paths,), how many of them there are.
        cut: How many neighbours were left out, past `MAX_NEIGHBOURS` on one side of a node.
    """

    middle: Integers
    codes: Codes
    times: Integers
    cut: int


def paths(nodes: Codes, wires: Wiring) -> Paths:
    """All paths of two edges.

    Args:
        nodes: Shape (nodes,), what stands for each node.
        wires: The graphs.
    """
    nodes = _placed(nodes, wires)
    before = _neighbours(wires.target, nodes[wires.source], len(nodes))
    after = _neighbours(wires.source, nodes[wires.target], len(nodes))
    second, start = slices(after.start, before.node)
    first = owners(np.diff(start))
    middle = before.node[first]
    ends = mix(before.codes[first] * BEFORE) + after.codes[second] * AFTER
    times = before.times[first] * after.times[second]
    return Paths(middle, mix(ends + nodes[middle]), times, before.cut + after.cut)


def levels(owner: Integers, walked: Paths) -> tuple[Integers, Codes]:
    """A code for every path of an owner, and one more each time its number doubles.

    Args:
        owner: Shape (paths,), who has each.
        walked: The paths.

    Returns:
        Owner and code, one of each pair. Those of one owner come in the order of their codes: sums
        over them are then the same to the bit, whoever else is read beside it.
    """
    keys = salted(walked.codes, owner, OWNER)
    order = np.argsort(keys)
    is_first = np.diff(keys[order], prepend=~keys[order][:1]) != 0
    first = np.flatnonzero(is_first)
    times = np.add.reduceat(walked.times[order], first) if len(first) else walked.times
    count = np.minimum(np.log2(times).astype(np.int64), MAX_LEVEL) + 1
    alone = order[first]
    by_code = np.argsort(walked.codes[alone])
    kept, count = np.repeat(alone[by_code], count[by_code]), count[by_code]
    return owner[kept], salted(walked.codes[kept], ranks(count), LEVEL)


def _placed(nodes: Codes, wires: Wiring) -> Codes:
    """Nodes told apart by which operand they are, of whom that matters to."""
    edges = np.flatnonzero(tells_operands_apart(wires))
    source = wires.source[edges]
    seen = mix(operator_codes(wires.op_ids[wires.target[edges]]) + wires.slot[edges])
    first = first_of_each(salted(seen, source, OWNER))
    read_as = np.zeros(len(nodes), dtype=np.uint64)
    np.add.at(read_as, source[first], seen[first])
    return mix(nodes + mix(read_as))


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """Different neighbours of nodes on one side, how many times, and where those of each begin.

    ``cut`` counts those that were left out.
    """

    node: Integers
    codes: Codes
    times: Integers
    start: Integers
    cut: int


def _neighbours(node: Integers, codes: Codes, nodes: int) -> _Neighbours:
    # Node and code in one integer: one sort of plain integers, and both can be read from it.
    bits = np.uint64(_CODE_BITS)
    keys = np.sort((node.astype(np.uint64) << bits) | (codes >> np.uint64(64 - _CODE_BITS)))
    first = np.flatnonzero(np.diff(keys, prepend=~keys[:1]) != 0)
    times = np.diff(np.append(first, len(keys)))
    keys = keys[first]
    owner = (keys >> bits).astype(np.int64)
    start = offsets(np.bincount(owner, minlength=nodes))
    kept = np.arange(len(owner)) - start[owner] < MAX_NEIGHBOURS
    cut = int(np.count_nonzero(~kept))
    owner, keys, times = owner[kept], keys[kept], times[kept]
    start = offsets(np.bincount(owner, minlength=nodes))
    return _Neighbours(owner, keys & ((np.uint64(1) << bits) - np.uint64(1)), times, start, cut)
