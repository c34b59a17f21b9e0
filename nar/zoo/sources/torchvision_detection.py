"""Detectors that people compose: a head of torchvision on a feature pyramid on a timm backbone.

As `nar.zoo.sources.torchvision_heads` says, only what learns is captured.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, ModuleType

from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.timm import TimmBackbone, TimmMaps, timm_backbones
from nar.zoo.sources.torchvision_heads import OneStage, TwoStage, without_postprocessing

CLASSES = 91  # numbers that COCO gives its classes, the background's included
PYRAMID_WIDTH = 256  # channels of each map: of the feature pyramid's paper and of torchvision


@dataclass(frozen=True, slots=True)
class _Head:
    """A detector of torchvision, and the pyramid its published form stands on.

    Attributes:
        class_name: Its class in `torchvision.models.detection`.
        maps: How many maps of the backbone the pyramid reads, the coarsest ones.
        extra: Makes what adds maps on top of the pyramid.
    """

    class_name: str
    maps: int
    extra: Callable[[ModuleType], nn.Module]


def _pooled_level(ops: ModuleType) -> nn.Module:
    level: nn.Module = ops.LastLevelMaxPool()
    return level


def _two_levels(ops: ModuleType) -> nn.Module:
    levels: nn.Module = ops.LastLevelP6P7(PYRAMID_WIDTH, PYRAMID_WIDTH)
    return levels


_HEADS: Mapping[str, _Head] = MappingProxyType(
    {
        "fasterrcnn": _Head("FasterRCNN", 4, _pooled_level),
        "maskrcnn": _Head("MaskRCNN", 4, _pooled_level),
        "keypointrcnn": _Head("KeypointRCNN", 4, _pooled_level),
        "retinanet": _Head("RetinaNet", 3, _two_levels),
        "fcos": _Head("FCOS", 3, _two_levels),
    }
)


class _Pyramid(nn.Module):
    """Feature maps of a timm model under torchvision's feature pyramid.

    Attributes:
        out_channels: Width of every map, as torchvision's detectors ask for it.
    """

    def __init__(self, head: _Head, model: str) -> None:
        super().__init__()
        ops = import_library("torchvision.ops.feature_pyramid_network")
        self.out_channels = PYRAMID_WIDTH
        self.body = TimmMaps(model, {str(level): level - head.maps for level in range(head.maps)})
        self.fpn = ops.FeaturePyramidNetwork(
            self.body.channels, PYRAMID_WIDTH, extra_blocks=head.extra(ops)
        )

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        maps: dict[str, Tensor] = self.fpn(self.body(image))
        return maps


def _names() -> list[str]:
    """Every pair, model by model."""
    return [f"{head}/{model}" for model in _backbones() for head in _HEADS]


def _entry(name: str) -> Entry | None:
    head_name, _, model = name.partition("/")
    head, backbone = _HEADS.get(head_name), _backbones().get(model)
    if head is None or backbone is None:
        return None
    return Entry(
        _class(head).__module__.rpartition(".")[2],
        "object-detection",
        by_forward(partial(_build, head, backbone), _inputs),
        tier="composed",
        backbone=backbone.family,
    )


def _build(head: _Head, backbone: TimmBackbone) -> nn.Module:
    size = (backbone.size, backbone.size)
    pyramid = _Pyramid(head, backbone.name)
    return without_postprocessing(_class(head)(pyramid, num_classes=CLASSES, fixed_size=size))


def _inputs(module: nn.Module) -> CaptureInputs:
    assert isinstance(module, OneStage | TwoStage), "what _build makes"
    return module.example()


def _class(head: _Head) -> Callable[..., nn.Module]:
    detector: Callable[..., nn.Module] = getattr(
        import_library("torchvision.models.detection"), head.class_name
    )
    return detector


def _backbones() -> dict[str, TimmBackbone]:
    """Models of timm that have maps at several scales, and published weights."""
    rows = timm_backbones().items()
    return {name: row for name, row in rows if row.gives != "tokens" and row.is_pretrained}


TORCHVISION_DETECTION = Source(
    name="torchvision_detection",
    library="torchvision",
    licence="BSD-3-Clause",
    form="<head>/<timm model>",
    example="fasterrcnn/resnet50",
    names=_names,
    entry=_entry,
    parts=("timm",),
)
