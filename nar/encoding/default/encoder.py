"""The default encoder: from feature sets to one unit vector of blocks.

    decoder half | trunk half | unknown | identity | size

- *learned*, in two halves of equal length: the sum of the vectors of all features in the
  vocabulary. A feature counts once, however often it occurs; only paths have another code each time
  their number doubles. Every aspect of features weighs the same. One half stands for what a model
  is for, the other for what it stands on: they differ for composed models, a decoder on an encoder.
- *unknown*: a random projection of the features that are not in the vocabulary. It separates
  designs that are unlike everything in the training corpus.
- *identity*: a random projection of all features, known or unknown, also of the features of the
  skeleton and of the whole graph, which have no learned vectors. Training draws the members of a
  family together; this block keeps them apart, and keeps a part of a model near the whole model.
  Operators with their attributes count most in it: they stay the same when a model is cut, or when
  the operators around them are exchanged. Features of the skeleton stay the same when norms and
  activations are exchanged, the code of the whole when widths are.
- *size*: parameters and FLOPs, with a small weight: they separate the members of a family.

A query may weigh the blocks by what it asks for (`DefaultConfig.weights`), over one index.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, eye_array, hstack
from torch import Tensor, nn
from torch.nn.functional import normalize

from nar.encoding.default.recipe import SIZE_DIM, DefaultConfig
from nar.graphs import kernel
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import WORD, Codes, salted
from nar.graphs.ragged import Integers, offsets
from nar.motifs.feature_sets import ASPECT_KINDS, FeatureSets, feature_sets
from nar.motifs.partition import MotifPartition

Mask = NDArray[np.bool_]
Vectors = NDArray[np.float32]

ASPECTS: Final = len(ASPECT_KINDS)
# Chosen: positions for each aspect. Among some ten thousand features, one in a hundred shares its
# position.
POSITIONS_LOG2 = 20
_FEATURES_A_PART = 1 << 20  # chosen: some 16 MB of codes and positions at once
# Chosen: sizes a quarter of an octave apart are much alike, sizes an octave apart not at all.
SIZE_WIDTH_OCTAVES: Final = 0.25
_COUNTS: Final = 2  # parameters and FLOPs
_WORD_BITS: Final = 64  # of a code, which is a uint64
# Chosen: signs of so many codes are made at a time. Signs of all codes of the largest graph that a
# server accepts would fill gigabytes.
CODES_A_PART: Final = 16_384
_FREQUENCIES: Final = SIZE_DIM // (2 * _COUNTS)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureVocabulary:
    """A set of features, by their codes.

    Attributes:
        known: Shape (aspects, 2^20): whether a feature at that position is in the set.
    """

    known: Mask

    @classmethod
    def empty(cls, aspects: int) -> "FeatureVocabulary":
        """A vocabulary without features."""
        return cls(np.zeros((aspects, 1 << POSITIONS_LOG2), dtype=np.bool_))

    @classmethod
    def of(cls, sets: FeatureSets, aspects: int) -> "FeatureVocabulary":
        """The vocabulary of some graphs, over ``aspects`` aspects."""
        vocabulary = cls.empty(aspects)
        # Not all at once: sets may be larger than memory.
        for first in range(0, len(sets.codes), _FEATURES_A_PART):
            part = slice(first, first + _FEATURES_A_PART)
            vocabulary.known[sets.aspects[part], positions(sets.codes[part])] = True
        return vocabulary

    def knows(self, sets: FeatureSets) -> Mask:
        """Whether each feature is in the vocabulary: shape (features,)."""
        is_known: Mask = self.known[sets.aspects, positions(sets.codes)]
        return is_known


def positions(codes: Codes) -> Integers:
    """Position of each feature within its aspect: shape (features,)."""
    return (codes >> np.uint64(64 - POSITIONS_LOG2)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBatch:
    """Features of graphs as rows of a table.

    Attributes:
        rows: Shape (features,).
        start: Shape (graphs,), where the features of each graph begin.
        weights: Shape (features,).
    """

    rows: Tensor
    start: Tensor
    weights: Tensor


class FeatureTable(nn.Module):
    """A vector for every feature, by its code: a block of rows for each aspect.

    Args:
        config: Settings of the encoder.

    Attributes:
        reads: Shape (aspects,), whether the table reads the features of an aspect.
        counts: Shape (aspects,), weight of an aspect; the weights make a vector of length 1.
    """

    def __init__(self, config: DefaultConfig) -> None:
        super().__init__()
        dim = config.learned_dim
        self.reads: Mask = np.array([kind in config.features for kind in ASPECT_KINDS])
        self.counts = (self.reads / np.sqrt(self.reads.sum())).astype(np.float32)
        self._block = np.cumsum(self.reads) - 1
        blocks = int(self.reads.sum())
        self.vectors = nn.EmbeddingBag(blocks << config.rows_log2, dim, mode="sum")
        # Vectors of length about 1, so that an untrained table is a random projection.
        nn.init.normal_(self.vectors.weight, std=dim**-0.5)
        self.rows_log2 = config.rows_log2

    def forward(self, batch: FeatureBatch) -> Tensor:
        """Weighted sums of vectors: shape (graphs, dim)."""
        sums: Tensor = self.vectors(batch.rows, batch.start, per_sample_weights=batch.weights)
        return sums

    def batch(self, sets: FeatureSets, known: Mask | None = None) -> FeatureBatch:
        """The features as rows of this table, all features or only the known ones."""
        kept = self.reads[sets.aspects]
        if known is not None:
            kept &= known
        rows = (sets.codes >> np.uint64(64 - self.rows_log2)).astype(np.int64)
        rows += self._block[sets.aspects] << self.rows_log2
        weights = sets.weights * self.counts[sets.aspects]
        before = offsets(kept.astype(np.int64))
        device = self.vectors.weight.device
        return FeatureBatch(
            torch.from_numpy(rows[kept]).to(device),
            torch.from_numpy(before[sets.start[:-1]]).to(device),
            torch.from_numpy(weights[kept]).to(device),
        )


@dataclass(frozen=True, slots=True, eq=False)
class DefaultEncoder:
    """The parts of pretraining that embed a graph.

    Attributes:
        config: Settings that belong to the weights.
        table: The learned vectors.
        vocabulary: Features of the training corpus.
    """

    config: DefaultConfig
    table: FeatureTable
    vocabulary: FeatureVocabulary

    def tensors(self) -> dict[str, Tensor]:
        """The weights and the vocabulary, by name, in as few bytes as they need."""
        known = np.packbits(self.vocabulary.known[self.table.reads], axis=1)
        return {
            "table": self.table.vectors.weight.detach().cpu().half(),
            "vocabulary": torch.from_numpy(known),
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors that `tensors` of an encoder with equal settings gave."""
        with torch.no_grad():
            self.table.vectors.weight.copy_(tensors["table"])
        known = np.unpackbits(tensors["vocabulary"].numpy(), axis=1)
        self.vocabulary.known[self.table.reads] = known

    def to(self, device: torch.device) -> None:
        """Compute on a device from now on."""
        self.table.to(device)

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors of graphs that are cut into motifs: shape (graphs, dim)."""
        sets = feature_sets(partitions, border_widths=self.config.motifs.border_widths)
        return self.encode_features(sets, [partition.graph for partition in partitions])

    def encode_features(
        self, sets: FeatureSets, graphs: Sequence[ComputationalGraph]
    ) -> NDArray[np.float32]:
        """Unit vectors of graphs whose features are known: shape (graphs, dim)."""
        config = self.config
        known = self.vocabulary.knows(sets)
        with torch.inference_mode():
            learned = self.table(self.table.batch(sets, known)).cpu()
        if config.halves:
            learned = equal_halves(learned)
        unseen = np.where(known, 0, sets.weights * self.table.counts[sets.aspects])
        unknown = sketch(sets, unseen, config.unknown_dim)
        design = torch.cat([learned, config.unknown_weight * torch.from_numpy(unknown)], dim=1)
        size = torch.from_numpy(size_features(graphs))
        identity = torch.from_numpy(sketch(sets, self._identity_weights(sets), config.identity_dim))
        weighed = (config.identity_weight * normalize(identity, dim=1), config.size_weight * size)
        whole = torch.cat([normalize(design, dim=1), *weighed], dim=1)
        unit: NDArray[np.float32] = normalize(whole, dim=1).numpy()
        return unit

    def _identity_weights(self, sets: FeatureSets) -> NDArray[np.float32]:
        """Weight of each feature in the identity block: shape (features,)."""
        config = self.config
        of_kind = {kind: float(kind in config.identity_features) for kind in ASPECT_KINDS}
        of_kind["attributes"] *= config.identity_attributes
        of_aspect = np.array([of_kind[kind] for kind in ASPECT_KINDS], dtype=np.float32)
        weights: NDArray[np.float32] = sets.weights * of_aspect[sets.aspects]
        return weights


def default_encoder(config: DefaultConfig) -> DefaultEncoder:
    """An untrained encoder without a vocabulary, from torch's global random state."""
    table = FeatureTable(config)
    return finished(config, table, FeatureVocabulary.empty(ASPECTS))


def finished(
    config: DefaultConfig, table: FeatureTable, vocabulary: FeatureVocabulary
) -> DefaultEncoder:
    """An encoder with the weights that its checkpoint will hold: rounded to half precision."""
    with torch.no_grad():
        table.vectors.weight.copy_(table.vectors.weight.half())
    return DefaultEncoder(config, table.eval(), vocabulary)


def equal_halves(learned: Tensor) -> Tensor:
    """The two halves of learned vectors, made equally long; the whole keeps its length.

    Args:
        learned: Shape (graphs, dim), of an even dim.
    """
    lengths = learned.norm(dim=1, keepdim=True) / 2**0.5
    return torch.cat([lengths * normalize(half, dim=1) for half in learned.chunk(2, dim=1)], dim=1)


def sketch(sets: FeatureSets, weights: Vectors, dim: int) -> Vectors:
    """A random projection of feature sets: the bits of hashes of a code are its vector of signs.

    Cosines of sets with many features in common are kept, and nothing has to be stored.

    Args:
        sets: Features of graphs.
        weights: Shape (features,); a feature of weight 0 is left out.
        dim: A multiple of 32.

    Returns:
        Shape (graphs, dim).
    """
    compiled = kernel.compiled()
    if compiled is not None:
        return compiled.sketch(
            np.ascontiguousarray(sets.codes),
            np.ascontiguousarray(weights, dtype=np.float32),
            np.ascontiguousarray(sets.start, dtype=np.int64),
            dim,
            int(WORD),
        )
    here = np.flatnonzero(weights)
    codes, number = np.unique(sets.codes[here], return_inverse=True)
    entries = (weights[here], (number, sets.graph()[here]))
    bag = coo_array(entries, shape=(len(codes), sets.count)).tocsr()
    sums: Vectors = np.zeros((sets.count, dim), dtype=np.float32)
    for begin in range(0, len(codes), CODES_A_PART):
        part = slice(begin, begin + CODES_A_PART)
        of_graphs, vectors = bag[part].T, signs(codes[part], dim)
        if begin:
            # The sums so far are the first term of the next sums. So sums are the same to the bit
            # wherever parts begin, which depends on the other graphs of the call.
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
    """Evenly spaced quantiles of the normal distribution: fixed, unlike random frequencies."""
    normal = NormalDist(sigma=1 / SIZE_WIDTH_OCTAVES)
    quantiles = (np.arange(_FREQUENCIES) + 0.5) / _FREQUENCIES
    return np.array([normal.inv_cdf(quantile) for quantile in quantiles])
