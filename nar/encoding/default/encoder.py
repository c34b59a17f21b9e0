"""The default encoder: from label sets to one unit vector.

Three parts side by side, compared by one cosine:

- *learned*: the sum of the vectors of all labels in the vocabulary. What occurs counts, not how
  often, but for paths, which bring a label for every time their number doubles. Every stream of
  labels weighs the same.
- *unknown*: a random projection of the labels that are not in the vocabulary. Designs unlike all
  that was learned from are told apart by it.
- *size*: parameters and FLOPs, a little: which member of a family.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import normalize

from nar.config import DefaultRecipe, LabelKind, MotifConfig, Settings
from nar.encoding.default.parts import SIZE_DIM, size_features, sketch
from nar.encoding.default.vocabulary import Mask, Vocabulary
from nar.motifs.label_sets import STREAM_KINDS, LabelSets, label_sets
from nar.motifs.partition import MotifPartition
from nar.ops import FEATURE_DIM

STREAMS: Final = len(STREAM_KINDS)


@dataclass(frozen=True, slots=True, eq=False)
class LabelBatch:
    """Labels of graphs as rows of a table.

    Attributes:
        rows: Shape (labels,).
        start: Shape (graphs,), where the labels of each graph begin.
        weights: Shape (labels,).
    """

    rows: Tensor
    start: Tensor
    weights: Tensor


class LabelTable(nn.Module):
    """A vector for every label, by hash: a block of rows a stream.

    Args:
        config: Of the encoder.

    Attributes:
        reads: Shape (streams,), whether the labels of each are looked at.
    """

    def __init__(self, config: "DefaultConfig") -> None:
        super().__init__()
        dim = config.learned_dim
        self.vectors = nn.EmbeddingBag(STREAMS << config.rows_log2, dim, mode="sum")
        # Of length about 1, so that an untrained table is a random projection.
        nn.init.normal_(self.vectors.weight, std=dim**-0.5)
        self.rows_log2 = config.rows_log2
        self.reads: Mask = np.array([kind in config.labels for kind in STREAM_KINDS])

    def forward(self, batch: LabelBatch) -> Tensor:
        """Weighted sums of vectors: shape (graphs, dim)."""
        found: Tensor = self.vectors(batch.rows, batch.start, per_sample_weights=batch.weights)
        return found

    def batch(self, sets: LabelSets, known: Mask | None = None) -> LabelBatch:
        """The labels as this table reads them, of all of them or of those that are known."""
        kept = self.reads[sets.streams]
        if known is not None:
            kept &= known
        rows = (sets.labels >> np.uint64(64 - self.rows_log2)).astype(np.int64)
        rows += sets.streams << self.rows_log2
        before = np.concatenate([[0], np.cumsum(kept)])
        device = self.vectors.weight.device
        return LabelBatch(
            torch.from_numpy(rows[kept]).to(device),
            torch.from_numpy(before[sets.start[:-1]]).to(device),
            torch.from_numpy(sets.weights[kept]).to(device),
        )


class DefaultConfig(Settings):
    """Everything besides the weights that decides which vector a graph gets."""

    name: Literal["default"] = "default"
    version: Literal[2] = 2
    operators: int = FEATURE_DIM
    motifs: MotifConfig = MotifConfig()
    labels: tuple[LabelKind, ...] = DefaultRecipe().labels
    rows_log2: int = Field(ge=4, le=20)
    learned_dim: int = Field(ge=1)
    unknown_dim: int = Field(ge=0, multiple_of=64)
    unknown_weight: float = Field(ge=0)
    size_weight: float = Field(ge=0)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.learned_dim + self.unknown_dim + SIZE_DIM

    @classmethod
    def of(cls, motifs: MotifConfig, recipe: DefaultRecipe) -> "DefaultConfig":
        """What pretraining with these settings gives."""
        return cls(
            motifs=motifs,
            labels=recipe.labels,
            rows_log2=recipe.rows_log2,
            learned_dim=recipe.learned_dim,
            unknown_dim=recipe.unknown_dim,
            unknown_weight=recipe.unknown_weight,
            size_weight=recipe.size_weight,
        )


@dataclass(frozen=True, slots=True, eq=False)
class DefaultEncoder:
    """What is left of pretraining when a graph is embedded.

    Attributes:
        config: Settings that belong to the weights.
        table: The learned vectors.
        vocabulary: Labels that were learned from.
    """

    config: DefaultConfig
    table: LabelTable
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

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors of graphs that are cut into motifs: shape (graphs, dim)."""
        config = self.config
        sets = label_sets(partitions)
        known = self.vocabulary.knows(sets)
        is_unknown = self.table.reads[sets.streams] & ~known
        with torch.inference_mode():
            learned = self.table(self.table.batch(sets, known)).cpu()
        unknown = sketch(sets, np.where(is_unknown, sets.weights, 0), config.unknown_dim)
        design = torch.cat([learned, config.unknown_weight * torch.from_numpy(unknown)], dim=1)
        size = torch.from_numpy(size_features([partition.graph for partition in partitions]))
        whole = torch.cat([normalize(design, dim=1), config.size_weight * size], dim=1)
        unit: NDArray[np.float32] = normalize(whole, dim=1).numpy()
        return unit


def default_encoder(config: DefaultConfig) -> DefaultEncoder:
    """An untrained encoder without a vocabulary, from torch's global random state."""
    table = LabelTable(config)
    return finished(config, table, Vocabulary.empty(STREAMS))


def finished(config: DefaultConfig, table: LabelTable, vocabulary: Vocabulary) -> DefaultEncoder:
    """An encoder whose weights are what its checkpoint holds: rounded to half precision."""
    with torch.no_grad():
        table.vectors.weight.copy_(table.vectors.weight.half())
    return DefaultEncoder(config, table.eval(), vocabulary)
