"""Longest common subsequences, and periods, of sequences of codes."""

from collections.abc import Sequence
from typing import Final

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
