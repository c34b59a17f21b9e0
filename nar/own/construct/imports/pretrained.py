"""Models of transformers that a constructor wants pretrained: built of a configuration instead.

A folder that is there has the configuration in it. Of a name of the hub nothing is fetched: the
default configuration of its kind stands for its own, and that is recorded, for sizes may differ.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nar.own.construct.imports.late_patches import Replacement

_AUTO = "transformers.models.auto.configuration_auto"
_CONFIG_FILE = "config.json"


def usual_model(note: Callable[[str], None]) -> Replacement:
    """What replaces ``from_pretrained`` of models: the same class without weights.

    Args:
        note: Records what was left out.
    """

    def replacement(_real: Callable[..., Any]) -> Callable[..., Any]:
        def build(cls: Any, name: object = "", *_: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            config = kwargs.pop("config", None)
            if config is None or isinstance(config, str | Path):
                config = _config(getattr(cls, "config_class", None), config or name, kwargs)
            note(f"the weights of {name!r} are not loaded ({_words(config, name)})")
            is_auto = hasattr(cls, "_model_mapping")
            return cls.from_config(config) if is_auto else cls(config)

        return build

    return replacement


def usual_config(note: Callable[[str], None]) -> Replacement:
    """What replaces ``from_pretrained`` of configurations.

    Args:
        note: Records what was left out.
    """

    def replacement(_real: Callable[..., Any]) -> Callable[..., Any]:
        def build(cls: Any, name: object = "", *_: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            own = cls if getattr(cls, "model_type", "") else None
            config = _config(own, name, kwargs)
            note(f"the configuration of {name!r} is not loaded ({_words(config, name)})")
            return config

        return build

    return replacement


def _config(kind: Any, name: object, kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """A configuration by the folder or the name of a model, with values of its own replaced.

    Raises:
        LookupError: The name tells no kind of model.
    """
    stated = _stated(name)
    kind = kind or _kind_of(str(stated.get("model_type", name)))
    config = kind(**{key: value for key, value in stated.items() if key != "model_type"})
    for key, value in kwargs.items():
        if hasattr(config, key):
            setattr(config, key, value)
    return config


def _stated(name: object) -> dict[str, Any]:
    if not isinstance(name, str | Path) or not (Path(name) / _CONFIG_FILE).is_file():
        return {}
    stated: dict[str, Any] = json.loads((Path(name) / _CONFIG_FILE).read_text())
    return stated


def _kind_of(name: str) -> Any:  # noqa: ANN401
    """The class of configuration whose model type a name has in it, the longest such type."""
    kinds = sys.modules[_AUTO].CONFIG_MAPPING
    plain = name.lower().replace("_", "-")
    fitting = [kind for kind in kinds if kind.replace("_", "-") in plain]
    if not fitting:
        raise LookupError(f"{name!r} is of the hub and is not loaded, and its name tells no kind")
    return kinds[max(fitting, key=len)]


def _words(config: Any, name: object) -> str:  # noqa: ANN401
    kind = type(config).__name__
    if _stated(name):
        return f"{kind} of its {_CONFIG_FILE}"
    return f"the defaults of {kind} stand for its sizes"
