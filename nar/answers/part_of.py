"""PartOf: whether a graph is a part of another one, how much of it, and which end is missing.

A part is what was cut out: where the whole has further operators, it has an input, or nothing. Each
node is known with what stands above it, as far up as the query's inputs let one see, and is looked
for in the whole:

      whole   input ─> conv ─> relu ─> conv ─> relu ─> mean ─> linear
      query                    input ─> conv ─> relu ─> mean
              sees                      0       1       2      steps above it

A family repeats its blocks, so a larger member contains a smaller one as well. The smaller one is
no part, as it has the stem and the head of the larger one: a part begins or ends where the whole
goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import OWNER, Codes, operator_codes, salted
from nar.graphs.ragged import Integers, ranks
from nar.motifs.borders import EMBEDDING, HAS_WEIGHTS, INPUT
from nar.motifs.neighbours import refine_upwards, wiring, with_attributes

Where = Literal["the beginning", "the middle", "the end", ""]
Mask = NDArray[np.bool_]

# Steps above a node that are compared; chosen on validation data: `results/part_of.md`.
RADIUS: Final = 8
# Chosen on validation data: `results/part_of.md`. A lower share gives more false alarms.
MIN_SHARE: Final = 0.9

# (it begins inside the whole, it ends inside the whole) -> where it was cut out.
_WHERE: Final[Mapping[tuple[bool, bool], Where]] = {
    (False, True): "the beginning",
    (True, True): "the middle",
    (True, False): "the end",
    (False, False): "",
}


@dataclass(frozen=True, slots=True)
class PartOf:
    """How much of a query a whole contains. Inputs are not counted.

    Attributes:
        share: Share of the query's operators that the whole has as well, 0 to 1; what occurs
            twice in the query has to occur twice in the whole.
        of_whole: Share of the whole's operators that the query covers, 0 to 1.
        where: Where the query was cut out; empty if it lacks no end of the whole, or no layer.
    """

    share: float
    of_whole: float
    where: Where

    def is_part(self, min_share: float = MIN_SHARE) -> bool:
        """Whether the query is called a part of the whole."""
        return bool(self.where) and self.share >= min_share


@dataclass(frozen=True, slots=True)
class Whole:
    """What a query is a part of.

    Attributes:
        name: Name of the whole.
        part: How much of the query it contains, and where.
    """

    name: str
    part: PartOf


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A graph as comparisons read it.

    Attributes:
        codes: Shape (radius + 1, nodes), each node with what stands so many steps above it.
        sees: Shape (nodes,), steps above a node that reach no input, the radius at most.
        is_operator: Shape (nodes,), whether a node is no input.
        is_read: Shape (nodes,), whether something reads its value.
        begins: Shape (nodes,), whether it reads an input or words.
        has_weights: Shape (nodes,).
    """

    codes: Codes
    sees: Integers
    is_operator: Mask
    is_read: Mask
    begins: Mask
    has_weights: Mask


def part_of(query: ComputationalGraph, whole: ComputationalGraph) -> PartOf:
    """How much of a query a whole contains, and where in it; linear in both but for sorting.

    Args:
        query: Canonical graph.
        whole: Canonical graph.
    """
    return compared(reading(query), reading(whole))


def wholes_of(
    query: ComputationalGraph, known: Mapping[str, ComputationalGraph]
) -> tuple[Whole, ...]:
    """What a query is a part of: the largest share of the query first, then the smallest whole.

    Args:
        query: Canonical graph.
        known: Canonical graphs by name; equals keep their order.
    """
    own = reading(query)
    return in_order([Whole(name, compared(own, reading(graph))) for name, graph in known.items()])


def in_order(compared_with: Sequence[Whole], min_share: float = MIN_SHARE) -> tuple[Whole, ...]:
    """The compared architectures that the query is a part of, ordered as in `wholes_of`."""
    parts = [whole for whole in compared_with if whole.part.is_part(min_share)]
    return tuple(sorted(parts, key=lambda whole: (-whole.part.share, -whole.part.of_whole)))


def reading(graph: ComputationalGraph, radius: int = RADIUS) -> Reading:
    """Read a canonical graph.

    Args:
        graph: The graph.
        radius: Steps above a node that its codes cover.
    """
    wires = wiring([graph])
    levels = [with_attributes(operator_codes(wires.op_ids), [graph])]
    is_input = wires.op_ids == INPUT
    reached, sees = is_input.copy(), np.zeros(graph.nodes, dtype=np.int64)
    for _ in range(radius):
        levels.append(refine_upwards(levels[-1], wires))
        reached[wires.target[reached[wires.source]]] = True
        sees += ~reached
    is_read = np.zeros(graph.nodes, dtype=np.bool_)
    is_read[wires.source] = True
    begins = wires.op_ids == EMBEDDING
    begins[wires.target[is_input[wires.source]]] = True
    return Reading(
        codes=np.stack(levels),
        sees=sees,
        is_operator=~is_input,
        is_read=is_read,
        begins=begins,
        has_weights=HAS_WEIGHTS[wires.op_ids],
    )


def compared(query: Reading, whole: Reading) -> PartOf:
    """The same as `part_of`, for graphs that were read with the same radius."""
    free = whole.is_operator.copy()
    covered = np.zeros(len(query.sees), dtype=np.bool_)
    ends_inside = False
    # Nodes that see most steps are placed first: the others have more nodes to choose from.
    for level in reversed(range(len(query.codes))):
        mine = np.flatnonzero(query.is_operator & (query.sees == level))
        wanted, left = query.codes[level][mine], np.flatnonzero(free)
        # At most levels few nodes are placed: only nodes of the whole that may match are sorted.
        left = left[np.isin(whole.codes[level][left], wanted)]
        offered = whole.codes[level][left]
        keys, others = _numbered(wanted), _numbered(offered)
        covered[mine] = np.isin(keys, others)
        free[left[np.isin(others, keys)]] = False
        ends = covered[mine] & ~query.is_read[mine]
        ends_inside |= _goes_on(wanted[ends], whole.codes[level], whole.is_read)
    begins_inside = _goes_on(query.codes[0][query.begins & covered], whole.codes[0], ~whole.begins)
    placed = int(covered.sum())
    own, its = int(query.is_operator.sum()), int(whole.is_operator.sum())
    is_larger = its > own and bool((free & whole.has_weights).any())
    return PartOf(
        share=placed / max(own, 1),
        of_whole=placed / max(its, 1),
        where=_WHERE[begins_inside, ends_inside] if is_larger else "",
    )


def _numbered(codes: Codes) -> Codes:
    """Each code with its count so far: equal codes of two lists then match one to one."""
    _, kind, counts = np.unique(codes, return_inverse=True, return_counts=True)
    number = np.empty(len(codes), dtype=np.int64)
    number[np.argsort(kind, kind="stable")] = ranks(counts)
    return salted(codes, number, OWNER)


def _goes_on(ends: Codes, codes: Codes, inside: Mask) -> bool:
    """Whether an end of the query stands inside the whole, and at no end of it."""
    is_inside = np.isin(ends, codes[inside]) & ~np.isin(ends, codes[~inside])
    return bool(is_inside.any())
