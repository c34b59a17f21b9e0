"""Sliding: pairs of operators are put where they agree best, and what moved finds its counterpart.

A longest common subsequence does not say which of several equal operators stand for each other, and
it loses a branch that comes in another order.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Final

from nar.motifs.coded import KEYED, LAYER_CLASSES, Coded

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


def slid(pairs: Sequence[tuple[int, int]], sides: tuple[Coded, Coded]) -> list[tuple[int, int]]:
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
        sides: tuple[Coded, Coded],
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
        """A node of the other graph, its counterpart, and the one that it would get instead."""
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
    pairs: Sequence[tuple[int, int]], sides: tuple[Coded, Coded]
) -> list[tuple[int, int]]:
    """Where two operators changed their order, keep the pair of those with weights.

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
    pairs: Sequence[tuple[int, int]], sides: tuple[Coded, Coded]
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
    sides: tuple[Coded, Coded],
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
    gaps: Sequence[tuple[range, range]], sides: tuple[Coded, Coded]
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
