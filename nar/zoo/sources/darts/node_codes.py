"""The codes of a network's nodes, which its fingerprints are made of, cell after cell.

They equal the codes of `nar.graphs.canonical.Adjacency.codes`, which looks up the edges of any
graph and takes three times as long. Here the edges are known: a cell is four additions of two
operations each, and a concatenation. Its operations read the two cells before it, or an addition
above them.

No code can be computed once for all networks: the code of a node covers everything above and below
it. What is left to do is hashing, a thousand times for each network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.canonical import CODE_BYTES, Code
from nar.zoo.sources.darts.genotypes import NODES, Cell

# For each addition of a cell, what its two operations read, as `Edge.source` counts.
Sources = tuple[tuple[int, int], ...]

# Operations and additions of the nodes, and their concatenation.
CELL_NODES: Final = 3 * NODES + 1
_SLOTS: Final = tuple(slot.to_bytes(4, "little") for slot in range(NODES))
_FIRST_SLOT: Final = _SLOTS[0]
_EMPTY: Final = blake2b(digest_size=CODE_BYTES)


def network_codes(cells: Sequence[Sources], initial: Sequence[bytes]) -> list[Code]:
    """Code of each node, in the order of the genotype.

    Args:
        cells: What the additions of each cell read.
        initial: What is known of each node by itself: input, stem, the cells one after the other,
            pool, linear. A cell is twice an operation and their addition, four times, and the
            concatenation.
    """
    past = _past(cells, initial)
    # From the last node to the first.
    whole = [_code(past.pop())]
    whole.append(_code(past.pop() + whole[-1] + _FIRST_SLOT))
    # What reads a cell, the cell before it, and the cell before that.
    own: list[bytes] = [whole[-1] + _FIRST_SLOT]
    last: list[bytes] = []
    before: list[bytes] = []
    for sources in reversed(cells):
        _future_of_cell(sources, past, whole, (own, last, before))
        own, last, before = last, before, []
    # The first two cells read the stem, as if it were two more cells.
    whole.append(_code(past.pop() + b"".join(sorted(own + last))))
    whole.append(_code(past.pop() + whole[-1] + _FIRST_SLOT))
    whole.reverse()
    return whole


def _past(cells: Sequence[Sources], initial: Sequence[bytes]) -> list[Code]:
    """Code of each node from everything above it."""
    known = iter(initial)
    begin = _EMPTY.copy
    past = [_code(next(known))]
    past.append(_code(next(known) + past[0]))
    before, last = past[1], past[1]
    for sources in cells:
        values = [before, last]
        for source, other_source in sources:
            # Written out: these lines run five hundred times a network.
            hasher = begin()
            hasher.update(next(known) + values[source])
            one = hasher.digest()
            hasher = begin()
            hasher.update(next(known) + values[other_source])
            other = hasher.digest()
            hasher = begin()
            hasher.update(next(known) + (one + other if one < other else other + one))
            total = hasher.digest()
            past += (one, other, total)
            values.append(total)
        before, last = last, _code(next(known) + b"".join(values[2:]))
        past.append(last)
    past.append(_code(next(known) + last))
    past.append(_code(next(known) + past[-1]))
    return past


def _future_of_cell(
    sources: Sources, past: list[Code], whole: list[Code], readers: Sequence[list[bytes]]
) -> None:
    """The whole codes of a cell, from its concatenation up.

    Args:
        sources: What its additions read.
        past: Codes of all nodes up to the last of this cell; the codes of this cell are taken off.
        whole: The whole codes so far; the codes of this cell are added.
        readers: Three lists of what reads a cell. The list of this cell is complete; to the lists
            of the two cells before it, this function adds what this cell reads.
    """
    own, last, before = readers
    begin = _EMPTY.copy
    own.sort()
    future = _code(past.pop() + b"".join(own))
    whole.append(future)
    read_by = (before, last, *[[future + slot] for slot in _SLOTS])
    for node in reversed(range(NODES)):
        source, other_source = sources[node]
        futures = read_by[2 + node]
        futures.sort()
        hasher = begin()
        hasher.update(past.pop() + b"".join(futures))
        total = hasher.digest()
        future = total + _FIRST_SLOT
        hasher = begin()
        hasher.update(past.pop() + future)
        other = hasher.digest()
        hasher = begin()
        hasher.update(past.pop() + future)
        one = hasher.digest()
        whole += (total, other, one)
        read_by[other_source].append(other + _FIRST_SLOT)
        read_by[source].append(one + _FIRST_SLOT)


def _code(content: bytes) -> Code:
    hasher = _EMPTY.copy()
    hasher.update(content)
    return hasher.digest()


# The canonical order of a cell's nodes, from what its additions read, without the whole graph.
#
# Each cell reads the cell before it, so the canonical order of `nar.graphs.canonical` ends every
# cell, with its concatenation last, before it begins the next. Within a cell the order follows
# depth. Where the two operations of an addition lie equally deep it follows their codes: if these
# put the second operation first, the addition is flipped.

# The flipped additions of a cell, a bit each.
Flips = int

# Depths of the two values that a cell reads, by whether it is the first. The nearer cell is at
# least a cell, 3 nodes, deeper than the one before; the first cell reads the stem twice.
_DEPTHS: Final = {False: (0, 3), True: (0, 0)}


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """Order and edges of a cell.

    Attributes:
        order: Shape (CELL_NODES,), numbers of the nodes in canonical order.
        edges: Shape (2, 20), by reader: 0 and 1 are the cells before, the cell's nodes follow in
            canonical order.
    """

    order: NDArray[np.intp]
    edges: NDArray[np.int32]


def sources_of(cell: Cell) -> Sources:
    """What the additions of a cell read."""
    return tuple((first.source, second.source) for first, second in cell.nodes)


@cache
def undecided(sources: Sources, *, is_first: bool) -> tuple[int, ...]:
    """Additions whose two operations lie equally deep: their codes decide which comes first."""
    depths = _value_depths(sources, is_first=is_first)
    pairs = enumerate(sources)
    return tuple(node for node, (one, other) in pairs if depths[one] == depths[other])


@cache
def arrangement(sources: Sources, flips: Flips, *, is_first: bool) -> Arrangement:
    """The arrangement of a cell; the whole space has 5,760 at most.

    Args:
        sources: What its additions read.
        flips: The flipped additions, all among the `undecided`.
        is_first: Whether it is the first cell of the network.
    """
    depths = _value_depths(sources, is_first=is_first)
    drawn: list[int] = []

    def visit(node: int) -> None:
        """The nodes above an addition, then the addition."""
        sides = sorted((0, 1), key=lambda side: -depths[sources[node][side]])
        for side in reversed(sides) if flips >> node & 1 else sides:
            source = sources[node][side]
            if source >= 2 and 3 * (source - 2) + 2 not in drawn:
                visit(source - 2)
            drawn.append(3 * node + side)
        drawn.append(3 * node + 2)

    for node in sorted(range(NODES), key=lambda node: -depths[2 + node]):
        if 3 * node + 2 not in drawn:
            visit(node)
    drawn.append(CELL_NODES - 1)
    return Arrangement(np.array(drawn), _edges(sources, drawn))


def _value_depths(sources: Sources, *, is_first: bool) -> list[int]:
    depths = list(_DEPTHS[is_first])
    for one, other in sources:
        depths.append(2 + max(depths[one], depths[other]))
    return depths


def _edges(sources: Sources, drawn: list[int]) -> NDArray[np.int32]:
    number = {node: 2 + position for position, node in enumerate(drawn)}
    values = [0, 1, *(number[3 * node + 2] for node in range(NODES))]
    operands = {
        **{
            3 * node + side: [values[sources[node][side]]]
            for node in range(NODES)
            for side in (0, 1)
        },
        **{3 * node + 2: sorted((number[3 * node], number[3 * node + 1])) for node in range(NODES)},
        CELL_NODES - 1: values[2:],
    }
    pairs = [(source, number[node]) for node in drawn for source in operands[node]]
    return np.array(pairs, dtype=np.int32).T
