"""Runs of unequal length, end to end in one array.

Three runs of 2, 0 and 3 items, as arrays:

    sizes      2     0    3
    offsets    0     2    2       5      where each run begins, and where the last one ends
    owners     0  0       2  2  2        run of each item
    ranks      0  1       0  1  2        place of each item in its run
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def offsets(sizes: Sequence[int] | NDArray[np.integer]) -> Integers:
    """Where each run begins, and where the last one ends: shape (runs + 1,).

    Example:
        >>> offsets([2, 0, 3])
        array([0, 2, 2, 5])
    """
    begins = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=begins[1:])
    return begins


def owners(sizes: Sequence[int] | NDArray[np.integer]) -> Integers:
    """Run of each item: shape (items,).

    Example:
        >>> owners([2, 0, 3])
        array([0, 0, 2, 2, 2])
    """
    return np.repeat(np.arange(len(sizes)), sizes)


def ranks(sizes: Sequence[int] | NDArray[np.integer]) -> Integers:
    """Place of each item in its run: shape (items,).

    Example:
        >>> ranks([2, 0, 3])
        array([0, 1, 0, 1, 2])
    """
    begins = offsets(sizes)
    return np.arange(begins[-1]) - np.repeat(begins[:-1], sizes)


def slices(start: Integers, chosen: Integers) -> tuple[Integers, Integers]:
    """Positions of the items of some runs.

    Args:
        start: Shape (runs + 1,), offsets of all runs.
        chosen: Shape (chosen,), runs, in any order.

    Returns:
        Positions of the items, run after run; and shape (chosen + 1,), offsets of the chosen runs.

    Example:
        >>> slices(offsets([2, 0, 3]), np.array([2, 0]))
        (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    sizes = np.diff(start)[chosen]
    begins = offsets(sizes)
    positions = np.arange(begins[-1]) + np.repeat(start[chosen] - begins[:-1], sizes)
    return positions, begins


def sums_of_runs(values: NDArray[np.float32], start: Integers) -> NDArray[np.float32]:
    """Sum of each run: shape (runs, dim); a run without items sums up to zeros.

    A sum is the same to the bit whatever runs stand beside it.

    Args:
        values: Shape (items, dim).
        start: Shape (runs + 1,), offsets of the runs.

    Example:
        >>> sums_of_runs(np.float32([[1], [2], [3]]), offsets([2, 0, 1])).tolist()
        [[3.0], [0.0], [3.0]]
    """
    sums = np.zeros((len(start) - 1, values.shape[1]), dtype=np.float32)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        sums[filled] = np.add.reduceat(values, start[filled], axis=0)
    return sums


def slices_within(sizes: Sequence[int], budget: int) -> Iterator[slice]:
    """Consecutive items whose sizes add up to at most ``budget``; a larger item is alone."""
    start = total = 0
    for position, size in enumerate(sizes):
        if position > start and total + size > budget:
            yield slice(start, position)
            start, total = position, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
