"""Shares of verdicts with 95% intervals, and the seconds that questions take."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmark.asked.asking import Asked, Verdict

VERDICTS: Final[tuple[Verdict, ...]] = ("right", "wrong", "refused")
_RESAMPLES: Final = 10_000  # chosen: the ends move by less than 0.005 from seed to seed
_SEED: Final = 0
_ENDS: Final = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of all that were asked.

    Attributes:
        number: How many.
        share: Their share.
        low: Lower end of its 95% interval.
        high: Upper end.
    """

    number: int
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.share:.3f} ({self.low:.3f}-{self.high:.3f})"


def shares(asked: Sequence[Asked], groups: Mapping[str, str]) -> dict[str, Share]:
    """The share of each verdict; intervals by drawing whole groups again, 10,000 times.

    Classes of one library are alike, so that a library is what is drawn.

    Args:
        asked: The answers. What has no truth here is left out.
        groups: Name of a question -> its group.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in asked:
        if each.verdict in VERDICTS:
            counts[groups[each.name]][each.verdict] += 1
    table = np.array([[count[verdict] for verdict in VERDICTS] for count in counts.values()])
    totals = table.sum(axis=1)
    rng = np.random.default_rng(_SEED)
    drawn = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), _RESAMPLES)
    resampled = (drawn @ table) / (drawn @ totals)[:, None]
    lows, highs = np.percentile(resampled, _ENDS, axis=0)
    numbers = table.sum(axis=0)
    return {
        verdict: Share(int(numbers[n]), float(numbers[n] / totals.sum()), lows[n], highs[n])
        for n, verdict in enumerate(VERDICTS)
    }


def seconds(asked: Sequence[Asked]) -> tuple[float, float]:
    """Median and 90th percentile of the seconds beyond imports, building and capture."""
    taken = [each.seconds for each in asked if each.verdict in VERDICTS]
    median, p90 = np.percentile(taken, (50, 90))
    return float(median), float(p90)
