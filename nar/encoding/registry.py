"""Every encoder: the interface of all, a folder of `nar.encoding` for each, and one row here.

Rows name modules instead of importing them, so that settings are read without torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from nar.encoding.default.recipe import DefaultConfig, DefaultRecipe
from nar.encoding.paper.recipe import PaperConfig, PaperRecipe
from nar.encoding.recipe import EncoderConfig, EncoderRecipe

if TYPE_CHECKING:
    import torch

    from nar.motifs.partition import MotifPartition


class Encoder(Protocol):
    """Motifs of graphs in, unit vectors out; safe to share between threads."""

    @property
    def config(self) -> EncoderConfig:
        """Settings that belong to the weights."""

    def encode(self, partitions: "Sequence[MotifPartition]") -> NDArray[np.float32]:
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


@dataclass(frozen=True, slots=True)
class EncoderKind:
    """One kind of encoder.

    Attributes:
        name: Name in settings and checkpoints.
        recipe: Settings of pretraining.
        config: Settings in checkpoints.
        reading: Dotted name of the `ReadingModule`, which a question needs.
        training: Dotted name of the `nar.encoding.training.TrainingModule`, which needs torch.
    """

    name: str
    recipe: type[EncoderRecipe]
    config: type[EncoderConfig]
    reading: str
    training: str


_ROWS: Final = (
    EncoderKind(
        "default",
        DefaultRecipe,
        DefaultConfig,
        "nar.encoding.default.encoder",
        "nar.encoding.default.pretraining",
    ),
    EncoderKind(
        "paper",
        PaperRecipe,
        PaperConfig,
        "nar.encoding.paper.encoder",
        "nar.encoding.paper.pretraining",
    ),
)
ENCODERS: Final[dict[str, EncoderKind]] = {kind.name: kind for kind in _ROWS}


def reading_module(name: str) -> ReadingModule:
    """The module with an encoder of the registry, imported now."""
    return cast("ReadingModule", import_module(ENCODERS[name].reading))


def to_recipe(settings: object) -> EncoderRecipe:
    """The recipe in settings; settings that name no encoder mean the default encoder.

    Raises:
        ValueError: There is no such encoder, or a setting of it is wrong.
    """
    if isinstance(settings, EncoderRecipe):
        return settings
    return _kind(settings, "encoder", "default").recipe.model_validate(settings)


def to_config(settings: object) -> EncoderConfig:
    """The settings that a checkpoint states.

    Raises:
        ValueError: There is no such encoder, or a setting of it is wrong.
    """
    return _kind(settings, "name", "").config.model_validate(settings)


def _kind(settings: object, key: str, default: str) -> EncoderKind:
    if not isinstance(settings, Mapping):
        raise ValueError(f"wanted settings of an encoder, came {type(settings).__name__}")
    name: Any = settings.get(key, default)
    if name not in ENCODERS:
        raise ValueError(f"{key}: wanted one of {', '.join(ENCODERS)}, came {name!r}")
    return ENCODERS[name]
