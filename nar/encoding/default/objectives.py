"""What each stage of the default encoder minimises, and the batches it reads."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nar.encoding.batches import Share
from nar.encoding.default.encoder import FeatureBatch, FeatureTable
from nar.encoding.default.parts import equal_halves
from nar.encoding.default.recipe import GraphRecipe
from nar.encoding.default.samples import FeatureSamples, MotifOccurrences
from nar.encoding.default.vocabulary import Mask
from nar.encoding.losses import supervised_contrastive_loss
from nar.encoding.motif_contrast import MotifPairs
from nar.encoding.together import together
from nar.graphs.ragged import Integers
from nar.motifs.feature_sets import FeatureSets

_CONTEXT_STREAM = 1
_LEAVE_OUT_STREAM = 2


class MotifBatches:
    """Batches of stage 1: every motif type with one of its surroundings, another in each epoch."""

    def __init__(self, motifs: MotifOccurrences, table: FeatureTable, seed: int) -> None:
        self._motifs, self._table, self._seed = motifs, table, seed
        _, self._first = np.unique(motifs.codes, return_index=True)
        self._occurrences = np.diff(np.append(self._first, len(motifs.codes)))
        self._epoch, self._chosen = -1, self._first

    def __len__(self) -> int:
        """Number of motif types."""
        return len(self._first)

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> MotifPairs[FeatureBatch]:
        """The motif types of these rows, each with the surroundings of this epoch."""
        motifs = self._motifs
        chosen = self._choices(epoch)[rows]
        codes, contexts = motifs.codes[chosen], motifs.context_codes[chosen]
        device = self._table.vectors.weight.device
        return MotifPairs(
            self._read(motifs.sets.take(motifs.motifs[chosen])),
            self._read(_united(motifs.sets, *motifs.around(chosen))),
            *(torch.from_numpy(each.view(np.int64)).to(device) for each in (codes, contexts)),
        )

    def _choices(self, epoch: int) -> NDArray[np.int64]:
        """The occurrence of each motif type that an epoch reads; drawn once, for all its batches.

        The same for every worker, whichever motifs it gets.
        """
        if self._epoch != epoch:
            choices = np.random.default_rng([self._seed, epoch, _CONTEXT_STREAM]).random(len(self))
            self._chosen = self._first + (choices * self._occurrences).astype(np.int64)
            self._epoch = epoch
        return self._chosen

    def _read(self, sets: FeatureSets) -> FeatureBatch:
        return self._table.batch(sets)


def _united(sets: FeatureSets, rows: Integers, start: Integers) -> FeatureSets:
    """The features of several rows as those of one; a feature of two of them counts twice.

    Args:
        sets: Of all rows.
        rows: Group after group.
        start: Shape (groups + 1,), where each group begins.
    """
    taken = sets.take(rows)
    return FeatureSets(taken.codes, taken.streams, taken.weights, taken.start[start])


@dataclass(frozen=True, slots=True, eq=False)
class FamilyBatch:
    """Architectures with what they are called: features of each, and shape (batch,) of the others.

    Attributes:
        graphs: Features.
        families: Who is alike.
        decoders: Who is alike by what it is for.
        trunks: Who is alike by what it stands on.
    """

    graphs: FeatureBatch
    families: Tensor
    decoders: Tensor
    trunks: Tensor


class FamilyObjective(nn.Module):
    """Stage 2: the contrast of families, for every anchor.

    Where the learned part has two halves, one learns what composed models are for, the other what
    they stand on, and both together who is alike:

        decoders   ███░░░        families   ██████
        trunks     ░░░███
    """

    def __init__(self, table: FeatureTable, *, temperature: float, halves: bool) -> None:
        super().__init__()
        self.table, self.temperature, self.halves = table, temperature, halves

    def forward(self, batch: FamilyBatch) -> Tensor:
        """The loss of a batch."""
        learned = together(self.table(batch.graphs))
        families = together(batch.families)
        if not self.halves:
            return self._contrast(learned, families)
        of_decoder, of_trunk = equal_halves(learned).chunk(2, dim=1)
        whole = self._contrast(torch.cat([of_decoder, of_trunk], dim=1), families)
        decoders = self._contrast(of_decoder, together(batch.decoders))
        return (whole + decoders + self._contrast(of_trunk, together(batch.trunks))) / 3

    def _contrast(self, vectors: Tensor, names: Tensor) -> Tensor:
        return supervised_contrastive_loss(vectors, names, temperature=self.temperature)


class FamilyBatches:
    """Batches of stage 2.

    Some members of a family come together, or most anchors would have no relative.

    Args:
        samples: The corpus.
        table: Reads the features.
        recipe: Of this stage.
    """

    def __init__(self, samples: FeatureSamples, table: FeatureTable, recipe: GraphRecipe) -> None:
        self._samples, self._table, self._recipe = samples, table, recipe

    def rows(self, epoch: int, share: Share) -> list[NDArray[np.int64]]:
        """This worker's part of every batch of an epoch."""
        recipe = self._recipe
        rng = np.random.default_rng([recipe.seed, epoch])
        order = relatives_together(self._samples.targets.families, recipe.relatives, rng)
        batches = np.array_split(order, max(1, round(len(order) / recipe.batch_size)))
        return [batch[share.rank :: share.world] for batch in batches]

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> FamilyBatch:
        """The architectures of these rows, each without some of its features."""
        targets = self._samples.targets
        sets = self._samples.graphs.take(rows)
        graphs = self._table.batch(sets, self._seen(sets, rows, epoch))
        names = (targets.families, targets.decoders, targets.trunks)
        device = graphs.rows.device
        return FamilyBatch(graphs, *(torch.from_numpy(each[rows]).to(device) for each in names))

    def _seen(self, sets: FeatureSets, rows: NDArray[np.int64], epoch: int) -> Mask | None:
        """Which features a step sees: a part of a design is to stand where the whole one does.

        Every graph loses a share of its own, from none to ``leave_out``.
        """
        if not self._recipe.leave_out:
            return None
        rng = np.random.default_rng([self._recipe.seed, epoch, int(rows[0]), _LEAVE_OUT_STREAM])
        lost = rng.uniform(0, self._recipe.leave_out, len(rows))
        seen: Mask = rng.random(len(sets.codes)) >= lost[sets.graph()]
        return seen


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
    turn = rng.permutation(number.max() + 1)[number]
    return by_family[np.argsort(turn, kind="stable")]
