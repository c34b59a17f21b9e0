"""Capture of a `config.json` as a hub keeps it: a class of transformers, built without weights.

Entries that would fetch or run something are left out: code of its own, kernels, checkpoints.
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

# Chosen: a configuration takes some kilobytes, more where it maps a vocabulary; a larger file is
# hardly one, and is not read.
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
    # A file from outside can be wrong in any way: every failure becomes one kind of error.
    try:
        content = _read(path)
        class_name = _class_name(content)
        _config(content)
    except Exception as error:
        raise CaptureError(name, "-", one_line(error)) from error
    return capture_config(name, class_name, partial(_config, content))


def _read(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"wanted a configuration of at most {MAX_BYTES} bytes, came {size}")
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not isinstance(content.get("model_type"), str):
        raise ValueError("wanted a config.json with a model_type, came one without")
    return dict(_harmless(content))


def _harmless(content: Any) -> Any:  # noqa: ANN401
    """The entries that describe a network, at every depth."""
    if isinstance(content, list):
        return [_harmless(each) for each in content]
    if not isinstance(content, dict):
        return content
    kept = {key: each for key, each in content.items() if key not in _LEFT_OUT}
    return {key: _harmless(each) for key, each in kept.items() if not key.startswith("_")}


def _class_name(content: dict[str, Any]) -> str:
    """The class that a configuration names, or the bare model of its type."""
    transformers = import_library("transformers")
    model_type, named = content["model_type"], content.get("architectures") or []
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
    return str(transformers.MODEL_MAPPING[type(_config(content))].__name__)


def _config(content: dict[str, Any]) -> Config:
    """The configuration, made anew: models change theirs."""
    mapping = import_library("transformers").CONFIG_MAPPING
    config = mapping[content["model_type"]].from_dict(json.loads(json.dumps(content)))
    for part in parts(config):
        if hasattr(part, "use_cache"):
            part.use_cache = False
    return config
