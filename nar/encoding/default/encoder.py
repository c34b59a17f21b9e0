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

It needs numpy alone: a vector is a sum of some hundred rows of a small table. Only training needs
torch (`nar.encoding.default.pretraining`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nar.encoding.default.recipe import SIZE_DIM, DefaultConfig
from nar.graphs import kernel
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import WORD, Codes, salted
from nar.graphs.ragged import Integers, offsets, sums_of_runs
from nar.motifs.feature_sets import ASPECT_KINDS, FeatureSets, feature_sets
from nar.motifs.partition import MotifPartition

if TYPE_CHECKING:
    import torch

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
# As torch has it: below it a vector has no direction to speak of.
_LEAST_LENGTH: Final = np.float32(1e-12)
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


class TableLayout:
    """Where the vector of a feature stands: the table has a block of rows for each aspect.

    Args:
        config: Settings of the encoder.

    Attributes:
        reads: Shape (aspects,), whether the table has vectors for the features of an aspect.
        counts: Shape (aspects,), weight of an aspect; the weights make a vector of length 1.
        rows: How many rows the table has.
    """

    def __init__(self, config: DefaultConfig) -> None:
        self.reads: Mask = np.array([kind in config.features for kind in ASPECT_KINDS])
        self.counts = (self.reads / np.sqrt(self.reads.sum())).astype(np.float32)
        self.rows = int(self.reads.sum()) << config.rows_log2
        self._block = np.cumsum(self.reads) - 1
        self._rows_log2 = config.rows_log2

    def places(
        self, sets: FeatureSets, known: Mask | None = None
    ) -> tuple[Integers, Integers, Vectors]:
        """The features as rows of the table, all features or only the known ones.

        Returns:
            Shape (features,), rows; shape (graphs + 1,), where the features of each graph begin;
            shape (features,), their weights.
        """
        kept = self.reads[sets.aspects]
        if known is not None:
            kept &= known
        rows = (sets.codes >> np.uint64(64 - self._rows_log2)).astype(np.int64)
        rows += self._block[sets.aspects] << self._rows_log2
        weights = sets.weights * self.counts[sets.aspects]
        before = offsets(kept.astype(np.int64))
        return rows[kept], before[sets.start], weights[kept]


@dataclass(frozen=True, slots=True, eq=False)
class DefaultEncoder:
    """What embeds a graph.

    Attributes:
        config: Settings that belong to the weights.
        table: Shape (rows, learned_dim), half precision: the learned vectors.
        vocabulary: Features of the training corpus.
    """

    config: DefaultConfig
    table: NDArray[np.float16]
    vocabulary: FeatureVocabulary

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The weights and the vocabulary, by name, in as few bytes as they need."""
        known = self.vocabulary.known[TableLayout(self.config).reads]
        return {"table": self.table, "vocabulary": np.packbits(known, axis=1)}

    def load(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take the tensors that `tensors` of an encoder with equal settings gave."""
        self.table[:] = tensors["table"]
        known = np.unpackbits(tensors["vocabulary"], axis=1)
        self.vocabulary.known[TableLayout(self.config).reads] = known

    def to(self, device: "torch.device | None") -> None:
        """It stays where it is: cutting a graph takes the time, and a GPU would save 2% of it."""

    def encode(self, partitions: Sequence[MotifPartition]) -> Vectors:
        """Unit vectors of graphs that are cut into motifs: shape (graphs, dim)."""
        sets = feature_sets(partitions, border_widths=self.config.motifs.border_widths)
        return self.encode_features(sets, [partition.graph for partition in partitions])

    def encode_features(self, sets: FeatureSets, graphs: Sequence[ComputationalGraph]) -> Vectors:
        """Unit vectors of graphs whose features are known: shape (graphs, dim)."""
        config, layout = self.config, TableLayout(self.config)
        known = self.vocabulary.knows(sets)
        rows, start, weights = layout.places(sets, known)
        learned = sums_of_runs(weights[:, None] * self.table[rows].astype(np.float32), start)
        if config.halves:
            learned = _equal_halves(learned)
        unseen = np.where(known, 0, sets.weights * layout.counts[sets.aspects])
        unknown = sketch(sets, unseen, config.unknown_dim)
        design = np.concatenate([learned, np.float32(config.unknown_weight) * unknown], axis=1)
        identity = sketch(sets, self._identity_weights(sets), config.identity_dim)
        blocks = (
            _units(design),
            np.float32(config.identity_weight) * _units(identity),
            np.float32(config.size_weight) * size_features(graphs),
        )
        return _units(np.concatenate(blocks, axis=1))

    def _identity_weights(self, sets: FeatureSets) -> Vectors:
        """Weight of each feature in the identity block: shape (features,)."""
        config = self.config
        of_kind = {kind: float(kind in config.identity_features) for kind in ASPECT_KINDS}
        of_kind["attributes"] *= config.identity_attributes
        of_aspect = np.array([of_kind[kind] for kind in ASPECT_KINDS], dtype=np.float32)
        weights: Vectors = sets.weights * of_aspect[sets.aspects]
        return weights


def untrained(config: DefaultConfig) -> DefaultEncoder:
    """An encoder that has learned nothing and knows no feature: what a checkpoint is read into."""
    shape = (TableLayout(config).rows, config.learned_dim)
    return DefaultEncoder(
        config, np.zeros(shape, dtype=np.float16), FeatureVocabulary.empty(ASPECTS)
    )


def _units(vectors: Vectors) -> Vectors:
    """The vectors made of length 1; a vector of zeros stays one."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    units: Vectors = vectors / np.maximum(lengths, _LEAST_LENGTH)
    return units


def _equal_halves(learned: Vectors) -> Vectors:
    """The two halves of learned vectors, made equally long; the whole keeps its length.

    Args:
        learned: Shape (graphs, dim).
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", learned, learned) / 2)[:, None]
    halves = [lengths * _units(half) for half in np.array_split(learned, 2, axis=1)]
    return np.concatenate(halves, axis=1)


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
    graphs = sets.graph()[here]
    here = here[np.lexsort((sets.codes[here], graphs))]
    graphs = np.sort(graphs)
    # Equal codes of a graph are one feature.
    begins = np.ones(len(here), dtype=np.bool_)
    begins[1:] = (np.diff(graphs) != 0) | (np.diff(sets.codes[here]) != 0)
    places = np.append(np.flatnonzero(begins), len(here))
    heavy = np.zeros((len(places) - 1, 1), dtype=np.float32)
    _add_in_turn(heavy, weights[here][:, None], places)
    codes, start = (
        sets.codes[here][begins],
        offsets(np.bincount(graphs[begins], minlength=sets.count)),
    )
    sums: Vectors = np.zeros((sets.count, dim), dtype=np.float32)
    for begin in range(0, len(codes), CODES_A_PART):
        end = min(begin + CODES_A_PART, len(codes))
        _add_in_turn(
            sums,
            heavy[begin:end] * signs(codes[begin:end], dim),
            np.clip(start, begin, end) - begin,
        )
    return sums


def _add_in_turn(sums: Vectors, values: Vectors, start: Integers) -> None:
    """Add the values of each run to its sum, the first value first.

    The kernel adds in this order, so that both give the same bits; and a sum is the same whatever
    else is summed up beside it.

    Args:
        sums: Shape (runs, dim).
        values: Shape (values, dim), run after run.
        start: Shape (runs + 1,), where each run begins.
    """
    sizes = np.diff(start)
    longest_first = np.argsort(-sizes, kind="stable")
    for place in range(int(sizes.max(initial=0))):
        runs = longest_first[: np.count_nonzero(sizes > place)]
        sums[runs] += values[start[runs] + place]


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
