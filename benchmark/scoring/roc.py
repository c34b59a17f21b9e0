"""Area under the ROC curve: are those that are new farther than those that are known?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmark.scoring.evaluate import RESAMPLES, SEED

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Area:
    """Area under the ROC curve, over all seeds.

    Attributes:
        method: That gave the vectors.
        mean: 0.5 by chance, 1 if everything new is farther than anything known; mean over seeds.
        low: Lower end of its 95% interval, from a bootstrap over families.
        high: Upper end.
        new: Designs of held-out families, all seeds together.
        known: Held-out designs of the others.
    """

    method: str
    mean: float
    low: float
    high: float
    new: int
    known: int


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Who is asked about with one seed.

    Attributes:
        rows: Shape (designs,), one architecture of each.
        is_new: Shape (designs,), whether its family was held out.
        families: Shape (designs,).
    """

    rows: NDArray[np.int64]
    is_new: NDArray[np.bool_]
    families: tuple[str, ...]


def area(farther: Floats, is_new: NDArray[np.bool_], weight: Floats) -> float:
    """Chance that one that is new is farther than one that is not, ties half; by weight.

    Returns:
        NaN where nothing is new, or nothing known, has a weight.
    """
    order = np.argsort(farther, kind="stable")
    rank = rankdata(farther[order], method="dense") - 1
    new = np.bincount(rank, np.where(is_new, weight, 0.0)[order])
    old = np.bincount(rank, np.where(is_new, 0.0, weight)[order])
    nearer = np.cumsum(old) - old / 2
    pairs = new.sum() * old.sum()
    return float((new * nearer).sum() / pairs) if pairs else float("nan")


def pooled(method: str, seeds: Sequence[tuple[Floats, Asked]]) -> Area:
    """The mean over seeds, and its interval: whole families are drawn, in every seed the same."""
    names = sorted({family for _, asked in seeds for family in asked.families})
    number = {name: position for position, name in enumerate(names)}
    drawn = np.random.default_rng(SEED).multinomial(
        len(names), np.full(len(names), 1 / len(names)), RESAMPLES
    )
    means, draws = [], np.zeros(RESAMPLES)
    for farther, asked in seeds:
        family = np.array([number[name] for name in asked.families])
        means.append(area(farther, asked.is_new, np.ones(len(farther))))
        draws += [area(farther, asked.is_new, counts[family].astype(float)) for counts in drawn]
    low, high = np.nanquantile(draws / len(seeds), [0.025, 0.975])
    new = sum(int(asked.is_new.sum()) for _, asked in seeds)
    known = sum(int((~asked.is_new).sum()) for _, asked in seeds)
    return Area(method, float(np.mean(means)), float(low), float(high), new, known)
