"""The paper's encoder, untrained or trained in the two stages of Algorithm 1, with their losses."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nar.encoding import training
from nar.encoding.collecting import NODES_A_CHUNK, collected, printed_targets
from nar.encoding.losses import MotifObjective, MotifPairs, of_all_workers, pretraining_loss
from nar.encoding.paper.encoder import (
    GraphEncoder,
    PaperEncoder,
    encode_all,
    operator_features,
)
from nar.encoding.paper.merged import GraphBatch, RowGraph, collate, merged
from nar.encoding.paper.recipe import PaperConfig, PaperMotifRecipe, PaperRecipe
from nar.encoding.paper.samples import SampleReader, Samples
from nar.encoding.recipe import Losses, StageRecipe
from nar.encoding.training import epoch_batches
from nar.graphs.architecture import Architecture
from nar.graphs.ops import FEATURE_DIM
from nar.motifs.config import MotifConfig

# Chosen: any number keeps the draws of contexts apart from other draws of the same seed and epoch.
_CONTEXT_SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class MacroGraphBatch:
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

    def forward(self, batch: MacroGraphBatch) -> Tensor:
        """The loss of a batch."""
        embeddings = self.macro(batch.graphs)
        return pretraining_loss(
            of_all_workers(embeddings),
            of_all_workers(self.head(embeddings)),
            families=of_all_workers(batch.families),
            classes=of_all_workers(batch.classes),
            temperature=self.temperature,
            losses=self.losses,
        )


class MotifGraphBatches:
    """Batches of stage 1: every motif type with a context, drawn anew in each epoch."""

    def __init__(self, samples: Samples, recipe: PaperMotifRecipe, device: torch.device) -> None:
        self._samples = samples.motifs
        self._codes = samples.codes
        self._recipe = recipe
        self._operators = operator_features(FEATURE_DIM, device)
        self._device = device

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> MotifPairs[GraphBatch]:
        """Collate the motifs at ``rows``."""
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
        """A number from 0 to 1 for each motif type, the same in every worker."""
        return np.random.default_rng([self._recipe.seed, epoch, _CONTEXT_SEED]).random(
            len(self._codes)
        )


class MacroBatches:
    """Batches of stage 2 over a table of frozen motif embeddings."""

    def __init__(self, samples: Samples, table: Tensor, layers: int) -> None:
        self._graphs = merged(samples.macro_graphs, layers)
        self._targets = samples.targets
        self._table = table

    def __call__(self, rows: NDArray[np.int64], epoch: int) -> MacroGraphBatch:
        """Collate the macro graphs at ``rows``, which are the same in every epoch."""
        targets, device = self._targets, self._table.device
        return MacroGraphBatch(
            collate(self._graphs.take(rows), self._table),
            torch.from_numpy(targets.classes[rows]).to(device),
            torch.from_numpy(targets.families[rows]).to(device),
        )


# They are lists of small graphs.
KEEPS = None


def collect(architectures: Iterable[Architecture], motifs: MotifConfig) -> Samples:
    """The samples of a corpus, with the targets of the paper."""
    return collected(
        architectures, SampleReader(motifs), printed_targets, nodes_a_chunk=NODES_A_CHUNK
    )


class Networks(nn.Module):
    """F_s, F_c, F_m and the classifier head f, before training."""

    def __init__(self, config: PaperRecipe, classes: int) -> None:
        super().__init__()
        motif, graph = config.motif, config.graph
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(motif.seed)
            self.motif = GraphEncoder(FEATURE_DIM, motif.dim, layers=motif.layers)
            self.context = GraphEncoder(FEATURE_DIM, motif.dim, layers=motif.layers)
            torch.manual_seed(graph.seed)
            self.macro = GraphEncoder(motif.dim, graph.dim, layers=graph.layers, rate=graph.dropout)
            self.head = nn.Linear(graph.dim, classes)


def pretrain_paper(
    samples: Samples,
    config: PaperRecipe,
    *,
    worker: training.Worker = training.LONE,
    initial: PaperEncoder | None = None,
    start: training.TrainingState | None = None,
    after_epoch: training.AfterEpoch = training.no_report,
) -> PaperEncoder:
    """Algorithm 1: F_s against contexts, then F_m on macro graphs of frozen motif embeddings.

    Args:
        samples: The corpus.
        config: The recipe of both stages.
        worker: This process among the workers.
        initial: An encoder of another corpus; its F_s and F_m are trained further (Table 4).
        start: State to go on from, given by ``after_epoch`` with the same samples and config.
        after_epoch: Called after every epoch; the state is valid during the call.

    Raises:
        ConfigError: Too few samples for the number of workers, or the loss is no longer finite.
    """
    networks = Networks(config, classes=int(samples.targets.classes.max()) + 1).to(worker.device)
    if initial is not None:
        networks.motif.load_state_dict(initial.motif.state_dict())
        networks.macro.load_state_dict(initial.macro.state_dict())
    stages = [
        partial(make, networks, samples, config, worker) for make in (_motif_stage, _graph_stage)
    ]
    training.train(networks, stages, worker=worker, start=start, after_epoch=after_epoch)
    encoder = PaperConfig.of(samples.config, config)
    return PaperEncoder(encoder, networks.motif, networks.macro)


pretrain = pretrain_paper


def _motif_stage(
    networks: Networks, samples: Samples, config: PaperRecipe, worker: training.Worker
) -> training.TrainingStage:
    recipe = config.motif
    objective = MotifObjective(networks.motif, networks.context, temperature=recipe.temperature)
    batches = MotifGraphBatches(samples, recipe, worker.device)
    return training.TrainingStage(
        "motifs", recipe, objective, _drawn(len(samples.motifs), recipe, worker), batches
    )


def _graph_stage(
    networks: Networks, samples: Samples, config: PaperRecipe, worker: training.Worker
) -> training.TrainingStage:
    """Stage 2, with F_s frozen: each motif type is embedded once, for all epochs."""
    recipe = config.graph
    objective = MacroObjective(
        networks.macro, networks.head, temperature=recipe.temperature, losses=recipe.losses
    )
    motifs = [sample.motif for sample in samples.motifs]
    table = encode_all(
        networks.motif.eval(), motifs, operator_features(FEATURE_DIM, worker.device)
    ).clone()
    items = len(samples.macro_graphs)
    batches = MacroBatches(samples, table, recipe.layers)
    return training.TrainingStage(
        "graphs", recipe, objective, _drawn(items, recipe, worker), batches
    )


def _drawn(
    items: int, recipe: StageRecipe, worker: training.Worker
) -> Callable[[int], list[NDArray[np.int64]]]:
    return lambda epoch: epoch_batches(
        items, recipe.batch_size, seed=recipe.seed, epoch=epoch, share=worker.share
    )
