"""Every setting of the library in one frozen model, and the YAML file that sets them.

Sizes of clusters live in `ray_config.yaml`.
"""

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError

from nar.base.errors import ConfigError
from nar.base.settings import Settings, faults
from nar.encoding.default.recipe import DefaultRecipe
from nar.encoding.recipe import EncoderRecipe
from nar.encoding.registry import to_recipe
from nar.index.settings import IndexConfig
from nar.motifs.config import MotifConfig
from nar.wire.settings import ClientConfig, ServerConfig


class NarConfig(Settings):
    """Everything together, as one YAML file may set it."""

    # Or the error of a bad token would show it.
    model_config = ConfigDict(hide_input_in_errors=True)

    motifs: MotifConfig = MotifConfig()
    pretraining: Annotated[SerializeAsAny[EncoderRecipe], BeforeValidator(to_recipe)] = (
        DefaultRecipe()
    )
    index: IndexConfig = IndexConfig()
    server: ServerConfig = Field(default_factory=ServerConfig)
    client: ClientConfig = ClientConfig()


def load_config(path: Path | None) -> NarConfig:
    """Read settings from a YAML file; without one, the defaults.

    Raises:
        ConfigError: Names the setting at fault.
    """
    try:
        chosen = yaml.safe_load(path.read_text()) if path else None
        return NarConfig.model_validate(chosen or {})
    except OSError as error:
        raise ConfigError(f"cannot read settings from {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} holds no valid settings: {error}") from error
    except ValidationError as error:
        origin, found = path or "the environment", faults(error, NarConfig)
        raise ConfigError(f"{origin} holds no valid settings:\n{found}") from None
