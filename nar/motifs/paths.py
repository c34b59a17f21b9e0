"""Paths of two edges, and how often each occurs, to the nearest power of two below.

A neighbourhood of Eq. 2 changes as soon as one neighbour does. A path changes only if one of its
three nodes does, so designs that differ here and there still share most of their paths.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from nar.motifs.neighbours import Labels, Wiring, mix, tells_operands_apart
from nar.ragged import Integers, slices

# Past this many different neighbours on one side a node's paths are drawn by hash: a graph of n
# edges has n^2 paths through one node otherwise.
MAX_NEIGHBOURS: Final = 16
# More than 2^6 times is many times.
MAX_LEVEL: Final = 6

_LABEL_BITS: Final = 40
_PLACE = np.uint64(0x8CB92BA72F3D8DD7)
_BEFORE = np.uint64(0x9E3779B97F4A7C15)
_AFTER = np.uint64(0xC2B2AE3D27D4EB4F)
_LEVEL = np.uint64(0x165667B19E3779F9)


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Paths of graphs, equal ones through one node together.

    Attributes:
        middle: Shape (paths,), the node in the middle.
        labels: Shape (paths,), by the three nodes in their order.
        times: Shape (paths,), how many of them there are.
        cut: How many neighbours were left out, past `MAX_NEIGHBOURS` on one side of a node.
    """

    middle: Integers
    labels: Labels
    times: Integers
    cut: int


def paths(nodes: Labels, wires: Wiring) -> Paths:
    """All paths of two edges.

    Args:
        nodes: Shape (nodes,), what stands for each node.
        wires: The graphs.
    """
    nodes = _placed(nodes, wires)
    before = _neighbours(wires.target, nodes[wires.source], len(nodes))
    after = _neighbours(wires.source, nodes[wires.target], len(nodes))
    second, start = slices(after.start, before.node)
    first = np.repeat(np.arange(len(before.node)), np.diff(start))
    middle = before.node[first]
    ends = mix(before.labels[first] * _BEFORE) + after.labels[second] * _AFTER
    times = before.times[first] * after.times[second]
    return Paths(middle, mix(ends + nodes[middle]), times, before.cut + after.cut)


def levels(owner: Integers, found: Paths) -> tuple[Integers, Labels]:
    """A label for every path of an owner, and one more each time its number doubles.

    Args:
        owner: Shape (paths,), who has each.
        found: The paths.

    Returns:
        Owner and label, one of each pair.
    """
    keys = mix(found.labels + owner.astype(np.uint64) * _PLACE)
    order = np.argsort(keys)
    is_first = np.diff(keys[order], prepend=~keys[order][:1]) != 0
    first = np.flatnonzero(is_first)
    times = np.add.reduceat(found.times[order], first) if len(first) else found.times
    count = np.minimum(np.log2(times).astype(np.int64), MAX_LEVEL) + 1
    kept = np.repeat(order[first], count)
    level = np.arange(len(kept)) - np.repeat(np.cumsum(count) - count, count)
    return owner[kept], mix(found.labels[kept] + level.astype(np.uint64) * _LEVEL)


def _placed(nodes: Labels, wires: Wiring) -> Labels:
    """Nodes told apart by which operand they are, of whom that matters to."""
    edges = np.flatnonzero(tells_operands_apart(wires))
    source = wires.source[edges]
    seen = mix(mix(wires.op_ids[wires.target[edges]].astype(np.uint64)) + wires.slot[edges])
    _, first = np.unique(mix(seen + source.astype(np.uint64) * _PLACE), return_index=True)
    places = np.zeros(len(nodes), dtype=np.uint64)
    np.add.at(places, source[first], seen[first])
    return mix(nodes + mix(places))


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """Different neighbours of nodes on one side, how many times, and where those of each begin.

    ``cut`` counts those that were left out.
    """

    node: Integers
    labels: Labels
    times: Integers
    start: Integers
    cut: int


def _neighbours(node: Integers, labels: Labels, nodes: int) -> _Neighbours:
    # Node and label in one integer: one sort of plain integers, and both can be read from it.
    bits = np.uint64(_LABEL_BITS)
    keys = np.sort((node.astype(np.uint64) << bits) | (labels >> np.uint64(64 - _LABEL_BITS)))
    first = np.flatnonzero(np.diff(keys, prepend=~keys[:1]) != 0)
    times = np.diff(np.append(first, len(keys)))
    keys = keys[first]
    owner = (keys >> bits).astype(np.int64)
    start = np.searchsorted(owner, np.arange(nodes + 1))
    kept = np.arange(len(owner)) - start[owner] < MAX_NEIGHBOURS
    cut = int(np.count_nonzero(~kept))
    owner, keys, times = owner[kept], keys[kept], times[kept]
    start = np.searchsorted(owner, np.arange(nodes + 1))
    return _Neighbours(owner, keys & ((np.uint64(1) << bits) - np.uint64(1)), times, start, cut)
