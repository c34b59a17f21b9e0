"""The two stages of pretraining (paper, Algorithm 1) as plain loops over batches.

Random numbers follow from seed, epoch and rank, so a run that goes on from a saved state takes the
very steps of the unbroken one.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from nar.config import GraphPretrainingConfig, MotifPretrainingConfig, PretrainingConfig
from nar.encoding.batches import ALONE, Share, epoch_batches
from nar.encoding.encoders import (
    EncoderConfig,
    GraphEncoder,
    PaperEncoder,
    encode_all,
    operator_features,
)
from nar.encoding.objectives import (
    MacroBatch,
    MacroBatches,
    MacroObjective,
    MotifBatch,
    MotifBatches,
    MotifObjective,
)
from nar.encoding.samples import Samples
from nar.encoding.training_state import TrainingState, optimizer_tensors, restore_optimizer
from nar.errors import ConfigError
from nar.ops import FEATURE_DIM

Recipe = MotifPretrainingConfig | GraphPretrainingConfig
Batch = MotifBatch | MacroBatch
_CPU = torch.device("cpu")


def _unchanged(module: nn.Module) -> nn.Module:
    return module


@dataclass(frozen=True, slots=True)
class Worker:
    """The process that trains, alone or as one of several.

    Attributes:
        share: Which part of every batch it takes.
        device: Where it computes.
        wrap: Makes a module average its gradients with those of the other workers.
    """

    share: Share = ALONE
    device: torch.device = _CPU
    wrap: Callable[[nn.Module], nn.Module] = _unchanged


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One finished epoch.

    Attributes:
        stage: ``motifs`` or ``graphs``.
        epoch: Epochs of the stage that are done.
        epochs: Epochs the stage has.
        loss: Mean over this worker's batches.
    """

    stage: str
    epoch: int
    epochs: int
    loss: float


AfterEpoch = Callable[[EpochReport, TrainingState], None]


def _nothing(_report: EpochReport, _state: TrainingState) -> None: ...


class Networks(nn.Module):
    """F_s, F_c, F_m and the classifier head f, as they are before training."""

    def __init__(self, config: PretrainingConfig, classes: int) -> None:
        super().__init__()
        motif, graph = config.motif, config.graph
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(motif.seed)
            self.motif = GraphEncoder(FEATURE_DIM, motif.dim, layers=motif.layers)
            self.context = GraphEncoder(FEATURE_DIM, motif.dim, layers=motif.layers)
            torch.manual_seed(graph.seed)
            self.macro = GraphEncoder(motif.dim, graph.dim, layers=graph.layers, rate=graph.dropout)
            self.head = nn.Linear(graph.dim, classes)


@dataclass(frozen=True, slots=True)
class _Stage:
    """One stage: what to minimise, over what, by which recipe."""

    name: str
    recipe: Recipe
    objective: nn.Module
    items: int
    batch: Callable[[NDArray[np.int64], int], Batch]


def pretrain(
    samples: Samples,
    config: PretrainingConfig,
    *,
    worker: Worker = Worker(),
    start: TrainingState | None = None,
    after_epoch: AfterEpoch = _nothing,
) -> PaperEncoder:
    """Algorithm 1: F_s against contexts, then F_m on macro graphs of frozen motif embeddings.

    Args:
        samples: The corpus.
        config: The recipe of both stages.
        worker: This process's part.
        start: Where to go on, given by ``after_epoch`` of a run with the same samples and config.
        after_epoch: Called after every epoch; the state is valid during the call.

    Raises:
        ConfigError: Too few samples for the number of workers, or the loss is no longer finite.
    """
    networks = Networks(config, classes=int(samples.labels.classes.max()) + 1).to(worker.device)
    if start is not None:
        networks.load_state_dict(start.networks)
    for number, make_stage in enumerate((_motif_stage, _graph_stage)):
        if start is None or start.stage <= number:
            resumed = start if start is not None and start.stage == number else None
            stage = make_stage(networks, samples, config, worker.device)
            for report, moments in _epochs(stage, worker, resumed):
                weights = networks.state_dict()
                after_epoch(report, TrainingState(number, report.epoch, weights, moments))
    encoder = EncoderConfig.of(samples.config, config)
    return PaperEncoder(encoder, networks.motif.eval(), networks.macro.eval())


def _motif_stage(
    networks: Networks, samples: Samples, config: PretrainingConfig, device: torch.device
) -> _Stage:
    recipe = config.motif
    objective = MotifObjective(networks.motif, networks.context, temperature=recipe.temperature)
    batches = MotifBatches(samples, recipe.seed, device)
    return _Stage("motifs", recipe, objective, len(samples.motifs), batches)


def _graph_stage(
    networks: Networks, samples: Samples, config: PretrainingConfig, device: torch.device
) -> _Stage:
    """F_s is done and frozen: each motif type is embedded once, for all epochs."""
    recipe = config.graph
    objective = MacroObjective(networks.macro, networks.head, temperature=recipe.temperature)
    motifs = [sample.motif for sample in samples.motifs]
    table = encode_all(networks.motif.eval(), motifs, operator_features(device)).clone()
    batches = MacroBatches(samples, table)
    return _Stage("graphs", recipe, objective, len(samples.macro_graphs), batches)


def _epochs(
    stage: _Stage, worker: Worker, start: TrainingState | None
) -> Iterator[tuple[EpochReport, dict[str, Tensor]]]:
    """Train epoch after epoch; give each report with the optimizer's state."""
    model = worker.wrap(stage.objective.train())
    optimizer = Adam(model.parameters(), lr=stage.recipe.learning_rate)
    if start is not None:
        restore_optimizer(optimizer, start.optimizer)
    first = 0 if start is None else start.epoch
    for epoch in range(first, stage.recipe.epochs):
        loss = _train_epoch(stage, model, optimizer, epoch, worker)
        report = EpochReport(stage.name, epoch + 1, stage.recipe.epochs, loss)
        yield report, optimizer_tensors(optimizer)


def _train_epoch(
    stage: _Stage, model: nn.Module, optimizer: Optimizer, epoch: int, worker: Worker
) -> float:
    recipe, share = stage.recipe, worker.share
    batches = epoch_batches(
        stage.items, recipe.batch_size, seed=recipe.seed, epoch=epoch, share=share
    )
    with torch.random.fork_rng(devices=[worker.device] if worker.device.type == "cuda" else []):
        torch.manual_seed(_dropout_seed(recipe.seed, epoch, share.rank))
        losses = [train_step(model, optimizer, stage.batch(batch, epoch)) for batch in batches]
    loss = sum(losses) / len(losses)
    if not math.isfinite(loss):
        raise ConfigError(
            f"the loss of stage {stage.name} became {loss} in epoch {epoch + 1}: "
            f"take a learning_rate below {recipe.learning_rate}"
        )
    return loss


def _dropout_seed(seed: int, epoch: int, rank: int) -> int:
    return int(np.random.SeedSequence([seed, epoch, rank]).generate_state(1)[0])


def train_step(model: nn.Module, optimizer: Optimizer, batch: Batch) -> float:
    """One step down the gradient of a batch's loss; gives the loss."""
    optimizer.zero_grad()
    loss: Tensor = model(batch)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return float(loss.detach())
