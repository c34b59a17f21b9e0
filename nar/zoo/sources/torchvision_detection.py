"""Detectors that people compose: a head of torchvision on a feature pyramid on a timm backbone.

As `nar.zoo.sources.torchvision_heads` says, only what learns is captured.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, ModuleType

from torch import Tensor, nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.sources.timm_backbones import TimmBackbone, timm_backbones
from nar.zoo.sources.timm_maps import TimmMaps
from nar.zoo.sources.torchvision_heads import OneStage, TwoStage, without_postprocessing
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "torchvision_detection"
LIBRARY = "torchvision"
CLASSES = 91
PYRAMID_WIDTH = 256


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


def list_torchvision_detection() -> list[str]:
    """Every pair as ``torchvision_detection:<head>/<timm model>``, model by model."""
    return [f"{SOURCE}:{head}/{model}" for model in _backbones() for head in _HEADS]


def resolve_torchvision_detection(name: str) -> ArchitectureSpec:
    """The spec behind ``torchvision_detection:<head>/<timm model>``.

    Raises:
        UnknownArchitectureError: No such head, or no timm model that gives it feature maps.
    """
    head_name, _, model = name.removeprefix(f"{SOURCE}:").partition("/")
    head, backbone = _HEADS.get(head_name), _backbones().get(model)
    if head is None or backbone is None:
        way_out = f"wanted {SOURCE}:<head>/<timm model>, as {SOURCE}:fasterrcnn/resnet50"
        raise unknown_architecture(name, list_torchvision_detection(), way_out=way_out)
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(LIBRARY),
        family=family_of(LIBRARY, _class(head).__module__.rpartition(".")[2]),
        task="object-detection",
        tier="composed",
        backbone=backbone.family,
    )
    recipe = Recipe(partial(_build, head, backbone), _inputs)
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


def _build(head: _Head, backbone: TimmBackbone) -> nn.Module:
    size = (backbone.size, backbone.size)
    pyramid = _Pyramid(head, backbone.name)
    return without_postprocessing(_class(head)(pyramid, num_classes=CLASSES, fixed_size=size))


def _inputs(module: nn.Module) -> CaptureInputs:
    assert isinstance(module, OneStage | TwoStage), "what _build makes"
    return module.example()


def _class(head: _Head) -> Callable[..., nn.Module]:
    found: Callable[..., nn.Module] = getattr(
        import_library("torchvision.models.detection"), head.class_name
    )
    return found


def _backbones() -> dict[str, TimmBackbone]:
    """Those that have maps at several scales, and weights to begin with."""
    rows = timm_backbones().items()
    return {name: row for name, row in rows if row.gives != "tokens" and row.is_pretrained}
