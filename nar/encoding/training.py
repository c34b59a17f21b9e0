"""Pretraining, which makes an encoder from a corpus: one stage after another.

Random numbers follow from seed, epoch and rank, so a run that goes on from a saved state takes the
same steps as a run without a break. A state is safetensors and JSON, never a pickle.

An epoch is cut into batches of shuffled items, and each worker takes a part of each batch.
"""

import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from nar.base.errors import CheckpointError, ConfigError
from nar.base.files import write_whole
from nar.encoding.collecting import keep_samples, kept_samples
from nar.encoding.recipe import EncoderRecipe, StageRecipe
from nar.encoding.registry import ENCODERS, Encoder
from nar.graphs.architecture import Architecture
from nar.motifs.config import MotifConfig

log = logging.getLogger(__name__)

# A contrast needs two items: one, and another from which it is to differ.
SMALLEST_SHARE = 2


@dataclass(frozen=True, slots=True)
class BatchShare:
    """Which part of every batch a worker takes."""

    rank: int = 0
    world: int = 1


ALONE = BatchShare()


def epoch_batches(
    items: int, batch_size: int, *, seed: int, epoch: int, share: BatchShare
) -> list[NDArray[np.int64]]:
    """One worker's part of every batch of an epoch.

    The order depends on seed and epoch alone. Batches are of even size, every item is in exactly
    one batch, and every worker has a part of each batch.

    Raises:
        ConfigError: There are too few items to give every worker a part worth contrasting.
    """
    order = np.random.default_rng([seed, epoch]).permutation(items)
    batches = np.array_split(order, max(1, -(-items // batch_size)))
    if len(batches[-1]) < SMALLEST_SHARE * share.world:
        raise ConfigError(
            f"wanted batches of at least {SMALLEST_SHARE} items for each of {share.world} workers, "
            f"came {len(batches[-1])} of {items} in all; take fewer workers, a larger batch or a "
            "larger corpus"
        )
    return [batch[share.rank :: share.world] for batch in batches]


_TENSORS = "state.safetensors"
_PROGRESS = "state.json"
_CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingState:
    """Everything that the rest of a run depends on; random numbers follow from seed and epoch.

    Attributes:
        stage: Number of the stage, from 0.
        epoch: Epochs of this stage that are done.
        networks: Weights of all networks by name.
        optimizer: Moments and step counts of the stage's optimizer, by parameter and name.
    """

    stage: int
    epoch: int
    networks: dict[str, Tensor]
    optimizer: dict[str, Tensor]


def save_state(directory: Path, state: TrainingState) -> None:
    """Write a state into a directory; the file that is written last makes it complete."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = {f"networks/{name}": tensor for name, tensor in state.networks.items()}
    tensors |= {f"optimizer/{name}": tensor for name, tensor in state.optimizer.items()}
    on_cpu = {name: tensor.detach().cpu() for name, tensor in tensors.items()}
    content = save(on_cpu)
    write_whole(directory / _TENSORS, partial(Path.write_bytes, data=content))
    progress = json.dumps(
        {"stage": state.stage, "epoch": state.epoch, "sha256": sha256(content).hexdigest()}
    )
    write_whole(directory / _PROGRESS, partial(Path.write_text, data=progress))


def load_state(directory: Path) -> TrainingState:
    """Read a state back.

    Raises:
        CheckpointError: It is missing or damaged.
    """
    try:
        progress = json.loads((directory / _PROGRESS).read_text())
        content = (directory / _TENSORS).read_bytes()
        if sha256(content).hexdigest() != progress["sha256"]:
            raise ValueError(f"{_TENSORS} is damaged")
        tensors = load(content)
        stage, epoch = int(progress["stage"]), int(progress["epoch"])
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(
            f"no state of a training run at {directory} ({error}); start again with --restart"
        ) from error
    return TrainingState(stage, epoch, _below("networks/", tensors), _below("optimizer/", tensors))


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """The state of an optimizer such as Adam, whose state is tensors only."""
    return {
        f"{parameter}.{name}": tensor
        for parameter, values in optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }


def restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    """Restore the state of an optimizer over the same parameters."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        parameter, _, name = key.partition(".")
        state.setdefault(int(parameter), {})[name] = tensor.clone()
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _unchanged(module: nn.Module) -> nn.Module:
    return module


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that trains, alone or together with other workers.

    Attributes:
        share: The part of every batch that it takes.
        device: The device that it computes on.
        wrap: Makes a module average its gradients over all workers.
    """

    share: BatchShare = ALONE
    device: torch.device = _CPU
    wrap: Callable[[nn.Module], nn.Module] = _unchanged


LONE = Worker()


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One finished epoch.

    Attributes:
        stage: Name of the stage.
        epoch: Epochs of the stage that are done.
        epochs: All epochs of the stage.
        loss: Mean over the batches of the epoch.
    """

    stage: str
    epoch: int
    epochs: int
    loss: float


AfterEpoch = Callable[[EpochReport, TrainingState], None]


def no_report(_report: EpochReport, _state: TrainingState) -> None:
    """Keep neither report nor state."""


@dataclass(frozen=True, slots=True)
class TrainingStage:
    """One stage of training: its objective, its batches and its recipe.

    Attributes:
        name: Name of the stage in the recipe.
        recipe: Epochs, learning rate, seed.
        objective: Gives the loss of a batch.
        batches: Gives the batches of an epoch: the rows of this worker's part of each.
        batch: Gives the batch that the objective reads, from rows and epoch.
        rate: Gives the share of the learning rate at a share of all steps.
    """

    name: str
    recipe: StageRecipe
    objective: nn.Module
    batches: Callable[[int], Sequence[NDArray[np.int64]]]
    batch: Callable[[NDArray[np.int64], int], Any]
    rate: Callable[[float], float] = lambda _: 1.0


def train(
    networks: nn.Module,
    stages: Sequence[Callable[[], TrainingStage]],
    *,
    worker: Worker,
    start: TrainingState | None,
    after_epoch: AfterEpoch,
) -> None:
    """Train one stage after the other.

    Args:
        networks: The networks of all stages.
        stages: Each makes a stage, when the stage before is done.
        worker: This process among the workers.
        start: State to go on from, given by ``after_epoch`` of the same run.
        after_epoch: Called after every epoch; the state is valid during the call.

    Raises:
        ConfigError: The loss is no longer finite.
    """
    if start is not None:
        networks.load_state_dict(start.networks)
    for number, make_stage in enumerate(stages):
        if start is None or start.stage <= number:
            resumed = start if start is not None and start.stage == number else None
            for report, moments in _epochs(make_stage(), worker, resumed):
                weights = networks.state_dict()
                after_epoch(report, TrainingState(number, report.epoch, weights, moments))


def warm_up_and_anneal(progress: float, *, warm_up: float = 0.1) -> float:
    """Share of the learning rate: a line up for the first tenth, then half a cosine down to 0."""
    if progress < warm_up:
        return progress / warm_up
    return 0.5 + 0.5 * math.cos(math.pi * (progress - warm_up) / (1 - warm_up))


def _epochs(
    stage: TrainingStage, worker: Worker, start: TrainingState | None
) -> Iterator[tuple[EpochReport, dict[str, Tensor]]]:
    """Train epoch after epoch, and give each report with the state of the optimizer."""
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
    stage: TrainingStage, model: nn.Module, optimizer: Optimizer, epoch: int, worker: Worker
) -> float:
    recipe = stage.recipe
    batches = stage.batches(epoch)
    losses = []
    with torch.random.fork_rng(devices=[worker.device] if worker.device.type == "cuda" else []):
        torch.manual_seed(_dropout_seed(recipe.seed, epoch, worker.share.rank))
        for number, batch in enumerate(batches):
            progress = (epoch + number / len(batches)) / recipe.epochs
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * stage.rate(progress)
            losses.append(train_step(model, optimizer, stage.batch(batch, epoch), worker.share))
    loss = sum(losses) / len(losses)
    if not math.isfinite(loss):
        raise ConfigError(
            f"the loss of stage {stage.name} became {loss} in epoch {epoch + 1}: "
            f"take a learning_rate below {recipe.learning_rate}"
        )
    return loss


def _dropout_seed(seed: int, epoch: int, rank: int) -> int:
    return int(np.random.SeedSequence([seed, epoch, rank]).generate_state(1)[0])


def train_step(model: nn.Module, optimizer: Optimizer, batch: object, share: BatchShare) -> float:
    """Take one step down the gradient of a batch's loss, and return the loss."""
    optimizer.zero_grad()
    loss: Tensor = model(batch)
    # Each worker has the loss of the whole batch and its own part of the gradient
    # (`losses.of_all_workers`). The parts are to be added up, but `Worker.wrap` takes their mean.
    (loss * share.world).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return float(loss.detach())


class TrainingModule(Protocol):
    """A module that trains encoders of one kind, from settings of its own types.

    Attributes:
        KEEPS: The class of its samples where it is one of arrays alone, which can be kept.
    """

    KEEPS: type[Any] | None

    def collect(self, architectures: Iterable[Architecture], motifs: MotifConfig) -> Any:  # noqa: ANN401
        """The samples that an encoder of this kind learns from, of a type of its own.

        Architectures are read once, in their order, and not kept.
        """

    def pretrain(
        self,
        samples: Any,  # noqa: ANN401
        recipe: EncoderRecipe,
        *,
        worker: Worker,
        start: TrainingState | None,
        after_epoch: AfterEpoch,
    ) -> Encoder:
        """Train all stages of a recipe on all samples; see `pretrain`."""


def training_module(name: str) -> TrainingModule:
    """The module that trains an encoder of the registry, imported now; it needs torch."""
    return cast("TrainingModule", import_module(ENCODERS[name].training))


def pretrain(
    architectures: Iterable[Architecture],
    motifs: MotifConfig,
    recipe: EncoderRecipe,
    *,
    worker: Worker = LONE,
    start: TrainingState | None = None,
    after_epoch: AfterEpoch = no_report,
    kept: Path | None = None,
) -> Encoder:
    """Train all stages on a whole corpus.

    Args:
        architectures: The corpus, read once and not kept: an iterator over shards will do.
        motifs: How graphs are cut.
        recipe: Which encoder, and how it learns.
        worker: This process among the workers.
        start: State to go on from, given by ``after_epoch`` with the same corpus and settings.
        after_epoch: Called after every epoch; the state is valid during the call.
        kept: Folder with the samples of this corpus, cut so, which is written where it is missing:
            then nothing is read of the corpus.

    Raises:
        ConfigError: Too few samples for the number of workers, or the loss is no longer finite.
    """
    module = training_module(recipe.encoder)
    samples = _samples(module, architectures, motifs, kept)
    return module.pretrain(samples, recipe, worker=worker, start=start, after_epoch=after_epoch)


def _samples(
    module: TrainingModule,
    architectures: Iterable[Architecture],
    motifs: MotifConfig,
    kept: Path | None,
) -> Any:  # noqa: ANN401 -- of a type of the module
    if kept is None or module.KEEPS is None:
        return module.collect(architectures, motifs)
    try:
        return kept_samples(kept, module.KEEPS, {"config": motifs})
    except FileNotFoundError:
        pass
    except (OSError, ValueError, EOFError) as error:
        log.warning("the samples in %s are damaged (%s): the corpus is read again", kept, error)
        rmtree(kept, ignore_errors=True)
    samples = module.collect(architectures, motifs)
    keep_samples(kept, samples)
    return samples
