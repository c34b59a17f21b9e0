"""Runs of unequal length that are laid end to end in one array."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def slices(start: Integers, chosen: Integers) -> tuple[Integers, Integers]:
    """Where the items of some runs stand.

    Args:
        start: Shape (runs + 1,), where each run begins.
        chosen: Shape (chosen,), runs, in any order.

    Returns:
        Places of their items, run after run; and shape (chosen + 1,), where each run begins then.
    """
    sizes = np.diff(start)[chosen]
    begins = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    places: Integers = np.arange(begins[-1]) + np.repeat(start[chosen] - begins[:-1], sizes)
    return places, begins
