"""The interface of all encoders, and pretraining, which makes an encoder from a corpus."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nar.encoding.recipe import EncoderConfig, EncoderRecipe
from nar.encoding.registry import ENCODERS
from nar.encoding.training import LONE, AfterEpoch, TrainingState, Worker, no_report
from nar.graphs.architecture import Architecture
from nar.motifs.config import MotifConfig
from nar.motifs.partition import MotifPartition


class Encoder(Protocol):
    """Motifs of graphs in, unit vectors out; safe to share between threads."""

    @property
    def config(self) -> EncoderConfig:
        """Settings that belong to the weights."""

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors of graphs that are cut into motifs: shape (graphs, dim)."""

    def tensors(self) -> dict[str, Tensor]:
        """Everything that the encoder has learned, by name."""

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors that `tensors` of an encoder with equal settings gave."""

    def to(self, device: torch.device) -> None:
        """Compute on a device from now on."""


class EncoderModule(Protocol):
    """A module that makes encoders of one kind, from settings of its own types."""

    def untrained(self, config: EncoderConfig) -> Encoder:
        """An untrained encoder, from torch's global random state."""

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
        """Train all stages of a recipe on all samples; see `nar.encoding.encoder.pretrain`."""


def encoder_module(name: str) -> EncoderModule:
    """The module of an encoder of the registry, imported now."""
    return cast("EncoderModule", import_module(ENCODERS[name].module))


def pretrain(
    architectures: Iterable[Architecture],
    motifs: MotifConfig,
    recipe: EncoderRecipe,
    *,
    worker: Worker = LONE,
    start: TrainingState | None = None,
    after_epoch: AfterEpoch = no_report,
) -> Encoder:
    """Train all stages on a whole corpus.

    Args:
        architectures: The corpus, read once and not kept: an iterator over shards will do.
        motifs: How graphs are cut.
        recipe: Which encoder, and how it learns.
        worker: This process among the workers.
        start: State to go on from, given by ``after_epoch`` with the same corpus and settings.
        after_epoch: Called after every epoch; the state is valid during the call.

    Raises:
        ConfigError: Too few samples for the number of workers, or the loss is no longer finite.
    """
    module = encoder_module(recipe.encoder)
    samples = module.collect(architectures, motifs)
    return module.pretrain(samples, recipe, worker=worker, start=start, after_epoch=after_epoch)
