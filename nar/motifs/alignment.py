"""Alignment: which operators of one graph stand for which operators of another one.

Both graphs are sequences in canonical order. Operators are paired where they are equal with their
surroundings first; what is left between two pairs is then asked with smaller surroundings, and at
last by class alone, so that a convolution stands for a grouped one. A longest common subsequence
does not say which of several equal operators stand for each other, and it loses a branch that comes
in another order: pairs slide to where they agree best, and what moved finds its counterpart::

    first    input ─> conv ─> relu ─> add
    second   input ─> conv ─> gelu ─> mul ─> add        relu - gelu, and mul is new

Every step is a longest common subsequence, by integers that hold a bit for each operator: 10,000
operators against 10,000 take some 0.1 s.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from nar.graphs.graph import ComputationalGraph, operand_lists, reader_lists
from nar.graphs.hashing import ATTRIBUTE, operator_codes, salted
from nar.graphs.ops import ATTRIBUTES, MAX_OP_ID, OPS, Trait, mask_of, op_id
from nar.graphs.ragged import Integers
from nar.motifs.borders import HAS_WEIGHTS
from nar.motifs.neighbours import (
    refine,
    refine_downwards,
    refine_upwards,
    wiring,
    with_attributes,
)

# What makes a layer another one. Strides and ratios of widths differ from stage to stage, and heads
# with the width: an edit is the same edit in each of them.
_KEYS: Final = tuple(
    ATTRIBUTES.index(name)
    for name in ("kernel", "kernel_shape", "dilation", "rank", "parameter_operands")
)
# Chosen: distances between equal operators that may be the size of a block.
_CANDIDATES: Final = 4
# The level of `AlignedGraph.levels` that compares operators by themselves.
KEYED: Final = 2
_POOLS: Final = ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool")


_OPERATORS: Final = np.arange(MAX_OP_ID + 1)
# The class of each possible operator: poolings, activations, norms and convolutions have one each.
_CLASSES: Final = np.select(
    (
        np.isin(_OPERATORS, [op_id(name) for name in _POOLS]),
        mask_of(Trait.ACTIVATION),
        mask_of(Trait.NORM),
        mask_of(Trait.CONVOLVES),
    ),
    (len(OPS) + 3, len(OPS) + 2, len(OPS) + 1, len(OPS)),
    _OPERATORS,
)
LAYER_CLASSES: Final = frozenset(_CLASSES[: len(OPS)][HAS_WEIGHTS[: len(OPS)]].tolist())


class AlignedGraph:
    """A graph with what its operators are compared by.

    Attributes:
        levels: Codes of all nodes, from the largest surroundings to the class alone.
        plain: Code of the operator of each node.
        classes: The class of each node.
        above: Code of each node with the operators that it reads.
        below: Code of each node with the operators that read it.
        exact: Code of each node with all attributes.
        crossing: How many values cross the place before each node, and behind the last one.
        stack: The largest stack of one block, see `_stack`.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        wires = wiring([graph])
        plain = operator_codes(wires.op_ids)
        keyed = plain
        for column in graph.attributes[:, _KEYS].T:
            keyed = salted(keyed, column.astype(np.int64), ATTRIBUTE)
        classes = _CLASSES[graph.op_ids]
        levels = (refine(keyed, wires, 2), refine(keyed, wires, 1), keyed, plain, classes)
        self.levels: list[list[int]] = [level.tolist() for level in levels]
        self.plain, self.classes = self.levels[-2:]
        self.above: list[int] = refine_upwards(plain, wires).tolist()
        self.below: list[int] = refine_downwards(plain, wires).tolist()
        self.exact: list[int] = with_attributes(plain, [graph]).tolist()
        self.crossing: list[int] = _crossing(graph).tolist()
        self.stack = _stack(self)
        self._graph = graph

    @cached_property
    def operands(self) -> list[list[int]]:
        """What each node reads."""
        return operand_lists(self._graph.nodes, self._graph.edge_index)

    @cached_property
    def readers(self) -> list[list[int]]:
        """What reads each node."""
        return reader_lists(self._graph.nodes, self._graph.edge_index)


def _crossing(graph: ComputationalGraph) -> Integers:
    source, target = graph.edge_index.astype(np.int64)
    last = np.zeros(graph.nodes, dtype=np.int64)
    np.maximum.at(last, source, target)
    read = np.flatnonzero(last)
    change = np.bincount(read + 1, minlength=graph.nodes + 2)
    change -= np.bincount(last[read] + 1, minlength=graph.nodes + 2)
    return np.cumsum(change)


def _stack(side: AlignedGraph) -> tuple[range, int] | None:
    """The nodes of the longest run of a block that follows itself, and the size of the block.

    None where it is less than half of the graph.
    """
    codes = np.array(side.plain, dtype=np.uint64)
    around = np.array(side.levels[0], dtype=np.uint64)
    order = np.argsort(around, kind="stable")
    follows = around[order][1:] == around[order][:-1]
    distances = Counter(np.diff(order)[follows].tolist())
    best: tuple[range, int] | None = None
    for step, _ in distances.most_common(_CANDIDATES):
        differs = np.flatnonzero(np.append(codes[step:] != codes[:-step], True))
        lengths = np.diff(differs, prepend=-1) - 1
        longest = int(lengths.argmax())
        first = int(differs[longest] - lengths[longest])
        stack = range(first, int(differs[longest]) + step)
        if lengths[longest] >= step and (best is None or len(stack) > len(best[0])):
            best = stack, step
    return best if best and 2 * len(best[0]) >= len(codes) else None


# Chosen: share of the smaller graph that may have moved; where more has no counterpart, the graphs
# are not the same in another order, but others.
_MOST_MOVED: Final = 0.4
# Chosen: a branch that changed places with the next one is one of the next gaps; farther ones are
# blocks of their own.
_NEAR_GAPS: Final = 4


def gaps_of(
    pairs: Sequence[tuple[int, int]], sizes: tuple[int, int]
) -> Iterator[tuple[range, range]]:
    """What stands between two pairs; one of both may be empty."""
    for (left, right), (until, to) in pairwise([(-1, -1), *pairs, sizes]):
        if until - left > 1 or to - right > 1:
            yield range(left + 1, until), range(right + 1, to)


def slid(
    pairs: Sequence[tuple[int, int]], sides: tuple[AlignedGraph, AlignedGraph]
) -> list[tuple[int, int]]:
    """Slide what only one graph has to where it fits best.

    ``a [b a] b`` and ``[a b] a b`` and ``a b [a b]`` lack the same: the pairs around should agree
    in what they read and are read by, then few values should cross the ends of what is lacked, and
    then it should begin with a layer.
    """
    sizes = len(sides[0].classes), len(sides[1].classes)
    counterpart = dict(pairs)
    for left, right in list(gaps_of(pairs, sizes)):
        if left and right:
            continue
        side = 1 if right else 0
        gap, place = (right, left.start) if right else (left, right.start)
        _Slide(sides, side, gap, place, counterpart).apply()
    return sorted(counterpart.items())


class _Slide:
    """What only one graph has in one place, and how far it can be moved along its order.

    Args:
        sides: Both graphs.
        side: Which of them has it.
        gap: Its nodes.
        place: The node of the other graph before which it stands.
        counterpart: Pairs of nodes; changed by `apply`.
    """

    def __init__(
        self,
        sides: tuple[AlignedGraph, AlignedGraph],
        side: int,
        gap: range,
        place: int,
        counterpart: dict[int, int],
    ) -> None:
        self._sides, self._side, self._gap, self._place = sides, side, gap, place
        self._counterpart = counterpart

    def apply(self) -> None:
        """Put the pairs around into the best order."""
        best, moves = self._cost(0, 0), list[tuple[int, int]]()
        for step in (-1, 1):
            score, taken = 0, list[tuple[int, int]]()
            for distance in range(len(self._gap)):
                move = self._move(step, distance)
                if move is None:
                    break
                other, old, new = move
                score += self._score(other, new) - self._score(other, old)
                taken.append((other, new))
                cost = self._cost(score, step * (distance + 1))
                if cost < best:
                    best, moves = cost, taken.copy()
        for other, new in moves:
            self._pair(other, new)

    def _move(self, step: int, distance: int) -> tuple[int, int, int] | None:
        """A node of the other graph, its counterpart, and the counterpart that it would get."""
        if step < 0:
            other, old = self._place - 1 - distance, self._gap.start - 1 - distance
            new = self._gap.stop - 1 - distance
        else:
            other, old = self._place + distance, self._gap.stop + distance
            new = self._gap.start + distance
        classes = self._sides[self._side].classes
        is_paired = other >= 0 and old >= 0 and old < len(classes) and self._are_paired(other, old)
        return (other, old, new) if is_paired and classes[old] == classes[new] else None

    def _are_paired(self, other: int, own: int) -> bool:
        first, second = (other, own) if self._side else (own, other)
        return self._counterpart.get(first) == second

    def _pair(self, other: int, own: int) -> None:
        if self._side:
            self._counterpart[other] = own
            return
        # A node of the first graph that gives its counterpart away is in the gap afterwards.
        old = next(
            node
            for node in (own - len(self._gap), own + len(self._gap))
            if self._counterpart.get(node) == other
        )
        del self._counterpart[old]
        self._counterpart[own] = other

    def _score(self, other: int, own: int) -> int:
        """In how much two nodes agree."""
        mine, its = self._sides[self._side], self._sides[1 - self._side]
        return sum(
            one[own] == two[other]
            for one, two in (
                (mine.exact, its.exact), (mine.above, its.above), (mine.below, its.below),
            )
        )  # fmt: skip

    def _cost(self, score: int, shift: int) -> tuple[int, int, bool, int]:
        own = self._sides[self._side]
        start, stop = self._gap.start + shift, self._gap.stop + shift
        ends = own.crossing[start] + own.crossing[stop]
        return (-score, ends, own.classes[start] not in LAYER_CLASSES, abs(shift))


def by_layers(
    pairs: Sequence[tuple[int, int]], sides: tuple[AlignedGraph, AlignedGraph]
) -> list[tuple[int, int]]:
    """Where two operators changed their order, keep the pair of operators with weights.

    ``norm linear`` and ``linear norm`` lack a pair of norms, and not one of linear layers.
    """
    left, right = dict(pairs), {other: one for one, other in pairs}
    for one, other in pairs:
        for step in (1, -1):
            near = one + step, other - step
            is_free = near[0] not in left and near[1] not in right
            inside = 0 <= near[0] < len(sides[0].classes) and 0 <= near[1] < len(sides[1].classes)
            if not (is_free and inside) or sides[0].classes[near[0]] != sides[1].classes[near[1]]:
                continue
            heavier = sides[0].classes[near[0]] in LAYER_CLASSES
            if heavier and sides[0].classes[one] not in LAYER_CLASSES and one in left:
                del left[one], right[other]
                left[near[0]], right[near[1]] = near[1], near[0]
    return sorted(left.items())


def moved_pairs(
    pairs: Sequence[tuple[int, int]], sides: tuple[AlignedGraph, AlignedGraph]
) -> Iterator[tuple[int, int]]:
    """Pair what stands elsewhere in the order: a branch that became deeper than another one."""
    gaps = list(gaps_of(pairs, (len(sides[0].plain), len(sides[1].plain))))
    left = {node for nodes, _ in gaps for node in nodes}
    right = {node for _, nodes in gaps for node in nodes}
    smaller = min(len(side.plain) for side in sides)
    if not left or not right or min(len(left), len(right)) > _MOST_MOVED * smaller:
        return
    counterpart = dict(pairs)
    for level in range(2):
        one, other = (side.levels[level] for side in sides)
        _take(_equal(sorted(left), sorted(right), one, other), left, right, counterpart)
    untouched = [
        (one, other) for one, other in gaps if left.issuperset(one) and right.issuperset(other)
    ]
    _take(_swapped(untouched, sides), left, right, counterpart)
    for neighbours in ("operands", "readers"):
        _take(_beside(neighbours, sides, left, right, counterpart), left, right, counterpart)
    yield from (counterpart.items() - set(pairs))


def _take(
    found: Iterable[tuple[int, int]], left: set[int], right: set[int], counterpart: dict[int, int]
) -> None:
    """Keep pairs as they are found; their nodes are no longer free."""
    for one, other in found:
        left.discard(one)
        right.discard(other)
        counterpart[one] = other


def _beside(
    neighbours: str,
    sides: tuple[AlignedGraph, AlignedGraph],
    left: Set[int],
    right: Set[int],
    counterpart: Mapping[int, int],
) -> Iterator[tuple[int, int]]:
    """Equal operators that read what stands for each other, or are read by it."""
    one, other = (getattr(side, neighbours) for side in sides)
    keys = [side.levels[KEYED] for side in sides]
    back = neighbours == "readers"
    for node in sorted(left, reverse=back):
        around = tuple(sorted(counterpart.get(each, -1) for each in one[node]))
        if not around or around[0] < 0:
            continue
        free = (
            each
            for each in (sides[1].readers if not back else sides[1].operands)[around[0]]
            if each in right
            and keys[1][each] == keys[0][node]
            and tuple(sorted(other[each])) == around
        )
        found = next(free, None)
        if found is not None:
            yield node, found


def _swapped(
    gaps: Sequence[tuple[range, range]], sides: tuple[AlignedGraph, AlignedGraph]
) -> Iterator[tuple[int, int]]:
    """Branches of equal classes that changed their order: one is gone where the other one came."""
    waiting: defaultdict[tuple[int, ...], list[tuple[int, int, range]]] = defaultdict(list)
    for number, (left, right) in enumerate(gaps):
        if left and right:
            continue
        side, own = (0, left) if left else (1, right)
        classes = tuple(sides[side].classes[node] for node in own)
        if len(own) < 2 or not LAYER_CLASSES.intersection(classes):
            continue
        near = waiting[classes]
        if near and near[-1][0] != side and number - near[-1][1] <= _NEAR_GAPS:
            other = near.pop()[2]
            yield from zip(*((own, other) if side == 0 else (other, own)), strict=True)
        else:
            near.append((side, number, own))


def _equal(
    left: Sequence[int], right: Sequence[int], one: Sequence[int], other: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Nodes of equal code, each once."""
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for node in reversed(right):
        waiting[other[node]].append(node)
    for node in left:
        if waiting[one[node]]:
            yield node, waiting[one[node]].pop()


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
    sides = (AlignedGraph(first), AlignedGraph(second))
    whole = (range(first.nodes), range(second.nodes))
    found = [_aligned(sides, levels, *whole) for levels in _STRATEGIES]
    equally_deep = _equally_deep(sides)
    if tuple(map(len, equally_deep)) != (first.nodes, second.nodes):
        found += [_aligned(sides, levels, *equally_deep) for levels in _STRATEGIES]
    return min(found, key=lambda each: each.cost)


def _aligned(
    sides: tuple[AlignedGraph, AlignedGraph],
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
    sides: tuple[AlignedGraph, AlignedGraph],
) -> Iterator[Gap]:
    """What has no counterpart; blocks of a stack are kept apart from what stands beside them."""
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


def _parts(nodes: tuple[int, ...], side: AlignedGraph) -> Iterator[tuple[int, ...]]:
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
    pairs: Sequence[tuple[int, int]], gaps: Sequence[Gap], sides: tuple[AlignedGraph, AlignedGraph]
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


def _equally_deep(sides: tuple[AlignedGraph, AlignedGraph]) -> tuple[Sequence[int], Sequence[int]]:
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


# Chosen: bits of all steps of one subsequence, 50 MB; 20,000 operators against as many. What is
# longer stays unpaired between the pairs that larger surroundings gave.
_MAX_BITS: Final = 4 * 10**8


def common_subsequence(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """A longest common subsequence, as pairs of positions, ascending.

    A bit of an integer is a place of the first sequence, and each place of the second takes four
    operations on integers (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").

    Example:
        >>> common_subsequence([1, 2, 3, 4], [2, 9, 4])
        [(1, 0), (3, 2)]
    """
    before = _equal_from_start(first, second)
    limit = min(len(first), len(second)) - before
    after = min(_equal_from_start(first[::-1], second[::-1]), limit)
    ends = len(first) - after, len(second) - after
    inner = _subsequence(first[before : ends[0]], second[before : ends[1]])
    return [
        *((place, place) for place in range(before)),
        *((row + before, column + before) for row, column in inner),
        *((ends[0] + place, ends[1] + place) for place in range(after)),
    ]


def _equal_from_start(first: Sequence[int], second: Sequence[int]) -> int:
    for place, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return place
    return min(len(first), len(second))


def _subsequence(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    if not first or not second or len(first) * len(second) > _MAX_BITS:
        return []
    places: dict[int, int] = {}
    for place, key in enumerate(first):
        places[key] = places.get(key, 0) | 1 << place
    full, size = (1 << len(first)) - 1, len(first) // 8 + 1
    state, states = full, []
    for key in second:
        met = state & places.get(key, 0)
        state = ((state + met) | (state - met)) & full
        states.append(state.to_bytes(size, "little"))
    return _traced(states, len(first))


def _traced(states: Sequence[bytes], length: int) -> list[tuple[int, int]]:
    """Pairs of positions, from the states after each place of the second sequence."""
    pairs = []
    place, row = length, len(states)
    while place and row:
        byte, bit = divmod(place - 1, 8)
        if states[row - 1][byte] >> bit & 1:
            place -= 1
            continue
        row -= 1
        if not row or states[row - 1][byte] >> bit & 1:
            place -= 1
            pairs.append((place, row))
    return pairs[::-1]


def period(run: Sequence[object]) -> int:
    """The length of the shortest run that gives a run when it is repeated.

    Example:
        >>> period("abab"), period("aba")
        (2, 3)
    """
    size = len(run)
    steps = (step for step in range(1, size // 2 + 1) if size % step == 0)
    return next((step for step in steps if run[step:] == run[:-step]), size)
