"""What each stage of pretraining minimises: modules from a batch to its loss."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nar.encoding.losses import pretraining_loss
from nar.encoding.merged import RowGraph, merged
from nar.encoding.motif_contrast import MotifPairs
from nar.encoding.paper.graphs import GraphBatch, collate
from nar.encoding.paper.networks import GraphEncoder, operator_features
from nar.encoding.paper.recipe import PaperMotifRecipe
from nar.encoding.paper.samples import Samples
from nar.encoding.recipe import Losses
from nar.encoding.together import together
from nar.graphs.ops import FEATURE_DIM

_CONTEXT_STREAM = 1


@dataclass(frozen=True, slots=True, eq=False)
class MacroBatch:
    """Macro graphs with their targets.

    Attributes:
        graphs: G_m, features are frozen motif embeddings.
        classes: Shape (batch,).
        families: Shape (batch,).
    """

    graphs: GraphBatch
    classes: Tensor
    families: Tensor


class MacroObjective(nn.Module):
    """Stage 2, Eq. 6: F_m and the classifier head f."""

    def __init__(
        self, macro: GraphEncoder, head: nn.Linear, *, temperature: float, losses: Losses
    ) -> None:
        super().__init__()
        self.macro, self.head = macro, head
        self.temperature, self.losses = temperature, losses

    def forward(self, batch: MacroBatch) -> Tensor:
        """The loss of a batch."""
        embeddings = self.macro(batch.graphs)
        return pretraining_loss(
            together(embeddings),
            together(self.head(embeddings)),
            families=together(batch.families),
            classes=together(batch.classes),
            temperature=self.temperature,
            losses=self.losses,
        )


class MotifBatches:
    """Batches of stage 1: every motif type with one of its contexts, another in each epoch."""

    def __init__(self, samples: Samples, recipe: PaperMotifRecipe, device: torch.device) -> None:
        self._samples = samples.motifs
        self._codes = samples.codes
        self._recipe = recipe
        self._operators = operator_features(FEATURE_DIM, device)
        self._device = device

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> MotifPairs[GraphBatch]:
        """Collate the motifs of these rows."""
        samples = [self._samples[row] for row in rows]
        choices = self._choices(epoch)[rows]
        picks = [int(u * len(s.contexts)) for u, s in zip(choices, samples, strict=True)]
        contexts = [s.context_codes[pick] for s, pick in zip(samples, picks, strict=True)]
        codes = (self._codes[rows], np.array(contexts, dtype=np.uint64))
        return MotifPairs(
            self._read([sample.motif for sample in samples]),
            self._read([s.contexts[pick] for s, pick in zip(samples, picks, strict=True)]),
            *(torch.from_numpy(each.view(np.int64)).to(self._device) for each in codes),
        )

    def _read(self, graphs: Sequence[RowGraph]) -> GraphBatch:
        return collate(merged(graphs, self._recipe.layers), self._operators)

    def _choices(self, epoch: int) -> NDArray[np.float64]:
        """The same for every worker, whichever motifs it gets."""
        return np.random.default_rng([self._recipe.seed, epoch, _CONTEXT_STREAM]).random(
            len(self._codes)
        )


class MacroBatches:
    """Batches of stage 2 over a table of frozen motif embeddings."""

    def __init__(self, samples: Samples, table: Tensor, layers: int) -> None:
        self._graphs = merged(samples.macro_graphs, layers)
        self._targets = samples.targets
        self._table = table

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> MacroBatch:
        """Collate the macro graphs of these rows; no epoch differs from another."""
        targets, device = self._targets, self._table.device
        return MacroBatch(
            collate(self._graphs.take(rows), self._table),
            torch.from_numpy(targets.classes[rows]).to(device),
            torch.from_numpy(targets.families[rows]).to(device),
        )
