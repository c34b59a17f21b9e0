"""Settings that every encoder has: how it learns, and what its checkpoint states."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from nar.base.settings import Settings
from nar.graphs.by import By
from nar.graphs.ops import FEATURE_DIM
from nar.motifs.config import MotifConfig

# Parts of Eq. 6: cross-entropy of the classifier head, contrast of families.
Losses = Literal["ce+cl", "ce", "cl"]


class StageRecipe(Settings):
    """How one stage of pretraining learns."""

    epochs: int = Field(ge=0)
    batch_size: int = Field(ge=2, description="items a step")
    learning_rate: float = Field(gt=0, description="of Adam, at its highest")
    seed: int = 0


class EncoderRecipe(Settings):
    """How an encoder learns: any number of stages, each a field of its own."""

    encoder: str

    @property
    @abstractmethod
    def stages(self) -> Mapping[str, StageRecipe]:
        """The stages in their order, by the names that they have in reports."""

    def with_seed(self, seed: int) -> Self:
        """The same recipe with another seed in every stage."""
        changed = {
            name: value.model_copy(update={"seed": seed})
            for name, value in self
            if isinstance(value, StageRecipe)
        }
        return self.model_copy(update=changed)


class EncoderConfig(Settings):
    """Everything besides the weights that decides which vector a graph gets.

    ``operators`` is the width of the one-hot vocabulary when the encoder was made. Operators that
    are newer than the encoder share the columns of unknown operators.
    """

    name: str
    version: int
    operators: int = Field(FEATURE_DIM, ge=1)
    motifs: MotifConfig = MotifConfig()

    @property
    @abstractmethod
    def dim(self) -> int:
        """Length of a vector."""

    def weights(self, _by: By) -> NDArray[np.float32]:
        """Factors of a query's vector, by what the query asks for: shape (dim,)."""
        return np.ones(self.dim, dtype=np.float32)
