"""Novelty: how far a design is from the nearest known one, beside how far known ones are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SAMPLED: Final = 2_000
_CHUNK_ROWS: Final = 256
_SEED: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class Novelty:
    """The distances of known designs to the nearest other design.

    Attributes:
        distances: Shape (designs,), 1 - cosine, ascending.
    """

    distances: NDArray[np.float32]

    def percentile(self, score: float) -> float:
        """How many of a hundred known designs have a nearer neighbour than this one.

        Args:
            score: Cosine of the nearest architecture that is not of the same design.
        """
        nearer = np.searchsorted(self.distances, 1 - score, side="left")
        return 100 * float(nearer) / len(self.distances)


def calibrate(vectors: NDArray[np.float32], designs: Sequence[str]) -> Novelty:
    """Measure a corpus: one member of each design asks, up to `SAMPLED` of them.

    A sample, because all pairs would cost the square of the corpus.

    Args:
        vectors: Shape (architectures, dim), of length 1.
        designs: Shape (architectures,), topology of each; at least two are different.
    """
    _, first, design = np.unique(np.array(designs), return_index=True, return_inverse=True)
    asking = np.random.default_rng(_SEED).permutation(first)[:SAMPLED]
    nearest = [
        np.where(design[rows][:, None] == design, -1.0, vectors[rows] @ vectors.T).max(axis=1)
        for rows in np.split(asking, range(_CHUNK_ROWS, len(asking), _CHUNK_ROWS))
    ]
    distances = np.sort(1 - np.concatenate(nearest)).astype(np.float32)
    return Novelty(distances)
