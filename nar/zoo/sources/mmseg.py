"""Segmenters that the configurations of mmsegmentation name: a decoder's head on a backbone."""

from dataclasses import replace
from functools import partial
from typing import Any, cast

from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source
from nar.zoo.sources.openmmlab.building import build, composed_entry
from nar.zoo.sources.openmmlab.configs import Config, config_names, plain_type
from nar.zoo.sources.openmmlab.images import image

_LIBRARY = "mmseg"
_HEIGHT_WIDTH = (512, 1024)  # of most configurations: a photograph of Cityscapes at half its sides


class _Segmenter(nn.Module):
    """A segmenter up to the scores of each class, at the head's own resolution.

    Args:
        whole: The library's model.
    """

    def __init__(self, whole: nn.Module) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, image: Tensor) -> object:
        """Scores of an (N, 3, H, W) image; a cascade gives the scores of its last head."""
        parts = cast("Any", self.whole)
        maps, head = parts.extract_feat(image), parts.decode_head
        if hasattr(head, "pixel_decoder"):
            size = tuple(image.shape[-2:])
            sample = import_library("mmseg.structures").SegDataSample(
                metainfo={"img_shape": size, "batch_input_shape": size}
            )
            return head(maps, [sample])
        if not isinstance(head, nn.ModuleList):
            return head(maps)
        scores = head[0](maps)
        for further in head[1:]:
            scores = further(maps, scores)
        return scores


def _entry(name: str) -> Entry | None:
    entry = composed_entry(
        _LIBRARY, name, "image-segmentation", defining=_design, build=_build, inputs=_inputs
    )
    # One class of heads serves several designs, which only the configurations tell apart.
    return replace(entry, entrypoint=name) if entry else None


def _build(model: Config) -> nn.Module:
    return _Segmenter(build(_LIBRARY, model))


def _design(model: Config) -> str:
    """Type of the decoder's head; a cascade lists several, and the last gives the result."""
    head = model["decode_head"]
    return plain_type(head[-1] if isinstance(head, list | tuple) else head)


def _inputs(config: Config, module: nn.Module) -> CaptureInputs:
    model = config["model"]
    size = (model.get("data_preprocessor") or {}).get("size") or config.get("crop_size")
    return CaptureInputs((image(module, size or _HEIGHT_WIDTH),))


MMSEG = Source(
    name="mmseg",
    library=_LIBRARY,
    licence="Apache-2.0",
    form="<directory>/<configuration>",
    example="pspnet/pspnet_r50-d8_4xb4-80k_ade20k-512x512",
    names=partial(config_names, _LIBRARY),
    entry=_entry,
    distribution="mmsegmentation",
    parts=("mmcv", "mmengine", "mmpretrain"),
)
