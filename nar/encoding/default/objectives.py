"""What each stage of the default encoder minimises, and the batches it reads."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nar.config import GraphRecipe
from nar.encoding.batches import Share
from nar.encoding.default.encoder import LabelBatch, LabelTable
from nar.encoding.default.samples import LabelSamples, MotifOccurrences
from nar.encoding.losses import (
    motif_contrastive_loss,
    structural_negatives,
    supervised_contrastive_loss,
)
from nar.motifs.label_sets import LabelSets

_CONTEXT_STREAM = 1


@dataclass(frozen=True, slots=True, eq=False)
class MotifLabelBatch:
    """Motifs with one context each.

    Attributes:
        motifs: Labels of each.
        contexts: Labels around each, in the same order.
        negatives: Shape (batch, batch), which contexts stand against which motifs.
    """

    motifs: LabelBatch
    contexts: LabelBatch
    negatives: Tensor


class MotifLabelObjective(nn.Module):
    """Stage 1, Eq. 4, with tables for F_s and F_c."""

    def __init__(self, motif: LabelTable, context: LabelTable, *, temperature: float) -> None:
        super().__init__()
        self.motif, self.context, self.temperature = motif, context, temperature

    def forward(self, batch: MotifLabelBatch) -> Tensor:
        """The loss of a batch."""
        return motif_contrastive_loss(
            self.motif(batch.motifs),
            self.context(batch.contexts),
            negatives=batch.negatives,
            temperature=self.temperature,
        )


class MotifLabelBatches:
    """Batches of stage 1: every motif type with one of its surroundings, another in each epoch."""

    def __init__(self, motifs: MotifOccurrences, table: LabelTable, seed: int) -> None:
        self._motifs, self._table, self._seed = motifs, table, seed
        _, self._first = np.unique(motifs.codes, return_index=True)
        self._occurrences = np.diff(np.append(self._first, len(motifs.codes)))

    def __len__(self) -> int:
        """Number of motif types."""
        return len(self._first)

    def __call__(self, places: NDArray[np.int64], epoch: int) -> MotifLabelBatch:
        """The motif types at these places, each with the surroundings of this epoch."""
        motifs = self._motifs
        choices = np.random.default_rng([self._seed, epoch, _CONTEXT_STREAM]).random(len(self))
        chosen = (self._first + (choices * self._occurrences).astype(np.int64))[places]
        codes, contexts = motifs.codes[chosen], motifs.context_codes[chosen]
        return MotifLabelBatch(
            self._read(motifs.sets.take(motifs.motifs[chosen])),
            self._read(_united(motifs.sets, [motifs.neighbours[each] for each in chosen])),
            structural_negatives(
                torch.from_numpy(codes.view(np.int64)), torch.from_numpy(contexts.view(np.int64))
            ).to(self._table.vectors.weight.device),
        )

    def _read(self, sets: LabelSets) -> LabelBatch:
        return self._table.batch(sets)


def _united(sets: LabelSets, groups: list[NDArray[np.int64]]) -> LabelSets:
    """The labels of several rows as those of one; a label of two of them counts twice."""
    taken = sets.take(np.concatenate(groups))
    ends = np.cumsum([0, *map(len, groups)])
    return LabelSets(taken.labels, taken.streams, taken.weights, taken.start[ends])


@dataclass(frozen=True, slots=True, eq=False)
class FamilyBatch:
    """Architectures with their families: labels of each, and shape (batch,)."""

    graphs: LabelBatch
    families: Tensor


class FamilyObjective(nn.Module):
    """Stage 2: the contrast of families, for every anchor."""

    def __init__(self, table: LabelTable, *, temperature: float) -> None:
        super().__init__()
        self.table, self.temperature = table, temperature

    def forward(self, batch: FamilyBatch) -> Tensor:
        """The loss of a batch."""
        return supervised_contrastive_loss(
            self.table(batch.graphs), batch.families, temperature=self.temperature
        )


class FamilyBatches:
    """Batches of stage 2.

    Some members of a family come together, or most anchors would have no relative.

    Args:
        samples: The corpus.
        table: Reads the labels.
        recipe: Of this stage.
    """

    def __init__(self, samples: LabelSamples, table: LabelTable, recipe: GraphRecipe) -> None:
        self._samples, self._table, self._recipe = samples, table, recipe

    def rows(self, epoch: int, share: Share) -> list[NDArray[np.int64]]:
        """This worker's part of every batch of an epoch."""
        recipe = self._recipe
        rng = np.random.default_rng([recipe.seed, epoch])
        order = relatives_together(self._samples.labels.families, recipe.relatives, rng)
        batches = np.array_split(order, max(1, round(len(order) / recipe.batch_size)))
        return [batch[share.rank :: share.world] for batch in batches]

    def __call__(self, rows: NDArray[np.int64], _epoch: int) -> FamilyBatch:
        """The architectures of these rows."""
        sets, families = self._samples.graphs, self._samples.labels.families
        graphs = self._table.batch(sets.take(rows))
        return FamilyBatch(graphs, torch.from_numpy(families[rows]).to(graphs.rows.device))


def relatives_together(
    families: NDArray[np.int64], relatives: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A random order in which members of a family stand side by side, so many at a time."""
    shuffled = rng.permutation(len(families))
    by_family = shuffled[np.argsort(families[shuffled], kind="stable")]
    ordered = families[by_family]
    first = np.searchsorted(ordered, ordered)
    group = ordered * len(families) + (np.arange(len(ordered)) - first) // relatives
    _, number = np.unique(group, return_inverse=True)
    place = rng.permutation(number.max() + 1)[number]
    return by_family[np.argsort(place, kind="stable")]
