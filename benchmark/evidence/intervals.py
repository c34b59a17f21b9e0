"""Shares of questions with 95% intervals, by drawing whole families again; and halves by family."""

from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import numpy as np

from benchmark.asked.shares import Share
from benchmark.tasks.task import Held

_RESAMPLES: Final = 10_000  # chosen: the ends move by less than 0.005 from seed to seed
_SEED: Final = 0
_ENDS: Final = (2.5, 97.5)


def half_of(protocol: str, family: str) -> Held:
    """Which half a family asks in, by a hash of both names."""
    is_test = blake2b(f"{protocol} {family}".encode()).digest()[0] % 2
    return "test" if is_test else "validation"


def share(told: Iterable[tuple[str, bool]]) -> Share:
    """The share of what holds, with an interval.

    Args:
        told: The family of each question, and whether it holds of it.

    Example:
        >>> str(share([("resnet", True), ("resnet", True), ("vit", True)]))
        '1.000 (1.000-1.000)'
    """
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for family, holds in told:
        counts[family][0] += holds
        counts[family][1] += 1
    if not counts:
        return Share(0, 0.0, 0.0, 1.0)
    table = np.array(list(counts.values()))
    rng = np.random.default_rng(_SEED)
    drawn = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), _RESAMPLES)
    held, asked = (drawn @ table).T
    low, high = np.percentile(held / asked, _ENDS)
    number, total = table.sum(axis=0)
    return Share(int(number), float(number / total), float(low), float(high))
