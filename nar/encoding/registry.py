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
        name: What settings and checkpoints call it.
        recipe: Its settings of pretraining.
        config: What its checkpoints state.
        module: Dotted name of its `nar.encoding.encoder.EncoderModule`.
    """

    name: str
    recipe: type[EncoderRecipe]
    config: type[EncoderConfig]
    module: str


_ROWS: Final = (
    EncoderKind("default", DefaultRecipe, DefaultConfig, "nar.encoding.default.pretraining"),
    EncoderKind("paper", PaperRecipe, PaperConfig, "nar.encoding.paper.pretraining"),
)
ENCODERS: Final[dict[str, EncoderKind]] = {kind.name: kind for kind in _ROWS}


def to_recipe(told: object) -> EncoderRecipe:
    """The recipe that settings mean; without a name it is that of the default encoder.

    Raises:
        ValueError: There is no such encoder, or a setting of it is wrong.
    """
    if isinstance(told, EncoderRecipe):
        return told
    return _kind(told, "encoder", "default").recipe.model_validate(told)


def to_config(told: object) -> EncoderConfig:
    """The settings that a checkpoint states.

    Raises:
        ValueError: There is no such encoder, or a setting of it is wrong.
    """
    return _kind(told, "name", "").config.model_validate(told)


def _kind(told: object, key: str, default: str) -> EncoderKind:
    if not isinstance(told, Mapping):
        raise ValueError(f"wanted settings of an encoder, came {type(told).__name__}")
    name: Any = told.get(key, default)
    if name not in ENCODERS:
        raise ValueError(f"{key}: wanted one of {', '.join(ENCODERS)}, came {name!r}")
    return ENCODERS[name]
