"""Capture of a `config.json` as a hub keeps it: a class of transformers, built without weights.

What the file could have fetched or run is left out: code of its own, kernels, other checkpoints.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, Final

from nar.base.errors import CaptureError
from nar.capture import Capture
from nar.capture.forward.dispatch import one_line
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.capture import capture_config
from nar.zoo.sources.transformers.configs import Config, parts

MAX_BYTES: Final = 4 * 1024**2
_LEFT_OUT: Final = frozenset({
    "attn_implementation", "auto_map", "custom_pipelines", "dtype", "experts_implementation",
    "quantization_config", "torch_dtype", "trust_remote_code",
})  # fmt: skip


def capture_config_file(path: Path, *, name: str) -> Capture:
    """The graph of the model that a configuration describes, of the first class that it names.

    Args:
        path: A ``config.json``.
        name: Name of the model, for errors.

    Raises:
        CaptureError: It is no configuration of a model that transformers knows.
        MissingLibraryError: transformers is not installed.
    """
    import_library("transformers")
    # A file from outside can be wrong in any way; whatever follows from that is one error.
    try:
        said = _read(path)
        class_name = _class_name(said)
        _config(said)
    except Exception as error:
        raise CaptureError(name, "-", one_line(error)) from error
    return capture_config(name, class_name, partial(_config, said))


def _read(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"wanted a configuration of at most {MAX_BYTES} bytes, came {size}")
    said = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(said, dict) or not isinstance(said.get("model_type"), str):
        raise ValueError("wanted a config.json with a model_type, came one without")
    return dict(_harmless(said))


def _harmless(said: Any) -> Any:  # noqa: ANN401
    """What describes a network, at every depth."""
    if isinstance(said, list):
        return [_harmless(each) for each in said]
    if not isinstance(said, dict):
        return said
    kept = {key: each for key, each in said.items() if key not in _LEFT_OUT}
    return {key: _harmless(each) for key, each in kept.items() if not key.startswith("_")}


def _class_name(said: dict[str, Any]) -> str:
    """The class that it names, or that transformers has for the bare model of its type."""
    transformers = import_library("transformers")
    model_type, named = said["model_type"], said.get("architectures") or []
    if model_type not in transformers.CONFIG_MAPPING:
        raise ValueError(
            f"transformers {transformers.__version__} knows no model_type {model_type}"
        )
    for each in named:
        kind = getattr(transformers, str(each), None)
        if isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel):
            return str(each)
    if named:
        raise ValueError(f"transformers {transformers.__version__} has no class {named[0]}")
    return str(transformers.MODEL_MAPPING[type(_config(said))].__name__)


def _config(said: dict[str, Any]) -> Config:
    """The configuration, made anew: models change theirs."""
    mapping = import_library("transformers").CONFIG_MAPPING
    config = mapping[said["model_type"]].from_dict(json.loads(json.dumps(said)))
    for part in parts(config):
        if hasattr(part, "use_cache"):
            part.use_cache = False
    return config
