"""The encoders of segmentation-models-pytorch, and which decoders each of them bears."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from nar.labels.families import family_of
from nar.zoo.libraries import import_library
from nar.zoo.sources.timm_backbones import TimmBackbone, timm_backbones

LIBRARY = "segmentation_models_pytorch"
TIMM_PREFIX = "tu-"
NATIVE_SIZE = 256

PYRAMID = ("unet", "unetplusplus", "manet", "linknet", "fpn", "pspnet", "upernet", "segformer")
DILATED = ("deeplabv3", "deeplabv3plus", "pan")
TOKENS = ("dpt",)
# The library's own encoders that bear fewer, by defining module. `make_dilated` of the first five
# refuses: they halve the map by pooling, which has no dilated twin. The mix transformer has no map
# at half the size, and two decoders refuse it by name.
_NATIVE_DECODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "densenet": PYRAMID,
        "inceptionresnetv2": PYRAMID,
        "inceptionv4": PYRAMID,
        "vgg": PYRAMID,
        "xception": PYRAMID,
        "mix_transformer": ("unet", "manet", "fpn", "pspnet", "upernet", "segformer"),
    }
)


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder by its name in the library.

    Attributes:
        name: What `create_model` calls it; timm's begin with ``tu-``.
        size: Side of the square image that it and its decoders are given, in pixels.
        decoders: Those that can be put on it, by the names of `create_model`.
    """

    name: str
    size: int
    decoders: tuple[str, ...]

    @property
    def family(self) -> str:
        """Family of the module that defines it."""
        if self.name.startswith(TIMM_PREFIX):
            return timm_backbones()[self.name.removeprefix(TIMM_PREFIX)].family
        return family_of(LIBRARY, _native_modules()[self.name], self.name)


@cache
def encoders() -> Mapping[str, Encoder]:
    """Every encoder by name: the library's own in its order, then timm's in theirs."""
    own = [
        Encoder(name, NATIVE_SIZE, _NATIVE_DECODERS.get(module, PYRAMID + DILATED))
        for name, module in _native_modules().items()
    ]
    timm = [
        Encoder(TIMM_PREFIX + backbone.name, backbone.size, _decoders(backbone))
        for backbone in timm_backbones().values()
    ]
    return MappingProxyType({encoder.name: encoder for encoder in (*own, *timm)})


def _decoders(backbone: TimmBackbone) -> tuple[str, ...]:
    if backbone.gives == "tokens":
        return TOKENS
    return PYRAMID + DILATED if backbone.is_dilated else PYRAMID


def _native_modules() -> dict[str, str]:
    """Name of each of the library's own encoders, and the module that defines it."""
    own = import_library(f"{LIBRARY}.encoders").encoders
    return {name: entry["encoder"].__module__.rpartition(".")[2] for name, entry in own.items()}
