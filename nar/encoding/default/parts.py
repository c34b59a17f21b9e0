"""What the default encoder knows of a graph without learning: its unknown labels, and its size."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from nar.graph import ComputationalGraph
from nar.motifs.label_sets import LabelSets
from nar.motifs.neighbours import Labels, mix

Vectors = NDArray[np.float32]

_WORD: Final = np.uint64(0xD1B54A32D192ED03)
# Sizes a quarter of an octave apart are much alike, sizes an octave apart not at all.
SIZE_WIDTH_OCTAVES: Final = 0.25
_FREQUENCIES: Final = 8
_COUNTS: Final = 2
SIZE_DIM: Final = 2 * _FREQUENCIES * _COUNTS


def sketch(sets: LabelSets, weights: Vectors, dim: int) -> Vectors:
    """A random projection of label sets: every label has a vector of random signs, its own hash.

    Cosines of what has many labels in common are kept, and nothing has to be stored.

    Args:
        sets: Labels of graphs.
        weights: Shape (labels,); a label of weight 0 is left out.
        dim: A multiple of 64.

    Returns:
        Shape (graphs, dim).
    """
    here = np.flatnonzero(weights)
    labels, number = np.unique(sets.labels[here], return_inverse=True)
    entries = (weights[here], (sets.graph()[here], number))
    bag = coo_array(entries, shape=(sets.count, len(labels))).tocsr()
    projected: Vectors = (bag @ signs(labels, dim)).astype(np.float32)
    return projected


def signs(labels: Labels, dim: int) -> Vectors:
    """Vectors of length 1 whose signs are bits of each label's hash: shape (labels, dim)."""
    words = np.arange(dim // 64, dtype=np.uint64) * _WORD
    hashed = mix(labels[:, None] + words).view(np.uint8).reshape(len(labels), dim // 8)
    bits = np.unpackbits(hashed, axis=1).astype(np.float32)
    found: Vectors = (2 * bits - 1) / np.float32(np.sqrt(dim))
    return found


def size_features(graphs: Sequence[ComputationalGraph]) -> Vectors:
    """Parameters and FLOPs as waves of their logarithms: shape (graphs, 32), of length 1.

    The dot product of two graphs falls with their distance in octaves as a Gaussian does (random
    Fourier features; Rahimi and Recht, 2007).
    """
    counts = np.array([(graph.parameters, graph.flops) for graph in graphs], dtype=np.float64)
    octaves = np.log2(np.maximum(counts.reshape(-1, _COUNTS), 1))
    phases = (octaves[:, :, None] * _frequencies()).reshape(len(graphs), -1)
    waves = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
    found: Vectors = (waves / np.sqrt(phases.shape[1])).astype(np.float32)
    return found


def _frequencies() -> NDArray[np.float64]:
    """Evenly spaced quantiles of the normal distribution: the same for ever, unlike drawn ones."""
    normal = NormalDist(sigma=1 / SIZE_WIDTH_OCTAVES)
    places = (np.arange(_FREQUENCIES) + 0.5) / _FREQUENCIES
    return np.array([normal.inv_cdf(place) for place in places])
