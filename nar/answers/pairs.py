"""A second stage: the first hits of a query by the exact codes that both have, as pairs.

Of a query that has 40 rare paths, 30 of which an answer has as well among its own 90:

    containment of the query    30 / 40      containment of the answer    30 / 90
    Jaccard                     30 / 100     all weighed by how rare each code is

Nine kinds of codes give 27 such numbers, and four sizes eight more. A `PairScorer` weighs them; it
was learned by `python -m benchmark pairs`, which also chose how much of its score is added.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path
from nar.graphs.hashing import Codes
from nar.graphs.ragged import Integers, owners, slices
from nar.motifs.feature_sets import ASPECT_KINDS

Values = NDArray[np.float32]

KINDS: Final = len(ASPECT_KINDS)
SHARED: Final = 3 * KINDS  # both containments and Jaccard
SIZES: Final = 8  # larger, smaller by nodes, parameters, FLOPs, codes
# Scores are compared to so many decimals, as in an index.
_DECIMALS: Final = 6
SCORER_FILE: Final = "pair_scorer.json"
_NAMES: Final = (
    "operators", "neighbours", "attributes", "motifs", "paths", "bones", "paths of bones",
    "design", "skeleton",
)  # fmt: skip
_MEASURES: Final = ("nodes", "parameters", "flops", "codes")
# What a pair says, in the order of its numbers.
COLUMNS: Final = (
    *(f"{name}: {what}" for what in ("of query", "of answer", "of either") for name in _NAMES),
    *(f"{way} {what}" for way in ("more", "fewer") for what in _MEASURES),
)
# Below it, numbers are all the same.
_NOTHING: Final = 1e-9


def rarity_of(having: Integers, count: int) -> Values:
    """How rare codes are that so many of ``count`` architectures have; the last is of no code.

    Args:
        having: Shape (codes,).
        count: Number of architectures.
    """
    return np.log1p(count / np.append(having, 1)).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class CodedArchitectures:
    """Architectures by their codes.

    Attributes:
        codes: Shape (occurrences,), of one architecture after the other.
        kinds: Shape (occurrences,), kind of each.
        rarity: Shape (occurrences,).
        start: Shape (architectures + 1,), where those of each begin.
        totals: Shape (architectures, kinds), sum of rarities.
        sizes: Shape (architectures, 4), logs of nodes, parameters, FLOPs and number of codes.
    """

    codes: Codes
    kinds: NDArray[np.uint8]
    rarity: Values
    start: Integers
    totals: Values
    sizes: Values

    @classmethod
    def of(
        cls,
        codes: Codes,
        kinds: NDArray[np.uint8],
        rarity: Values,
        start: Integers,
        counts: Sequence[tuple[int, int, int]],
    ) -> "CodedArchitectures":
        """Architectures of known codes.

        Args:
            codes: Shape (occurrences,).
            kinds: Shape (occurrences,).
            rarity: Shape (occurrences,).
            start: Shape (architectures + 1,).
            counts: Nodes, parameters and FLOPs of each architecture.
        """
        having = np.diff(start)
        key = owners(having) * KINDS + kinds
        totals = np.bincount(key, rarity, minlength=len(having) * KINDS)
        sizes = np.log1p(np.column_stack([np.array(counts, dtype=np.float64), having]))
        return cls(
            codes,
            kinds,
            rarity,
            start,
            totals.reshape(-1, KINDS).astype(np.float32),
            sizes.astype(np.float32),
        )

    def compared(self, query: int, others: "CodedArchitectures", items: Integers) -> Values:
        """A query beside some architectures.

        Args:
            query: Number of the architecture that asks.
            others: The architectures that answer.
            items: Shape (items,), numbers of the architectures that are compared.

        Returns:
            Shape (items, `SHARED` + `SIZES`).
        """
        own = np.sort(self.codes[self.start[query] : self.start[query + 1]])
        chosen, start = slices(others.start, items)
        codes = others.codes[chosen]
        place = np.minimum(np.searchsorted(own, codes), len(own) - 1)
        shared = np.where(own[place] == codes, others.rarity[chosen], 0)
        key = owners(np.diff(start)) * KINDS + others.kinds[chosen]
        both = np.bincount(key, shared, minlength=len(items) * KINDS).reshape(-1, KINDS)
        mine, theirs = self.totals[query], others.totals[items]
        either = mine + theirs - both
        apart = others.sizes[items] - self.sizes[query]
        columns = [
            *(both / np.maximum(whole, 1) for whole in (mine, theirs, either)),
            np.maximum(apart, 0),
            np.maximum(-apart, 0),
        ]
        return np.concatenate(columns, axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class PairScorer:
    """Scores of pairs.

    Attributes:
        weights: Shape (`SHARED` + `SIZES`,).
        counts: How much of a score is added to a cosine.
    """

    weights: Values
    counts: float

    def scores(self, pairs: Values) -> Values:
        """Scores of the answers to one query, with mean 0 and spread 1: shape (items,).

        Args:
            pairs: Shape (items, `SHARED` + `SIZES`).
        """
        # In double precision: equal rows have to have equal sums, whatever the library of the
        # machine does with the rows at the end.
        raw = pairs.astype(np.float64) @ self.weights.astype(np.float64)
        standard = (raw - raw.mean()) / max(float(raw.std()), _NOTHING)
        return np.asarray(standard, dtype=np.float32)

    def order(self, cosines: NDArray[np.floating], scores: Values) -> Integers:
        """Places of the answers to one query, the best first; equal ones stay in their order.

        Args:
            cosines: Shape (items,).
            scores: Shape (items,).
        """
        likely = np.round(cosines + self.counts * scores, _DECIMALS)
        return np.argsort(-likely, kind="stable")


def write_scorer(path: Path, scorer: PairScorer) -> None:
    """Keep a scorer."""
    columns = dict(zip(COLUMNS, scorer.weights.tolist(), strict=True))
    text = json.dumps({"counts": scorer.counts, "weights": columns}, indent=1)
    write_whole(path, lambda part: part.write_text(f"{text}\n", encoding="utf-8"))


def read_scorer(path: Path) -> PairScorer:
    """A scorer that was kept.

    Raises:
        CorpusError: The file holds no scorer.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        weights = [float(kept["weights"][column]) for column in COLUMNS]
        return PairScorer(np.array(weights, dtype=np.float32), float(kept["counts"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path} holds no scorer of pairs: {error}") from error


@cache
def shipped_scorer() -> PairScorer | None:
    """The scorer that NAR ships; None if it came without."""
    path = package_path("data", SCORER_FILE)
    return read_scorer(path) if path.is_file() else None
