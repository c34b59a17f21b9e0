"""Classifiers that the configurations of mmpretrain name, at the size that images are tested at."""

from functools import partial
from typing import Any

from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.openmmlab.building import build
from nar.zoo.sources.openmmlab.configs import Config, config_names, read_config
from nar.zoo.sources.openmmlab.images import cut_size, image

_LIBRARY = "mmpretrain"
_SIDE = 224  # pixels, of most classifiers of ImageNet: for a pipeline that names no size


def _entry(name: str) -> Entry | None:
    config = read_config(_LIBRARY, name)
    if config is None:
        return None
    return Entry(
        config["model"]["backbone"]["type"],
        "image-classification",
        by_forward(partial(build, _LIBRARY, config["model"]), partial(_inputs, config)),
        entrypoint=name,
    )


def _inputs(config: Config, module: nn.Module) -> CaptureInputs:
    return CaptureInputs((image(module, _size(config)),), {"mode": "tensor"})


def _size(config: Config) -> tuple[int, int]:
    """Height and width in pixels: the backbone's own where it takes no other."""
    own: Any = config["model"]["backbone"].get("img_size")
    if own is None:
        return cut_size(config, _SIDE)
    return (own, own) if isinstance(own, int) else tuple(own)


MMPRETRAIN = Source(
    name="mmpretrain",
    library=_LIBRARY,
    licence="Apache-2.0",
    form="<directory>/<configuration>",
    example="resnet/resnet50_8xb32_in1k",
    names=partial(config_names, _LIBRARY),
    entry=_entry,
    parts=("mmcv", "mmengine"),
)
