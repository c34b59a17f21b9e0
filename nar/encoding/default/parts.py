"""What the default encoder knows of a graph without learning: unknown features, and its size."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, eye_array, hstack
from torch import Tensor
from torch.nn.functional import normalize

from nar.encoding.default.recipe import SIZE_DIM
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import WORD, Codes, salted
from nar.motifs.feature_sets import FeatureSets

Vectors = NDArray[np.float32]

# Sizes a quarter of an octave apart are much alike, sizes an octave apart not at all.
SIZE_WIDTH_OCTAVES: Final = 0.25
_COUNTS: Final = 2
_WORD_BITS: Final = 64
# Signs of so many codes are made at a time: all of a graph that is as large as a server takes would
# fill gigabytes.
CODES_A_PART: Final = 16_384
_FREQUENCIES: Final = SIZE_DIM // (2 * _COUNTS)


def equal_halves(learned: Tensor) -> Tensor:
    """The two halves of learned vectors, made equally long; the whole keeps its length.

    Args:
        learned: Shape (graphs, dim), of an even dim.
    """
    lengths = learned.norm(dim=1, keepdim=True) / 2**0.5
    return torch.cat([lengths * normalize(half, dim=1) for half in learned.chunk(2, dim=1)], dim=1)


def sketch(sets: FeatureSets, weights: Vectors, dim: int) -> Vectors:
    """A random projection of feature sets: every code has a vector of random signs, its own hash.

    Cosines of what has many features in common are kept, and nothing has to be stored.

    Args:
        sets: Features of graphs.
        weights: Shape (features,); a feature of weight 0 is left out.
        dim: A multiple of 32.

    Returns:
        Shape (graphs, dim).
    """
    here = np.flatnonzero(weights)
    codes, number = np.unique(sets.codes[here], return_inverse=True)
    entries = (weights[here], (number, sets.graph()[here]))
    bag = coo_array(entries, shape=(len(codes), sets.count)).tocsr()
    sums: Vectors = np.zeros((sets.count, dim), dtype=np.float32)
    for begin in range(0, len(codes), CODES_A_PART):
        part = slice(begin, begin + CODES_A_PART)
        of_graphs, vectors = bag[part].T, signs(codes[part], dim)
        if begin:
            # What was summed up so far comes first in the next sum, so that sums are the same to
            # the bit wherever parts begin, which is up to what else is embedded.
            of_graphs = hstack([eye_array(sets.count, dtype=np.float32), of_graphs], format="csr")
            vectors = np.concatenate([sums, vectors])
        sums = (of_graphs @ vectors).astype(np.float32, copy=False)
    return sums


def signs(codes: Codes, dim: int) -> Vectors:
    """Vectors of length 1 whose signs are bits of each code: shape (codes, dim)."""
    words = salted(codes[:, None], np.arange(-(-dim // _WORD_BITS)), WORD)
    bits = np.unpackbits(words.view(np.uint8), axis=1)[:, :dim]
    units: Vectors = (2 * bits.astype(np.float32) - 1) / np.float32(np.sqrt(dim))
    return units


def size_features(graphs: Sequence[ComputationalGraph]) -> Vectors:
    """Parameters and FLOPs as waves of their logarithms: shape (graphs, 32), of length 1.

    The dot product of two graphs falls with their distance in octaves as a Gaussian does (random
    Fourier features; Rahimi and Recht, 2007).
    """
    counts = np.array([(graph.parameters, graph.flops) for graph in graphs], dtype=np.float64)
    octaves = np.log2(np.maximum(counts.reshape(-1, _COUNTS), 1))
    phases = (octaves[:, :, None] * _frequencies()).reshape(len(graphs), -1)
    waves = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
    units: Vectors = (waves / np.sqrt(phases.shape[1])).astype(np.float32)
    return units


def _frequencies() -> NDArray[np.float64]:
    """Evenly spaced quantiles of the normal distribution: the same for ever, unlike drawn ones."""
    normal = NormalDist(sigma=1 / SIZE_WIDTH_OCTAVES)
    quantiles = (np.arange(_FREQUENCIES) + 0.5) / _FREQUENCIES
    return np.array([normal.inv_cdf(quantile) for quantile in quantiles])
