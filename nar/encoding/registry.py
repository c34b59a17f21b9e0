"""Every encoder: a folder of `nar.encoding`, and one row here.

Rows name modules instead of importing them, so that settings are read without torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nar.encoding.default.recipe import DefaultConfig, DefaultRecipe
from nar.encoding.paper.recipe import PaperConfig, PaperRecipe
from nar.encoding.recipe import EncoderConfig, EncoderRecipe


@dataclass(frozen=True, slots=True)
class EncoderKind:
    """One kind of encoder.

    Attributes:
        name: Name in settings and checkpoints.
        recipe: Settings of pretraining.
        config: Settings in checkpoints.
        reading: Dotted name of the `nar.encoding.encoder.ReadingModule`, which a question needs.
        training: Dotted name of the `nar.encoding.encoder.TrainingModule`, which needs torch.
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
