"""The default encoder: from feature sets to one unit vector of blocks.

    decoder half | trunk half | unknown | identity | size

- *learned*, in two halves of equal length: the sum of the vectors of all features in the
  vocabulary. What occurs counts, not how often, but for paths, which bring a code for every time
  their number doubles. Every stream of features weighs the same. One half tells what a model is
  for, the other what it stands on: they differ for composed models, a decoder on an encoder.
- *unknown*: a random projection of the features that are not in the vocabulary. Designs unlike all
  that was learned from are told apart by it.
- *identity*: a random projection of all features, known or not. Training draws a family together;
  this part keeps its members apart, and a part of a model near the whole. Operators with their
  attributes count most in it: they are the same when a model is cut, or the operators around them
  are exchanged.
- *size*: parameters and FLOPs, a little: which member of a family.

A query may weigh the blocks by what it asks for (`DefaultConfig.weights`); the index stays one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

from nar.encoding.default.parts import equal_halves, size_features, sketch
from nar.encoding.default.recipe import DefaultConfig
from nar.encoding.default.vocabulary import Mask, Vocabulary
from nar.motifs.feature_sets import STREAM_KINDS, FeatureSets, feature_sets
from nar.motifs.partition import MotifPartition
from nar.ragged import offsets

STREAMS: Final = len(STREAM_KINDS)


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
    """A vector for every feature, by its code: a block of rows a stream.

    Args:
        config: Of the encoder.

    Attributes:
        reads: Shape (streams,), whether the features of each are looked at.
    """

    def __init__(self, config: DefaultConfig) -> None:
        super().__init__()
        dim = config.learned_dim
        self.vectors = nn.EmbeddingBag(STREAMS << config.rows_log2, dim, mode="sum")
        # Of length about 1, so that an untrained table is a random projection.
        nn.init.normal_(self.vectors.weight, std=dim**-0.5)
        self.rows_log2 = config.rows_log2
        self.reads: Mask = np.array([kind in config.features for kind in STREAM_KINDS])

    def forward(self, batch: FeatureBatch) -> Tensor:
        """Weighted sums of vectors: shape (graphs, dim)."""
        sums: Tensor = self.vectors(batch.rows, batch.start, per_sample_weights=batch.weights)
        return sums

    def batch(self, sets: FeatureSets, known: Mask | None = None) -> FeatureBatch:
        """The features as this table reads them, all of them or those that are known."""
        kept = self.reads[sets.streams]
        if known is not None:
            kept &= known
        rows = (sets.codes >> np.uint64(64 - self.rows_log2)).astype(np.int64)
        rows += sets.streams << self.rows_log2
        before = offsets(kept.astype(np.int64))
        device = self.vectors.weight.device
        return FeatureBatch(
            torch.from_numpy(rows[kept]).to(device),
            torch.from_numpy(before[sets.start[:-1]]).to(device),
            torch.from_numpy(sets.weights[kept]).to(device),
        )


@dataclass(frozen=True, slots=True, eq=False)
class DefaultEncoder:
    """What is left of pretraining when a graph is embedded.

    Attributes:
        config: Settings that belong to the weights.
        table: The learned vectors.
        vocabulary: Features that were learned from.
    """

    config: DefaultConfig
    table: FeatureTable
    vocabulary: Vocabulary

    def tensors(self) -> dict[str, Tensor]:
        """The weights and the vocabulary, by name, in as few bytes as they need."""
        known = np.packbits(self.vocabulary.known, axis=1)
        return {
            "table": self.table.vectors.weight.detach().cpu().half(),
            "vocabulary": torch.from_numpy(known),
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` of an equal encoder gave."""
        with torch.no_grad():
            self.table.vectors.weight.copy_(tensors["table"])
        self.vocabulary.known[:] = np.unpackbits(tensors["vocabulary"].numpy(), axis=1)

    def to(self, device: torch.device) -> None:
        """Compute there from now on."""
        self.table.to(device)

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors of graphs that are cut into motifs: shape (graphs, dim)."""
        config = self.config
        sets = feature_sets(partitions, border_widths=config.motifs.border_widths)
        known = self.vocabulary.knows(sets)
        is_unknown = self.table.reads[sets.streams] & ~known
        with torch.inference_mode():
            learned = self.table(self.table.batch(sets, known)).cpu()
        if config.halves:
            learned = equal_halves(learned)
        unknown = sketch(sets, np.where(is_unknown, sets.weights, 0), config.unknown_dim)
        design = torch.cat([learned, config.unknown_weight * torch.from_numpy(unknown)], dim=1)
        size = torch.from_numpy(size_features([partition.graph for partition in partitions]))
        identity = torch.from_numpy(sketch(sets, self._told(sets), config.identity_dim))
        weighed = (config.identity_weight * normalize(identity, dim=1), config.size_weight * size)
        whole = torch.cat([normalize(design, dim=1), *weighed], dim=1)
        unit: NDArray[np.float32] = normalize(whole, dim=1).numpy()
        return unit

    def _told(self, sets: FeatureSets) -> NDArray[np.float32]:
        """What each feature counts in the identity: shape (features,)."""
        attributes = self.config.identity_attributes
        of_stream = np.array([attributes if kind == "attributes" else 1 for kind in STREAM_KINDS])
        told: NDArray[np.float32] = sets.weights * (of_stream * self.table.reads)[sets.streams]
        return told.astype(np.float32)


def default_encoder(config: DefaultConfig) -> DefaultEncoder:
    """An untrained encoder without a vocabulary, from torch's global random state."""
    table = FeatureTable(config)
    return finished(config, table, Vocabulary.empty(STREAMS))


def finished(config: DefaultConfig, table: FeatureTable, vocabulary: Vocabulary) -> DefaultEncoder:
    """An encoder whose weights are what its checkpoint holds: rounded to half precision."""
    with torch.no_grad():
        table.vectors.weight.copy_(table.vectors.weight.half())
    return DefaultEncoder(config, table.eval(), vocabulary)
