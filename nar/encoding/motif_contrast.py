"""The first stage of every recipe: motifs against their contexts (Eq. 4), whoever encodes them."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from nar.encoding.losses import motif_contrastive_loss, structural_negatives
from nar.encoding.together import together

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, eq=False)
class MotifPairs(Generic[Read]):
    """Motifs with one context each, as an encoder reads them.

    Attributes:
        motifs: G_s.
        contexts: G_c, in the same order.
        motif_codes: Shape (batch,), motif type of each pair.
        context_codes: Shape (batch,), structure of each pair's context.
    """

    motifs: Read
    contexts: Read
    motif_codes: Tensor
    context_codes: Tensor


class MotifObjective(nn.Module):
    """Eq. 4 over an encoder of motifs, F_s, and one of contexts, F_c."""

    def __init__(self, motif: nn.Module, context: nn.Module, *, temperature: float) -> None:
        super().__init__()
        self.motif, self.context, self.temperature = motif, context, temperature

    def forward(self, batch: MotifPairs[Any]) -> Tensor:
        """The loss of a batch."""
        return motif_contrastive_loss(
            together(self.motif(batch.motifs)),
            together(self.context(batch.contexts)),
            negatives=structural_negatives(
                together(batch.motif_codes), together(batch.context_codes)
            ),
            temperature=self.temperature,
        )
