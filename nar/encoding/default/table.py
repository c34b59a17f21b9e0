"""The table of learned vectors as torch trains it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from nar.encoding.default.encoder import (
    ASPECTS,
    DefaultEncoder,
    FeatureVocabulary,
    Mask,
    TableLayout,
)
from nar.encoding.default.recipe import DefaultConfig
from nar.motifs.feature_sets import FeatureSets


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
    """

    def __init__(self, config: DefaultConfig) -> None:
        super().__init__()
        self.layout = TableLayout(config)
        self.vectors = nn.EmbeddingBag(self.layout.rows, config.learned_dim, mode="sum")
        # Vectors of length about 1, so that an untrained table is a random projection.
        nn.init.normal_(self.vectors.weight, std=config.learned_dim**-0.5)

    def forward(self, batch: FeatureBatch) -> Tensor:
        """Weighted sums of vectors: shape (graphs, dim)."""
        sums: Tensor = self.vectors(batch.rows, batch.start, per_sample_weights=batch.weights)
        return sums

    def batch(self, sets: FeatureSets, known: Mask | None = None) -> FeatureBatch:
        """The features as rows of this table, all features or only the known ones."""
        rows, start, weights = self.layout.places(sets, known)
        device = self.vectors.weight.device
        return FeatureBatch(
            *(torch.from_numpy(each).to(device) for each in (rows, start[:-1], weights))
        )


def finished(
    config: DefaultConfig, table: FeatureTable, vocabulary: FeatureVocabulary
) -> DefaultEncoder:
    """The encoder with the vectors of a table, rounded to half precision."""
    learned = table.vectors.weight.detach().cpu().half().numpy()
    return DefaultEncoder(config, learned.copy(), vocabulary)


def default_encoder(config: DefaultConfig) -> DefaultEncoder:
    """An encoder of random vectors without a vocabulary, from torch's global random state."""
    return finished(config, FeatureTable(config), FeatureVocabulary.empty(ASPECTS))


def equal_halves(learned: Tensor) -> Tensor:
    """The two halves of learned vectors, made equally long; the whole keeps its length.

    Args:
        learned: Shape (graphs, dim), of an even dim.
    """
    lengths = learned.norm(dim=1, keepdim=True) / 2**0.5
    return torch.cat([lengths * normalize(half, dim=1) for half in learned.chunk(2, dim=1)], dim=1)
