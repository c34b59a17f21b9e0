"""Paths of two edges, and how often each occurs, to the nearest power of two below.

A neighbourhood of Eq. 2 changes as soon as one neighbour does. A path changes only if one of its
three nodes does, so designs that differ here and there still share most of their paths.

Six nodes, and their four paths:

      input ─> conv ─> relu ─> conv ─> relu ─> linear

      input conv relu · conv relu conv · relu conv relu · conv relu linear

With a third ``conv ─> relu``, two paths would be ``conv relu conv``: besides the code of this path,
a second code then stands for "twice or more". A third code stands for "four times or more".
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

# Chosen: of more different neighbours on one side of a node, this many are taken, by hash.
# Otherwise n edges could make n^2 paths through one node.
MAX_NEIGHBOURS: Final = 16
# Chosen: 2^6 times or more often count alike.
MAX_LEVEL: Final = 6

# Chosen: of the 64 bits of a key, 40 hold a code, which two neighbours of a node rarely share. The
# other 24 hold the number of a node: many more than are read at once.
_CODE_BITS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Paths of graphs; equal paths through one node are one row.

    Attributes:
        middle: Shape (paths,), the node in the middle.
        codes: Shape (paths,), code of the three nodes in their order.
        times: Shape (paths,), how often the path occurs.
        cut: How many neighbours were left out, past `MAX_NEIGHBOURS` on one side of a node.
    """

    middle: Integers
    codes: Codes
    times: Integers
    cut: int


def paths(nodes: Codes, wires: Wiring) -> Paths:
    """All paths of two edges.

    Args:
        nodes: Shape (nodes,), code of each node.
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
    """A code for every path of an owner, and another code each time its number doubles.

    Args:
        owner: Shape (paths,), owner of each path.
        walked: The paths.

    Returns:
        Owner and code, each pair once. The codes of an owner come in the order of the codes of its
        paths, so that sums over them are the same to the bit, whatever is read beside the owner.
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
    """Node codes mixed with the slots in which readers with ordered operands read the nodes."""
    edges = np.flatnonzero(tells_operands_apart(wires))
    source = wires.source[edges]
    seen = mix(operator_codes(wires.op_ids[wires.target[edges]]) + wires.slot[edges])
    first = first_of_each(salted(seen, source, OWNER))
    read_as = np.zeros(len(nodes), dtype=np.uint64)
    np.add.at(read_as, source[first], seen[first])
    return mix(nodes + mix(read_as))


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """Different neighbours of nodes on one side, how often, and where they begin for each node.

    ``cut`` counts the neighbours that were left out.
    """

    node: Integers
    codes: Codes
    times: Integers
    start: Integers
    cut: int


def _neighbours(node: Integers, codes: Codes, nodes: int) -> _Neighbours:
    # Node and code in one integer: a single sort, after which both can be read from the keys.
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
