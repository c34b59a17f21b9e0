"""Models of OpenMMLab whose own forward is the network: what their configurations name.

Classifiers of mmpretrain, poses of mmpose, texts in images of mmocr, and videos of mmaction. Each
is called in the mode ``tensor``, at the size that its configuration tests at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.building import for_real
from nar.zoo.libraries import import_library
from nar.zoo.source import CaptureNamed, Entry, Source, by_forward
from nar.zoo.sources.openmmlab.building import build, by_sizes
from nar.zoo.sources.openmmlab.configs import (
    Config,
    config_names,
    plain_type,
    read_config,
)
from nar.zoo.sources.openmmlab.images import CHANNELS, cut_size, image, shown_size, steps

_SIDE = 224  # pixels, of most classifiers of ImageNet: for a pipeline that names no size
_LINE = (32, 100)  # pixels, of most recognisers of text: height and width of one word
_PAGE = (736, 1280)  # pixels, of most detectors of text: height and width of a photograph
_JOINTS = {"coco": 17, "nturgb+d": 25, "openpose": 18}  # of a person, by the layout of the graph
# What every skeleton is read as: steps in time (the library's default), persons, coordinates.
_STEPS, _PERSONS, _COORDINATES = 100, 2, 3
_TEXT_DETECTORS = ("DBNet", "FCENet", "PANet", "PSENet", "TextSnake")

# Their grid of control points is written into the weights of a layer that is made before.
_READING_WEIGHTS = frozenset({"ASTER", "SVTR"})
_for_real = partial(by_forward, follow=for_real)

Example = Callable[[Config, nn.Module], CaptureInputs]


def _classified(config: Config, module: nn.Module) -> CaptureInputs:
    """One image, at the backbone's own size where it takes no other."""
    own: Any = config["model"]["backbone"].get("img_size")
    if own is None:
        size = cut_size(config, _SIDE)
    else:
        size = (own, own) if isinstance(own, int) else tuple(own)
    return CaptureInputs((image(module, size),), {"mode": "tensor"})


def _posed(config: Config, _module: nn.Module) -> CaptureInputs:
    """One image, at the size that the codec of its keypoints is for; codecs say width first."""
    codec = config.get("codec") or config["model"]["head"]["decoder"]
    first = codec[0] if isinstance(codec, list | tuple) else codec
    width, height = first["input_size"]
    inputs = torch.empty(1, CHANNELS, height, width), None
    return CaptureInputs(inputs, {"mode": "tensor"})


def _searched(config: Config, module: nn.Module) -> CaptureInputs:
    """One photograph in which text is found."""
    return CaptureInputs((image(module, shown_size(config, _PAGE)),), {"mode": "tensor"})


def _read(config: Config, module: nn.Module) -> CaptureInputs:
    """One line of text, and that all of its width is text."""
    line = image(module, shown_size(config, _LINE))
    sample = import_library("mmocr.structures").TextRecogDataSample(metainfo={"valid_ratio": 1.0})
    return CaptureInputs((line, [sample]), {"mode": "tensor"})


def _watched(config: Config, module: nn.Module) -> CaptureInputs:
    """One clip of a video: frames one by one, frames in a block, or a skeleton in each of them."""
    joints = (config["model"]["backbone"].get("graph_cfg") or {}).get("layout")
    if joints is not None:
        shape: tuple[int, ...] = (1, 1, _PERSONS, _STEPS, _JOINTS[joints], _COORDINATES)
    else:
        shape = _clip(config, module)
    return CaptureInputs((torch.empty(shape),), {"mode": "tensor", "stage": "head"})


def _clip(config: Config, module: nn.Module) -> tuple[int, ...]:
    """Shape of one clip: (1, frames, channels, H, W), or (1, 1, channels, frames, H, W)."""
    channels = next(
        (part.in_channels for part in module.modules() if isinstance(part, nn.Conv2d | nn.Conv3d)),
        CHANNELS,
    )
    side, clip_length, clips, layout = _SIDE, 1, 1, ""
    for step in steps(config):
        clip_length = step.get("clip_len", clip_length)
        clips = step.get("num_clips", clips)
        layout = step.get("input_format", layout)
        side = step.get("crop_size", side)
    if layout.startswith("NCT"):
        return (1, 1, channels, clip_length, side, side)
    return (1, clips, channels, side, side)


@dataclass(frozen=True, slots=True)
class _Library:
    """How the models of a library are called.

    Attributes:
        name: Import name.
        inputs: Makes one call from a configuration and its network.
        task: What they are for.
        defining: From the name of a configuration and its ``model`` to what names its design.
        by: From how a model is built and called to how it is captured.
        inputs_of: Class of models -> how one call of it is made, where that is not `inputs`.
        tasks: Class of models -> its task, where that is not `task`.
    """

    name: str
    inputs: Example
    task: str
    defining: Callable[[str, Config], str]
    by: Callable[..., CaptureNamed] = by_sizes
    inputs_of: Mapping[str, Example] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)

    def entry(self, name: str) -> Entry | None:
        """The entry of a listed configuration, else None."""
        config = read_config(self.name, name)
        if config is None:
            return None
        model = config["model"]
        kind = plain_type(model)
        inputs = self.inputs_of.get(kind, self.inputs)
        by = _for_real if kind in _READING_WEIGHTS else self.by
        capture = by(partial(build, self.name, model), partial(inputs, config))
        return Entry(self.defining(name, model), self.tasks.get(kind, self.task), capture, name)


def _backbone(_name: str, model: Config) -> str:
    return plain_type(model["backbone"])


def _source(library: _Library, *, example: str, distribution: str = "", **more: Any) -> Source:  # noqa: ANN401
    return Source(
        name=library.name,
        library=library.name,
        licence="Apache-2.0",
        form="<directory>/<configuration>",
        example=example,
        names=partial(config_names, library.name),
        entry=library.entry,
        distribution=distribution,
        **more,
    )


_MMPRETRAIN = _Library("mmpretrain", _classified, "image-classification", _backbone, by=by_forward)
# Heads that only smooth or enlarge maps: the backbone is the design.
_PLAIN_HEADS = frozenset({"CPMHead", "HeatmapHead", "MSPNHead", "VisPredictHead"})


def _head(name: str, model: Config) -> str:
    head = plain_type(model["head"])
    return _backbone(name, model) if head in _PLAIN_HEADS else head


def _whole(_name: str, model: Config) -> str:
    return plain_type(model)


def _directory(name: str, _model: Config) -> str:
    """``recognition/tsn/...``: one class of recognisers serves many designs."""
    return name.split("/")[1]


_MMPOSE = _Library("mmpose", _posed, "keypoint-detection", _head)
_MMOCR = _Library(
    "mmocr",
    _read,
    "text-recognition",
    _whole,
    inputs_of=dict.fromkeys(_TEXT_DETECTORS, _searched),
    tasks=dict.fromkeys(_TEXT_DETECTORS, "text-detection"),
)
_MMACTION = _Library("mmaction", _watched, "video-classification", _directory)

MMPRETRAIN = _source(_MMPRETRAIN, example="resnet/resnet50_8xb32_in1k", parts=("mmcv", "mmengine"))
_PARTS = ("mmcv", "mmengine", "mmdet", "mmpretrain")
MMPOSE = _source(
    _MMPOSE,
    example="body_2d_keypoint/topdown_heatmap/coco/td-hm_hrnet-w32_8xb64-210e_coco-aic-256x192-combine",
    parts=_PARTS,
)
MMOCR = _source(_MMOCR, example="textrecog/crnn/crnn_mini-vgg_5e_mj", parts=_PARTS)
MMACTION = _source(
    _MMACTION,
    example="recognition/c2d/c2d_r50-in1k-pre_8xb32-8x8x1-100e_kinetics400-rgb",
    distribution="mmaction2",
    parts=_PARTS,
)
