"""Capture of a `config.json` as a hub keeps it: a class of transformers, built without weights.

Entries that would fetch or run something are left out: code of its own, kernels, checkpoints.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from nar.base.errors import CaptureError, one_line
from nar.base.suggestions import close_names
from nar.capture import Capture
from nar.graphs.assumed import Assumed
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.capture import capture_config
from nar.zoo.sources.transformers.configs import Config, parts

# Chosen: a configuration takes some kilobytes, more where it maps a vocabulary; a larger file is
# hardly one, and is not read.
MAX_BYTES: Final = 4 * 1024**2
Settings: TypeAlias = Mapping[str, Any]
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
    # A file from outside can be wrong in any way: every failure becomes one kind of error.
    try:
        whole = _read(path)
    except Exception as error:
        raise CaptureError(name, "-", one_line(error)) from error
    return capture_settings(whole, name=name, folder=path.parent)


def capture_settings(whole: Settings, *, name: str, folder: Path = Path()) -> Capture:
    """The graph of the model that settings describe, of the first class that they name.

    Args:
        whole: What stands in a ``config.json``: at least a ``model_type``.
        name: Name of the model, for errors.
        folder: Where code of the model's own would lie, for messages.

    Raises:
        CaptureError: transformers knows no such model.
        MissingLibraryError: transformers is not installed.
    """
    import_library("transformers")
    try:
        content: dict[str, Any] = _harmless(whole)
        class_name = _class_name(content, _code_of(whole, folder), whole)
        _config(content)
    except Exception as error:
        raise CaptureError(name, "-", one_line(error)) from error
    capture = capture_config(name, class_name, partial(_config, content))
    notes = tuple(_notes(whole, class_name, folder))
    return replace(capture, assumed=Assumed(notes=notes)) if notes else capture


def _notes(whole: Settings, class_name: str, folder: Path) -> Iterator[str]:
    """What a configuration says beside its network."""
    how = whole.get("quantization_config") or whole.get("quantization")
    if isinstance(how, dict):
        # MLX writes the bits alone, bitsandbytes a flag for each number of bits.
        method = str(how.get("quant_method", "MLX"))
        bits = how.get("bits") or next((n for n in (4, 8) if how.get(f"load_in_{n}bit")), None)
        by = f"{method}, {bits} bits" if bits else method
        yield f"Its weights are quantised ({by}), which is no part of the design."
    code = _code_of(whole, folder)
    if code:
        yield (
            f"Its own code is not run: this is {class_name} of transformers. If you trust the "
            f"code: `nar search {code}`."
        )


def _code_of(whole: Settings, folder: Path) -> str:
    """The class of its own code that a configuration names, as NAR takes it; else empty."""
    named = whole.get("auto_map")
    named = named if isinstance(named, Mapping) else {}
    models = [str(each) for key, each in named.items() if "Model" in key]
    if not models:
        return ""
    module, _, class_name = models[0].rpartition("--")[2].rpartition(".")
    return f"{folder / module.replace('.', '/')}.py:{class_name}"


def _read(path: Path) -> Settings:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"wanted a configuration of at most {MAX_BYTES} bytes, came {size}")
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not isinstance(content.get("model_type"), str):
        raise ValueError("wanted a config.json with a model_type, came one without")
    return content


def _harmless(content: Any) -> Any:  # noqa: ANN401
    """The entries that describe a network, at every depth."""
    if isinstance(content, list):
        return [_harmless(each) for each in content]
    if not isinstance(content, Mapping):
        return content
    kept = {key: each for key, each in content.items() if key not in _LEFT_OUT}
    return {key: _harmless(each) for key, each in kept.items() if not key.startswith("_")}


def _class_name(content: Settings, code: str, whole: Settings) -> str:
    """The class that a configuration names, or the bare model of its type."""
    transformers = import_library("transformers")
    model_type, named = content["model_type"], content.get("architectures") or []
    this = f"transformers {transformers.__version__}"
    if model_type not in transformers.CONFIG_MAPPING:
        trust = f"; its code is not run; if you trust it: `nar search {code}`" if code else ""
        near = [] if code else close_names(model_type, [*transformers.CONFIG_MAPPING])
        like = f"; near: {', '.join(near)}" if near else ""
        raise ValueError(f"{this} knows no model_type {model_type}{_newer(whole)}{trust}{like}")
    for each in named:
        kind = getattr(transformers, str(each), None)
        if isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel):
            return str(each)
    bare = str(transformers.MODEL_MAPPING[type(_config(content))].__name__)
    if named:
        head = bare.removesuffix("Model")
        near = close_names(str(named[0]), [each for each in dir(transformers) if head in each])
        raise ValueError(
            f"{this} has no class {named[0]}{_newer(whole)}; near: {', '.join(near) or bare}; "
            "without `architectures` it is the bare model"
        )
    return bare


def _newer(whole: Settings) -> str:
    """Which version of transformers wrote a configuration, if that is newer than this."""
    transformers = import_library("transformers")
    wrote = str(whole.get("transformers_version", ""))
    is_newer = _numbers(wrote) > _numbers(transformers.__version__)
    way_out = f"; version {wrote} wrote it: pip install -U 'transformers>={wrote}'"
    return way_out if is_newer else ""


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def _config(content: Settings) -> Config:
    """The configuration, made anew: models change theirs."""
    mapping = import_library("transformers").CONFIG_MAPPING
    config = mapping[content["model_type"]].from_dict(json.loads(json.dumps(content)))
    for part in parts(config):
        if hasattr(part, "use_cache"):
            part.use_cache = False
    return config
