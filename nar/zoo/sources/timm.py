"""The models that timm registers, at the input size that their configuration names."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import torch
from torch import Tensor, nn

from nar.base.errors import CaptureError
from nar.base.model_folders import read_json
from nar.base.suggestions import close_names
from nar.base.workspace import package_lines
from nar.capture import Capture, CaptureInputs
from nar.labels.families import family_of
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward


def timm_names() -> list[str]:
    """Every registered model, then the pretrained tags that give it another last layer or size."""
    names: list[str] = import_library("timm").list_models()
    return [*names, *_tagged()]


@cache
def _tagged() -> tuple[str, ...]:
    """Names with a tag: one for each number of classes or size of image beside the model's own.

    Other tags share an architecture. A tower without a classifier has no classes.
    """
    timm, models = import_library("timm"), import_library("timm.models")
    first: dict[tuple[object, ...], str] = {}
    for name in (*timm.list_models(), *timm.list_models(pretrained=True)):
        config = models.get_pretrained_cfg(name)
        size = config.input_size if config and config.fixed_input_size else None
        first.setdefault((name.partition(".")[0], config and config.num_classes, size), name)
    return tuple(name for name in first.values() if "." in name)


def timm_family(model: str) -> str:
    """Family of a registered model: of its module, or finer where that defines several."""
    return family_of(TIMM.library, _module(model), model)


def _entry(model: str) -> Entry | None:
    timm = import_library("timm")
    if model not in _tagged() and ("." in model or not timm.models.is_model(model)):
        return None
    build = partial(timm.create_model, model, pretrained=False)
    return Entry(
        _module(model), "image-classification", by_forward(build, _inputs), entrypoint=model
    )


def _module(model: str) -> str:
    entrypoint = import_library("timm.models").model_entrypoint(model)
    module: str = entrypoint.__module__.rpartition(".")[2]
    return module


def _inputs(module: nn.Module) -> CaptureInputs:
    config = cast("Mapping[str, Any]", module.pretrained_cfg)
    return CaptureInputs((torch.empty(1, *config["input_size"]),))


# Entries of ``model_args`` that would fetch or load something, or that the file itself says.
_LEFT_OUT = frozenset({
    "cache_dir", "checkpoint_path", "model_name", "pretrained", "pretrained_cfg",
    "pretrained_cfg_overlay", "pretrained_strict", "scriptable",
})  # fmt: skip
# Chosen: larger images than any of timm's models takes.
_MAX_SIDE = 4_096


def capture_timm_config(path: Path, *, name: str) -> Capture:
    """The graph of the model that a ``config.json`` of timm describes.

    Args:
        path: The file: an ``architecture``, with ``num_classes``, ``model_args`` and an input size.
        name: Name of the model, for errors.

    Raises:
        CaptureError: timm has no such model; the nearest names are given. Or it cannot be built.
        MissingLibraryError: timm is not installed.
    """
    content = read_json(path)
    timm = import_library("timm")
    model = str(content["architecture"])
    if not timm.models.is_model(model):
        near = ", ".join(close_names(model, timm_names()))
        reason = f"timm {timm.__version__} has no architecture {model}"
        raise CaptureError(name, "-", f"{reason}; near: {near}" if near else reason)
    given = content.get("model_args") or {}
    options = {key: each for key, each in given.items() if key not in _LEFT_OUT}
    if isinstance(content.get("num_classes"), int):
        options.setdefault("num_classes", content["num_classes"])
    build = partial(timm.create_model, model, pretrained=False, **options)
    size = (content.get("pretrained_cfg") or {}).get("input_size")
    return by_forward(build, _inputs if size is None else partial(_of_size, size))(name)


def labels_of_config(content: Mapping[str, Any]) -> tuple[str, str]:
    """The family and the task that a ``config.json`` of timm states.

    Args:
        content: The configuration, with an ``architecture``.

    Raises:
        MissingLibraryError: timm is not installed.
    """
    # Without classes it gives features, which transformers calls so.
    has_head = content.get("num_classes") != 0
    task = "image-classification" if has_head else "feature-extraction"
    return timm_family(str(content["architecture"]).partition(".")[0]), task


def _of_size(size: object, _module: nn.Module) -> CaptureInputs:
    if not (isinstance(size, list) and len(size) == 3 and all(map(_is_side, size))):
        raise ValueError(f"wanted an input_size of three extents up to {_MAX_SIDE}, came {size}")
    return CaptureInputs((torch.empty(1, *size),))


def _is_side(extent: object) -> bool:
    return isinstance(extent, int) and 1 <= extent <= _MAX_SIDE


TIMM = Source(
    name="timm",
    library="timm",
    licence="Apache-2.0",
    form="<model>[.<tag>]",
    example="resnet50",
    names=timm_names,
    entry=_entry,
)


# The models of timm that other libraries take as a backbone, from a checked-in table.
#
# ``timm_backbones.txt`` was written by trying each of ``timm.list_models()``; its head says how.


@dataclass(frozen=True, slots=True)
class TimmBackbone:
    """One row of the table.

    Attributes:
        name: timm's name of the model.
        size: Side of the square image it takes, in pixels.
        gives: ``tokens`` where all its maps have one scale, ``quarter`` where they begin at a
            quarter of the image, ``half`` at a half and ``whole`` at its full size.
        is_dilated: Whether it can be built with an output stride of 8 and 16.
    """

    name: str
    size: int
    gives: str
    is_dilated: bool

    @property
    def is_pretrained(self) -> bool:
        """Whether timm publishes weights of it: what people put their own heads on."""
        published: bool = import_library("timm.models").is_model_pretrained(self.name)
        return published

    @property
    def family(self) -> str:
        """Its family, as timm's own source labels it."""
        return timm_family(self.name)


@cache
def timm_backbones() -> Mapping[str, TimmBackbone]:
    """Every row whose model the installed timm registers, by name and in the table's order.

    Raises:
        MissingLibraryError: timm is not installed.
    """
    registered = frozenset(import_library("timm").list_models())
    rows = [line.split() for line in package_lines("zoo", "sources", "timm_backbones.txt")]
    return MappingProxyType(
        {
            name: TimmBackbone(name, int(size), gives, dilated == "dilated")
            for name, size, gives, dilated in rows
            if name in registered
        }
    )


# Models of timm under the heads of other libraries: built once for all heads, read as maps.

# Chosen: the heads of one body are captured one after the other, on the plain body and on bodies
# dilated in two ways; a few more are kept for the options that libraries try. No body has weights.
KEPT = 8


@lru_cache(maxsize=KEPT)
def timm_body(model: str, **options: Any) -> nn.Module:  # noqa: ANN401
    """A model of `timm.create_model`, made once: heads read a body and leave it as it is.

    Without weights two copies of a body are equal, so captures of two heads can share one.

    Args:
        model: timm's name of it.
        options: As `timm.create_model` takes them, hashable.
    """
    body: nn.Module = import_library("timm.models").create_model(model, **options)
    return body


@contextmanager
def bodies_built_once() -> Iterator[None]:
    """Inside, a library that calls `timm.create_model` gets `timm_body`."""
    timm: Any = import_library("timm")
    create_model = timm.create_model
    timm.create_model = timm_body
    try:
        yield
    finally:
        timm.create_model = create_model


class TimmMaps(nn.Module):
    """Some of the feature maps of a timm model, by names of their reader's choice.

    Args:
        model: timm's name of it.
        picks: Name of each wanted map, and its level among all maps; -1 is the coarsest.
        output_stride: Pixels of the image for each pixel of the coarsest map, 32 unless dilated.

    Attributes:
        channels: Width of each map, in the order of `picks`.
    """

    def __init__(self, model: str, picks: Mapping[str, int], *, output_stride: int = 32) -> None:
        super().__init__()
        # Not every model has the argument, and none needs it at 32.
        dilated: dict[str, Any] = {} if output_stride == 32 else {"output_stride": output_stride}
        body: Any = timm_body(model, features_only=True, **dilated)
        widths: list[int] = body.feature_info.channels()
        self.body = body
        self.channels = [widths[level] for level in picks.values()]
        self._picks = dict(picks)
        self._is_channels_last = getattr(body, "output_fmt", "NCHW") == "NHWC"

    def forward(self, image: Tensor) -> OrderedDict[str, Tensor]:
        """The maps of an (N, 3, H, W) image, each (N, C, H / stride, W / stride)."""
        maps = self.body(image)
        if self._is_channels_last:
            maps = [features.permute(0, 3, 1, 2) for features in maps]
        return OrderedDict((name, maps[level]) for name, level in self._picks.items())
