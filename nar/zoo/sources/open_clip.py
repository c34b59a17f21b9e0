"""The contrastive models of open_clip's configurations: an image tower and a text tower.

One forward pass runs both, on one image and one text.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from nar.base.model_folders import read_json
from nar.capture import Capture, CaptureInputs
from nar.labels.families import family_of
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.transformers.sizes import published_config, published_sizes

IMAGE_SIZE = 224  # pixels, the library's default
CONTEXT_LENGTH = 77  # tokens, the library's default

# Checkpoints of text towers, and the row of `sizes.yaml` that has the same sizes.
_SAME_SIZES = {"nllb-200-distilled-1.3B": "nllb-200-1.3B"}
_TASK = "zero-shot-image-classification"
Config = Mapping[str, Any]


def _names() -> list[str]:
    """Every configuration of the library, in its order."""
    names: list[str] = import_library("open_clip").list_models()
    return names


def _entry(model: str) -> Entry | None:
    if model not in _names():
        return None
    config: Config = import_library("open_clip").get_model_config(model)
    return Entry(
        _defining(config),
        _TASK,
        by_forward(partial(_build, config), partial(_inputs, config)),
        entrypoint=model,
    )


def _defining(config: Config) -> str:
    """What a configuration makes: a captioner, a model of the sigmoid loss, or a CLIP.

    A CLIP on an image tower of timm is named after timm's module, unless that is a plain vision
    transformer, which the library has itself.
    """
    if "multimodal_cfg" in config:
        return "coca"
    if "init_logit_bias" in config:
        return "siglip"
    tower = config["vision_cfg"].get("timm_model_name")
    if tower is None:
        return "clip"
    entrypoint = import_library("timm.models").model_entrypoint(tower.partition(".")[0])
    module = entrypoint.__module__.rpartition(".")[2]
    return "clip" if module == "vision_transformer" else f"{module}_clip"


def _build(config: Config) -> nn.Module:
    """Build without `create_model`, which logs that there are no weights and wants a device."""
    library = import_library("open_clip.model")
    settings = {key: value for key, value in config.items() if key != "custom_text"}
    settings["vision_cfg"] = {**config["vision_cfg"], "timm_model_pretrained": False}
    hub_name = config["text_cfg"].get("hf_model_name")
    is_custom = config.get("custom_text", False) or hub_name is not None
    cls = library.CustomTextCLIP if is_custom else library.CLIP
    if "multimodal_cfg" in config:
        cls = import_library("open_clip.coca_model").CoCa
    if hub_name is None:
        return _made(cls, settings)
    with TemporaryDirectory() as directory:
        _save_text_config(hub_name, Path(directory))
        saved = {"hf_model_name": directory, "hf_model_pretrained": False}
        return _made(cls, {**settings, "text_cfg": {**config["text_cfg"], **saved}})


def _made(cls: type[nn.Module], settings: Config) -> nn.Module:
    model: nn.Module = cls(**settings)
    return model


def _save_text_config(hub_name: str, directory: Path) -> None:
    """Put the configuration of a text tower where the library would put what it downloads."""
    checkpoint = hub_name.rpartition("/")[2]
    size = published_sizes()[_SAME_SIZES.get(checkpoint, checkpoint)]
    published_config(size).save_pretrained(directory)


def _inputs(config: Config, _module: nn.Module) -> CaptureInputs:
    size = config["vision_cfg"].get("image_size", IMAGE_SIZE)
    height, width = size if isinstance(size, list) else (size, size)
    tokens = config["text_cfg"].get("context_length", CONTEXT_LENGTH)
    return CaptureInputs(
        (torch.empty(1, 3, height, width), torch.zeros(1, tokens, dtype=torch.long))
    )


def capture_open_clip_config(path: Path, *, name: str) -> Capture:
    """The graph of the two towers that an ``open_clip_config.json`` describes.

    Args:
        path: The file: a ``model_cfg``, or what stands in one.
        name: Name of the model, for errors.

    Raises:
        CaptureError: It describes no model that open_clip builds.
        MissingLibraryError: open_clip is not installed.
    """
    content = read_json(path)
    config: Config = content.get("model_cfg", content)
    return by_forward(partial(_build, config), partial(_inputs, config))(name)


def labels_of_config(content: Mapping[str, Any]) -> tuple[str, str]:
    """The family and the task that an ``open_clip_config.json`` states.

    Args:
        content: A ``model_cfg``, or what stands in one.

    Raises:
        MissingLibraryError: timm, whose image tower is named, is not installed.
    """
    return family_of("open_clip", _defining(content.get("model_cfg", content))), _TASK


OPEN_CLIP = Source(
    name="open_clip",
    library="open_clip",
    distribution="open_clip_torch",
    licence="MIT",
    form="<configuration>",
    example="ViT-B-32",
    names=_names,
    entry=_entry,
    parts=("timm", "transformers"),
)
