"""The size at which a configuration's test pipeline hands an image to its network."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nar.zoo.sources.openmmlab.configs import Config

_DIVISOR = 32  # pixels: `pad_size_divisor` of most detectors of mmdetection
_ASPECT = 4 / 3  # chosen: most photographs of COCO have it
_CUTS = frozenset({"CenterCrop", "EfficientNetCenterCrop", "RandomCrop", "RandomResizedCrop"})

CHANNELS = 3  # red, green, blue


def steps(config: Config) -> Iterator[Mapping[str, Any]]:
    """The steps of the pipeline that images are tested with."""
    loader = config.get("test_dataloader") or {}
    dataset = loader.get("dataset", {})
    yield from dataset.get("pipeline") or config.get("test_pipeline") or ()


def image(module: nn.Module, height_width: Sequence[int]) -> Tensor:
    """One image, with as many channels as the first convolution of a network takes.

    A network without convolutions is given three.

    Returns:
        Shape (1, channels, height, width), on the default device.
    """
    channels = (part.in_channels for part in module.modules() if isinstance(part, nn.Conv2d))
    return torch.empty(1, next(channels, CHANNELS), *height_width)


def cut_size(config: Config, default: int) -> tuple[int, int]:
    """Height and width in pixels to which the pipeline cuts or, without a cut, resizes an image.

    Args:
        config: Configuration of a classifier.
        default: Side in pixels if the pipeline names no size.
    """
    height_width = (default, default)
    for step in steps(config):
        kind = str(step.get("type")).rpartition(".")[2]
        size = step.get("crop_size") if kind in _CUTS else None
        if kind == "Resize":
            size = step.get("scale")
        if size is not None:
            height_width = _pair(size)
    return height_width


def shown_size(config: Config, default: tuple[int, int]) -> tuple[int, int]:
    """Height and width in pixels of an image of text after resizing.

    Args:
        config: Configuration of a model of mmocr, whose sizes say the width first.
        default: Height and width in pixels if the pipeline names no size.
    """
    height_width = default
    for step in steps(config):
        kind = str(step.get("type"))
        if kind in ("Resize", "Pad") and "scale" in step:
            width, height = _pair(step["scale"])
            height_width = _divisible(height, _DIVISOR), _divisible(width, _DIVISOR)
        if kind == "RescaleToHeight":
            height = step["height"]
            height_width = height, step.get("max_width") or 4 * height
    return height_width


def fitted_size(config: Config, default: tuple[int, int]) -> tuple[int, int]:
    """Height and width in pixels of a landscape photograph after resizing and padding.

    Args:
        config: Configuration of a detector.
        default: Height and width in pixels if the pipeline names no size.
    """
    height_width = default
    preprocessor = config.get("model", {}).get("data_preprocessor") or {}
    divisor = max(_DIVISOR, preprocessor.get("pad_size_divisor", _DIVISOR))
    for step in steps(config):
        if step.get("type") == "Resize" and "scale" in step:
            long, short = sorted(_pair(step["scale"]), reverse=True)
            height_width = (short, long)
            if step.get("keep_ratio"):
                height_width = _fit(long, short, divisor)
        if step.get("type") == "Pad" and "size" in step:
            width, height = _pair(step["size"])
            height_width = height, width
    return height_width


def _fit(long: int, short: int, divisor: int) -> tuple[int, int]:
    width = min(round(short * _ASPECT), long)
    height = min(short, round(width / _ASPECT))
    return _divisible(height, divisor), _divisible(width, divisor)


def _divisible(extent: int, divisor: int) -> int:
    return -(-extent // divisor) * divisor


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    return size[0], size[1]
