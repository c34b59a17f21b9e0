"""The default encoder, untrained or trained in two stages, and the losses of both stages."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

from nar.encoding import losses, training
from nar.encoding.collecting import NODES_A_CHUNK, collected, kin_targets
from nar.encoding.default.encoder import (
    ASPECTS,
    DefaultEncoder,
    FeatureVocabulary,
    Mask,
    TableLayout,
)
from nar.encoding.default.recipe import DefaultConfig, DefaultRecipe, GraphRecipe
from nar.encoding.default.samples import (
    FeatureReader,
    FeatureSamples,
    MotifOccurrences,
)
from nar.encoding.training import BatchShare, epoch_batches
from nar.graphs.architecture import Architecture
from nar.graphs.ragged import Integers
from nar.motifs.config import MotifConfig
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


# Chosen: any two numbers keep these draws apart from other draws of the same seed and epoch.
_CONTEXT_SEED = 1  # which context of a motif an epoch reads
_LEAVE_OUT_SEED = 2  # which features a step leaves out


class MotifFeatureBatches:
    """Batches of stage 1: every motif type with a context, drawn anew in each epoch."""

    def __init__(self, motifs: MotifOccurrences, table: FeatureTable, seed: int) -> None:
        self._motifs, self._table, self._seed = motifs, table, seed
        _, self._first = np.unique(motifs.codes, return_index=True)
        self._occurrences = np.diff(np.append(self._first, len(motifs.codes)))
        self._epoch, self._chosen = -1, self._first

    def __len__(self) -> int:
        """Number of motif types."""
        return len(self._first)

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> losses.MotifPairs[FeatureBatch]:
        """The motif types at ``rows``, each with its context in ``epoch``."""
        motifs = self._motifs
        chosen = self._choices(epoch)[rows]
        codes, contexts = motifs.codes[chosen], motifs.context_codes[chosen]
        device = self._table.vectors.weight.device
        return losses.MotifPairs(
            self._read(motifs.sets.take(motifs.motifs[chosen])),
            self._read(_united(motifs.sets, *motifs.around(chosen))),
            *(torch.from_numpy(each.view(np.int64)).to(device) for each in (codes, contexts)),
        )

    def _choices(self, epoch: int) -> NDArray[np.int64]:
        """The occurrence of each motif type that an epoch reads, drawn once for all its batches.

        It is the same in every worker, whichever motifs a worker gets.
        """
        if self._epoch != epoch:
            choices = np.random.default_rng([self._seed, epoch, _CONTEXT_SEED]).random(len(self))
            self._chosen = self._first + (choices * self._occurrences).astype(np.int64)
            self._epoch = epoch
        return self._chosen

    def _read(self, sets: FeatureSets) -> FeatureBatch:
        return self._table.batch(sets)


def _united(sets: FeatureSets, rows: Integers, start: Integers) -> FeatureSets:
    """The features of each group of rows as one set; a feature of two rows is in it twice.

    Args:
        sets: Features of all rows.
        rows: Rows, group after group.
        start: Shape (groups + 1,), where each group begins.
    """
    taken = sets.take(rows)
    return FeatureSets(taken.codes, taken.aspects, taken.weights, taken.start[start])


@dataclass(frozen=True, slots=True, eq=False)
class FamilyBatch:
    """Architectures with their features and their targets, each target of shape (batch,).

    Attributes:
        graphs: Features.
        families: Equal for architectures that are alike.
        decoders: Equal for architectures with the same purpose.
        trunks: Equal for architectures that stand on the same encoder.
    """

    graphs: FeatureBatch
    families: Tensor
    decoders: Tensor
    trunks: Tensor


class FamilyContrast(nn.Module):
    """Stage 2: the contrast of families, for every anchor.

    Where the learned part has two halves, one half learns what composed models are for, the other
    what they stand on, and both together learn the families:

        decoders   ███░░░        families   ██████
        trunks     ░░░███
    """

    def __init__(self, table: FeatureTable, *, temperature: float, halves: bool) -> None:
        super().__init__()
        self.table, self.temperature, self.halves = table, temperature, halves

    def forward(self, batch: FamilyBatch) -> Tensor:
        """The loss of a batch."""
        learned = losses.of_all_workers(self.table(batch.graphs))
        families = losses.of_all_workers(batch.families)
        if not self.halves:
            return self._contrast(learned, families)
        of_decoder, of_trunk = equal_halves(learned).chunk(2, dim=1)
        whole = self._contrast(torch.cat([of_decoder, of_trunk], dim=1), families)
        decoders = self._contrast(of_decoder, losses.of_all_workers(batch.decoders))
        return (
            whole + decoders + self._contrast(of_trunk, losses.of_all_workers(batch.trunks))
        ) / 3

    def _contrast(self, vectors: Tensor, names: Tensor) -> Tensor:
        return losses.supervised_contrastive_loss(vectors, names, temperature=self.temperature)


class FamilyBatches:
    """Batches of stage 2.

    Some members of a family are in one batch, or most anchors would have no relative.

    Args:
        samples: The corpus.
        table: Reads the features.
        recipe: Recipe of this stage.
    """

    def __init__(self, samples: FeatureSamples, table: FeatureTable, recipe: GraphRecipe) -> None:
        self._samples, self._table, self._recipe = samples, table, recipe

    def rows(self, epoch: int, share: BatchShare) -> list[NDArray[np.int64]]:
        """This worker's part of every batch of an epoch."""
        recipe = self._recipe
        rng = np.random.default_rng([recipe.seed, epoch])
        order = relatives_side_by_side(self._samples.targets.families, recipe.relatives, rng)
        batches = np.array_split(order, max(1, round(len(order) / recipe.batch_size)))
        return [batch[share.rank :: share.world] for batch in batches]

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> FamilyBatch:
        """The architectures at ``rows``, each without some of its features."""
        targets = self._samples.targets
        sets = self._samples.graphs.take(rows)
        graphs = self._table.batch(sets, self._seen(sets, rows, epoch))
        names = (targets.families, targets.decoders, targets.trunks)
        device = graphs.rows.device
        return FamilyBatch(graphs, *(torch.from_numpy(each[rows]).to(device) for each in names))

    def _seen(self, sets: FeatureSets, rows: NDArray[np.int64], epoch: int) -> Mask | None:
        """Which features a step sees: a part of a design is to have the vector of the whole.

        Every graph loses a random share of its features, from none to ``leave_out``.
        """
        if not self._recipe.leave_out:
            return None
        rng = np.random.default_rng([self._recipe.seed, epoch, int(rows[0]), _LEAVE_OUT_SEED])
        lost = rng.uniform(0, self._recipe.leave_out, len(rows))
        seen: Mask = rng.random(len(sets.codes)) >= lost[sets.graph()]
        return seen


def relatives_side_by_side(
    families: NDArray[np.int64], relatives: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A random order in which ``relatives`` members of a family at a time stand side by side."""
    shuffled = rng.permutation(len(families))
    by_family = shuffled[np.argsort(families[shuffled], kind="stable")]
    ordered = families[by_family]
    first = np.searchsorted(ordered, ordered)
    group = ordered * len(families) + (np.arange(len(ordered)) - first) // relatives
    _, number = np.unique(group, return_inverse=True)
    turn = rng.permutation(number.max() + 1)[number]
    return by_family[np.argsort(turn, kind="stable")]


KEEPS = FeatureSamples


def collect(architectures: Iterable[Architecture], motifs: MotifConfig) -> FeatureSamples:
    """The samples of a corpus; the families of composed models depend on their encoders, too."""
    return collected(architectures, FeatureReader(motifs), kin_targets, nodes_a_chunk=NODES_A_CHUNK)


class Tables(nn.Module):
    """The table of the encoder and the table of contexts, before training."""

    def __init__(self, config: DefaultConfig, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.table = FeatureTable(config)
            self.context = FeatureTable(config)


def pretrain_default(
    samples: FeatureSamples,
    recipe: DefaultRecipe,
    *,
    worker: training.Worker = training.LONE,
    start: training.TrainingState | None = None,
    after_epoch: training.AfterEpoch = training.no_report,
) -> DefaultEncoder:
    """Train motifs against their contexts, then graphs of a family against all others.

    Args:
        samples: The corpus.
        recipe: Recipe of both stages.
        worker: This process among the workers.
        start: State to go on from, given by ``after_epoch`` with the same samples and recipe.
        after_epoch: Called after every epoch; the state is valid during the call.

    Raises:
        ConfigError: Too few samples for the number of workers, or the loss is no longer finite.
    """
    config = DefaultConfig.of(samples.config, recipe)
    tables = Tables(config, recipe.graph.seed).to(worker.device)
    stages = [
        partial(_motif_stage, tables, samples, recipe, worker),
        partial(_graph_stage, tables, samples, recipe, worker),
    ]
    training.train(tables, stages, worker=worker, start=start, after_epoch=after_epoch)
    return finished(config, tables.table, FeatureVocabulary.of(samples.graphs, ASPECTS))


pretrain = pretrain_default


def _motif_stage(
    tables: Tables, samples: FeatureSamples, recipe: DefaultRecipe, worker: training.Worker
) -> training.TrainingStage:
    stage = recipe.motif
    batches = MotifFeatureBatches(samples.motifs, tables.table, stage.seed)
    return training.TrainingStage(
        "motifs",
        stage,
        losses.MotifObjective(tables.table, tables.context, temperature=stage.temperature),
        lambda epoch: epoch_batches(
            len(batches), stage.batch_size, seed=stage.seed, epoch=epoch, share=worker.share
        ),
        batches,
        training.warm_up_and_anneal,
    )


def _graph_stage(
    tables: Tables, samples: FeatureSamples, recipe: DefaultRecipe, worker: training.Worker
) -> training.TrainingStage:
    stage = recipe.graph
    batches = FamilyBatches(samples, tables.table, stage)
    return training.TrainingStage(
        "graphs",
        stage,
        FamilyContrast(tables.table, temperature=stage.temperature, halves=recipe.halves),
        lambda epoch: batches.rows(epoch, worker.share),
        batches,
        training.warm_up_and_anneal,
    )
