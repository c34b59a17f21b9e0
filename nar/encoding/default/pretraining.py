"""The default encoder, untrained or through the two stages of its pretraining."""

from collections.abc import Iterable
from functools import partial

import torch
from torch import nn

from nar.encoding.batches import epoch_batches
from nar.encoding.collecting import collected
from nar.encoding.default.encoder import (
    STREAMS,
    DefaultEncoder,
    FeatureTable,
    default_encoder,
    finished,
)
from nar.encoding.default.objectives import (
    FamilyBatches,
    FamilyObjective,
    MotifBatches,
)
from nar.encoding.default.recipe import DefaultConfig, DefaultRecipe
from nar.encoding.default.samples import NODES_A_RUN, FeatureReader, FeatureSamples
from nar.encoding.default.vocabulary import Vocabulary
from nar.encoding.motif_contrast import MotifObjective
from nar.encoding.targets import kin_targets
from nar.encoding.training import (
    LONE,
    AfterEpoch,
    Stage,
    Worker,
    no_report,
    train,
    warm_up_and_anneal,
)
from nar.encoding.training_state import TrainingState
from nar.graphs.architecture import Architecture
from nar.motifs.config import MotifConfig

untrained = default_encoder


def collect(architectures: Iterable[Architecture], motifs: MotifConfig) -> FeatureSamples:
    """What the encoder learns from; composed models count by their encoders, too."""
    return collected(architectures, FeatureReader(motifs), kin_targets, nodes_a_part=NODES_A_RUN)


class Tables(nn.Module):
    """The table of the encoder and that of contexts, as they are before training."""

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
    worker: Worker = LONE,
    start: TrainingState | None = None,
    after_epoch: AfterEpoch = no_report,
) -> DefaultEncoder:
    """Features of motifs against those around them, then graphs of a family against all others.

    Args:
        samples: The corpus.
        recipe: Of both stages.
        worker: This process's part.
        start: Where to go on, given by ``after_epoch`` of a run with the same samples and recipe.
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
    train(tables, stages, worker=worker, start=start, after_epoch=after_epoch)
    return finished(config, tables.table, Vocabulary.of(samples.graphs, STREAMS))


pretrain = pretrain_default


def _motif_stage(
    tables: Tables, samples: FeatureSamples, recipe: DefaultRecipe, worker: Worker
) -> Stage:
    stage = recipe.motif
    batches = MotifBatches(samples.motifs, tables.table, stage.seed)
    return Stage(
        "motifs",
        stage,
        MotifObjective(tables.table, tables.context, temperature=stage.temperature),
        lambda epoch: epoch_batches(
            len(batches), stage.batch_size, seed=stage.seed, epoch=epoch, share=worker.share
        ),
        batches,
        warm_up_and_anneal,
    )


def _graph_stage(
    tables: Tables, samples: FeatureSamples, recipe: DefaultRecipe, worker: Worker
) -> Stage:
    stage = recipe.graph
    batches = FamilyBatches(samples, tables.table, stage)
    return Stage(
        "graphs",
        stage,
        FamilyObjective(tables.table, temperature=stage.temperature, halves=recipe.halves),
        lambda epoch: batches.rows(epoch, worker.share),
        batches,
        warm_up_and_anneal,
    )
