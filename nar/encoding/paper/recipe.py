"""Settings of the paper's encoder: how it learns, and what its checkpoint states."""

from collections.abc import Mapping
from typing import Literal

from pydantic import ConfigDict, Field

from nar.encoding.recipe import EncoderConfig, EncoderRecipe, Losses, StageRecipe
from nar.motifs.config import MotifConfig


class PaperMotifRecipe(StageRecipe):
    """Stage 1, the row "Motifs CL" of Table 5, but for its learning rate.

    Table 5 prints 1e-2. With Adam the loss then stays near that of chance (`results/findings.md`).
    """

    epochs: int = Field(5, ge=1)
    batch_size: int = Field(256, ge=2, description="motifs a step")
    layers: int = Field(3, ge=2)
    learning_rate: float = Field(1e-3, gt=0, description="Table 5 prints 1e-2")
    dim: int = Field(512, ge=1)
    temperature: float = Field(0.1, gt=0, description="the paper prints none")


class PaperGraphRecipe(StageRecipe):
    """Stage 2, the row "Graph CL" of Table 5."""

    epochs: int = Field(15, ge=1)
    batch_size: int = Field(512, ge=2, description="architectures a step")
    layers: int = Field(3, ge=2)
    learning_rate: float = Field(1e-3, gt=0)
    dim: int = Field(512, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    losses: Losses = Field("ce+cl", description="parts of Eq. 6; the others are Table 3")
    temperature: float = Field(0.1, gt=0, description="the paper prints none")


class PaperRecipe(EncoderRecipe):
    """Both stages of Algorithm 1, as printed."""

    encoder: Literal["paper"] = "paper"
    motif: PaperMotifRecipe = PaperMotifRecipe()
    graph: PaperGraphRecipe = PaperGraphRecipe()

    @property
    def stages(self) -> Mapping[str, StageRecipe]:
        """Motifs first, then macro graphs."""
        return {"motifs": self.motif, "graphs": self.graph}


class PaperConfig(EncoderConfig):
    """Everything besides the weights that decides which vector a graph gets."""

    # Checkpoints write "dim" for `graph_dim`; here `dim` is a property of every encoder.
    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    name: Literal["paper"] = "paper"
    version: Literal[1] = 1
    motif_dim: int
    motif_layers: int
    graph_dim: int = Field(alias="dim")
    layers: int

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.graph_dim

    @classmethod
    def of(cls, motifs: MotifConfig, recipe: PaperRecipe) -> "PaperConfig":
        """The settings of the encoder that pretraining with a recipe gives."""
        return cls(
            motifs=motifs,
            motif_dim=recipe.motif.dim,
            motif_layers=recipe.motif.layers,
            graph_dim=recipe.graph.dim,
            layers=recipe.graph.layers,
        )
