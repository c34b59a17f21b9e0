"""The canonical order of a cell's nodes, had from what its additions read and no whole graph.

Each cell reads the one before it, so that the canonical order of `nar.graphs.canonical` ends every
cell before it begins the next, with the concatenation at its end. Within a cell it goes by depth,
and where the two operations of an addition lie equally deep, by their codes: that is a flip.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.zoo.sources.darts.genotypes import NODES, Cell
from nar.zoo.sources.darts.node_codes import CELL_NODES, Sources

# Additions whose operands are visited the other way round, a bit each.
Flips = int

# Deeper than the cell before it by a cell at least; the stem stands for both of the first one.
_DEPTHS: Final = {False: (0, 3), True: (0, 0)}


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """Order and edges of a cell.

    Attributes:
        order: Shape (CELL_NODES,), nodes as they are drawn, in canonical order.
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
    """Additions whose operations lie equally deep: codes decide which of them comes first."""
    depths = _value_depths(sources, is_first=is_first)
    pairs = enumerate(sources)
    return tuple(node for node, (one, other) in pairs if depths[one] == depths[other])


@cache
def arrangement(sources: Sources, flips: Flips, *, is_first: bool) -> Arrangement:
    """The arrangement of a cell; the whole space has 5,760 at most.

    Args:
        sources: What its additions read.
        flips: Of `undecided` additions.
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
