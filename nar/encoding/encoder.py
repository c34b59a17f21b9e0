"""The interface of all encoders."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from nar.encoding.recipe import EncoderConfig
from nar.encoding.registry import ENCODERS
from nar.motifs.partition import MotifPartition

if TYPE_CHECKING:
    import torch


class Encoder(Protocol):
    """Motifs of graphs in, unit vectors out; safe to share between threads."""

    @property
    def config(self) -> EncoderConfig:
        """Settings that belong to the weights."""

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors of graphs that are cut into motifs: shape (graphs, dim)."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Everything that the encoder has learned, by name."""

    def load(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take the tensors that `tensors` of an encoder with equal settings gave."""

    def to(self, device: "torch.device | None") -> None:
        """Compute on a device from now on; None takes a GPU where a GPU helps."""


class ReadingModule(Protocol):
    """A module with the encoders of one kind."""

    def untrained(self, config: EncoderConfig) -> Encoder:
        """An encoder that learns nothing but what its `Encoder.load` takes."""


def reading_module(name: str) -> ReadingModule:
    """The module with an encoder of the registry, imported now."""
    return cast("ReadingModule", import_module(ENCODERS[name].reading))
