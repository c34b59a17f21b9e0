"""Settings of the default encoder: how it learns, and what its checkpoint states."""

import operator
from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from nar.encoding.recipe import EncoderConfig, EncoderRecipe, StageRecipe
from nar.graphs.by import By
from nar.motifs.config import FeatureKind, MotifConfig

BlockWeights = Mapping[By, tuple[float, ...]]
# What a query asks for -> weight of each block: decoder half, trunk half, unknown features,
# identity, size.
WEIGHTS: Final[BlockWeights] = {
    "design": (1, 1, 2, 1, 1),
    "family": (1, 0, 1, 0, 1),
    "trunk": (0, 1, 1, 0, 1),
    "copy": (1, 1, 1, 30, 10),
    "origin": (1, 1, 1, 30, 10),
}
LEARNED_FEATURES: Final[tuple[FeatureKind, ...]] = ("operators", "attributes", "motifs", "paths")
# Chosen: numbers for parameters and FLOPs, as waves: see `nar.encoding.default.encoder`.
SIZE_DIM: Final = 32


class MotifRecipe(StageRecipe):
    """Stage 1: motifs against their contexts."""

    epochs: int = Field(2, ge=0)
    batch_size: int = Field(512, ge=2, description="motifs a step")
    learning_rate: float = Field(1e-3, gt=0)
    temperature: float = Field(0.1, gt=0)


class GraphRecipe(StageRecipe):
    """Stage 2: architectures of a family against all others."""

    epochs: int = Field(30, ge=0)
    batch_size: int = Field(512, ge=2, description="architectures a step")
    relatives: int = Field(4, ge=1, description="members of a family that come together")
    learning_rate: float = Field(5e-3, gt=0)
    temperature: float = Field(0.05, gt=0)
    leave_out: float = Field(
        0.0, ge=0, lt=1, description="largest share of its features that a step does not see"
    )


class DefaultRecipe(EncoderRecipe):
    """The default encoder and both of its stages."""

    encoder: Literal["default"] = "default"
    features: tuple[FeatureKind, ...] = Field(
        LEARNED_FEATURES,
        min_length=1,
        description="which features have learned vectors",
    )
    rows_log2: int = Field(12, ge=4, le=20, description="rows of the table, an aspect of features")
    learned_dim: int = Field(128, ge=1)
    unknown_dim: int = Field(32, ge=0, multiple_of=32)
    unknown_weight: float = Field(1.0, ge=0)
    size_weight: float = Field(0.1, ge=0)
    halves: bool = Field(
        True, description="whether decoders and trunks are learned by a half of the vector each"
    )
    identity_dim: int = Field(
        320,
        ge=0,
        multiple_of=32,
        description="of a sketch of all features, which tells members of a family apart",
    )
    identity_weight: float = Field(0.4, ge=0)
    identity_features: tuple[FeatureKind, ...] = Field(
        (*LEARNED_FEATURES, "skeleton", "whole"), description="which features that sketch reads"
    )
    identity_attributes: float = Field(
        3.0, ge=0, description="how much operators with their attributes count in that sketch"
    )
    motif: MotifRecipe = MotifRecipe()
    graph: GraphRecipe = GraphRecipe()

    @property
    def stages(self) -> Mapping[str, StageRecipe]:
        """Motifs first, then graphs."""
        return {"motifs": self.motif, "graphs": self.graph}


class DefaultConfig(EncoderConfig):
    """Everything besides the weights that decides which vector a graph gets."""

    # Checkpoints write "labels" for the features, as they always did: fingerprints hash the name.
    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    name: Literal["default"] = "default"
    version: Literal[2] = 2
    features: tuple[FeatureKind, ...] = Field(DefaultRecipe().features, alias="labels")
    rows_log2: int = Field(ge=4, le=20)
    learned_dim: int = Field(ge=1)
    unknown_dim: int = Field(ge=0, multiple_of=32)
    unknown_weight: float = Field(ge=0)
    size_weight: float = Field(ge=0)
    # Not written where they have the values of checkpoints older than these fields: fingerprints of
    # such checkpoints must stay.
    halves: bool = Field(False, exclude_if=operator.not_)
    identity_dim: int = Field(0, ge=0, multiple_of=32, exclude_if=operator.not_)
    identity_weight: float = Field(0.0, ge=0, exclude_if=operator.not_)
    identity_features: tuple[FeatureKind, ...] = Field(
        LEARNED_FEATURES, exclude_if=lambda kinds: kinds == LEARNED_FEATURES
    )
    identity_attributes: float = Field(1.0, ge=0, exclude_if=lambda value: value == 1)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.learned_dim + self.unknown_dim + self.identity_dim + SIZE_DIM

    def weights(self, by: By, blocks: BlockWeights = WEIGHTS) -> NDArray[np.float32]:
        """Factors of a query's vector: shape (dim,).

            decoder half | trunk half | unknown | identity | size

        Args:
            by: What the query asks for.
            blocks: Weight of each block.
        """
        half = self.learned_dim // 2
        widths = (half, self.learned_dim - half, self.unknown_dim, self.identity_dim, SIZE_DIM)
        chosen = blocks[by] if self.halves else blocks["design"]
        return np.repeat(np.array(chosen, dtype=np.float32), widths)

    @classmethod
    def of(cls, motifs: MotifConfig, recipe: DefaultRecipe) -> "DefaultConfig":
        """The settings of the encoder that pretraining with a recipe gives."""
        return cls(
            motifs=motifs,
            features=recipe.features,
            rows_log2=recipe.rows_log2,
            learned_dim=recipe.learned_dim,
            unknown_dim=recipe.unknown_dim,
            unknown_weight=recipe.unknown_weight,
            size_weight=recipe.size_weight,
            halves=recipe.halves,
            identity_dim=recipe.identity_dim,
            identity_weight=recipe.identity_weight if recipe.identity_dim else 0.0,
            identity_features=recipe.identity_features if recipe.identity_dim else LEARNED_FEATURES,
            identity_attributes=recipe.identity_attributes if recipe.identity_dim else 1.0,
        )
