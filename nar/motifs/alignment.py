"""Alignment: which operators of one graph stand for which operators of another one.

Both graphs are sequences in canonical order. Operators are paired where they are equal with their
surroundings first; what is left between two pairs is then asked with smaller surroundings, and at
last by class alone, so that a convolution stands for a grouped one::

    first    input ─> conv ─> relu ─> add
    second   input ─> conv ─> gelu ─> mul ─> add        relu - gelu, and mul is new

Every step is a longest common subsequence, by integers that hold a bit for each operator: 10,000
operators against 10,000 take some 0.1 s.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nar.graphs.graph import ComputationalGraph
from nar.motifs.coded import Coded
from nar.motifs.sliding import by_layers, gaps_of, moved_pairs, slid
from nar.motifs.subsequence import common_subsequence, period

# Levels of codes, from the largest surroundings on, and without any: where something changed in all
# surroundings, those that are still equal belong to other layers. The better one is taken.
_STRATEGIES: Final = ((0, 1, 2, 3, 4), (2, 3, 4))
# Chosen: what a place costs beside an operator of an edit. One edit of two operators in 200 places
# is a better account than 20 edits of two operators in one place each.
_PLACE_COST: Final = 0.1


@dataclass(frozen=True, slots=True)
class Gap:
    """What has no counterpart between two pairs; one side may be empty.

    Attributes:
        first: Nodes of the first graph, ascending.
        second: Nodes of the second graph, ascending.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Pairs of operators of two graphs, and what is between them.

    Attributes:
        pairs: A node of the first graph and its counterpart in the second, by the first. Most stand
            in the order of both; a branch that became deeper than another one comes before it.
        gaps: What has no counterpart.
        cost: How long it takes to say what is not the same.
    """

    pairs: tuple[tuple[int, int], ...]
    gaps: tuple[Gap, ...]
    cost: float


def align(first: ComputationalGraph, second: ComputationalGraph) -> Alignment:
    """Pair the operators of two canonical graphs.

    Args:
        first: A graph.
        second: Another one.
    """
    sides = (Coded(first), Coded(second))
    whole = (range(first.nodes), range(second.nodes))
    found = [_aligned(sides, levels, *whole) for levels in _STRATEGIES]
    equally_deep = _equally_deep(sides)
    if tuple(map(len, equally_deep)) != (first.nodes, second.nodes):
        found += [_aligned(sides, levels, *equally_deep) for levels in _STRATEGIES]
    return min(found, key=lambda each: each.cost)


def _aligned(
    sides: tuple[Coded, Coded],
    levels: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
) -> Alignment:
    """Pair some nodes of both graphs; the others have no counterpart."""
    places: list[tuple[int, int]] = []
    for level in levels:
        one = [sides[0].levels[level][node] for node in first]
        other = [sides[1].levels[level][node] for node in second]
        places.extend(
            (left[row], right[column])
            for left, right in list(gaps_of(places, (len(first), len(second))))
            if left and right
            for row, column in common_subsequence(
                one[left.start : left.stop], other[right.start : right.stop]
            )
        )
        places.sort()
    pairs = slid([(first[row], second[column]) for row, column in places], sides)
    pairs = by_layers(pairs, sides)
    moved = list(moved_pairs(pairs, sides))
    gaps = list(_left_over(pairs, moved, sides))
    pairs = sorted((*pairs, *moved))
    return Alignment(tuple(pairs), tuple(gaps), _cost(pairs, gaps, sides))


def _left_over(
    pairs: Sequence[tuple[int, int]],
    moved: Sequence[tuple[int, int]],
    sides: tuple[Coded, Coded],
) -> Iterator[Gap]:
    """What has no counterpart; blocks of a stack are told apart from what stands beside them."""
    gone = {one for one, _ in moved}, {other for _, other in moved}
    for ranges in gaps_of(pairs, (len(sides[0].plain), len(sides[1].plain))):
        first, second = (
            tuple(node for node in nodes if node not in of_side)
            for nodes, of_side in zip(ranges, gone, strict=True)
        )
        if first and second:
            yield Gap(first, second)
        elif first:
            yield from (Gap(part, ()) for part in _parts(first, sides[0]))
        elif second:
            yield from (Gap((), part) for part in _parts(second, sides[1]))


def _parts(nodes: tuple[int, ...], side: Coded) -> Iterator[tuple[int, ...]]:
    """Some nodes in a row, taken apart into blocks of the stack, and what is before and behind."""
    step = side.stack[1] if side.stack else len(nodes) + 1
    whole, rest = divmod(len(nodes), step)
    if whole < 2 or not rest:
        yield nodes
        return
    codes = [side.plain[node] for node in nodes]
    for before in range(rest + 1):
        until = before + whole * step
        if codes[before : until - step] == codes[before + step : until]:
            yield from (
                part for part in (nodes[:before], nodes[before:until], nodes[until:]) if part
            )
            return
    yield nodes


def _cost(
    pairs: Sequence[tuple[int, int]], gaps: Sequence[Gap], sides: tuple[Coded, Coded]
) -> float:
    """How long it takes to say what is not the same: different edits count, and places little."""
    kinds: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for gap in gaps:
        runs = (
            tuple(side.classes[node] for node in nodes)
            for side, nodes in zip(sides, (gap.first, gap.second), strict=True)
        )
        kinds[tuple(run[: period(run)] for run in runs)] += 1
    one, other = (side.plain for side in sides)
    for left, right in pairs:
        if one[left] != other[right]:
            kinds[(one[left],), (other[right],)] += 1
    return sum(sum(map(len, kind)) + _PLACE_COST * times for kind, times in kinds.items())


def _equally_deep(sides: tuple[Coded, Coded]) -> tuple[Sequence[int], Sequence[int]]:
    """The nodes of both graphs, without blocks that the longer stack has more of."""
    nodes: list[Sequence[int]] = [range(len(side.plain)) for side in sides]
    stacks = [side.stack for side in sides if side.stack]
    if len(stacks) == len(sides):
        depth = min(len(stack) // step for stack, step in stacks)
        for side, (stack, step) in enumerate(stacks):
            gone = stack[depth * step : len(stack) // step * step]
            if gone:
                nodes[side] = [*range(gone.start), *range(gone.stop, len(nodes[side]))]
    return nodes[0], nodes[1]
