"""Segmentation networks that segmentation-models-pytorch composes: one decoder on one encoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.timm import TimmBackbone, bodies_built_once, timm_backbones

# The encoders of segmentation-models-pytorch, and the decoders that work on each.

LIBRARY = "segmentation_models_pytorch"
TIMM_PREFIX = "tu-"
NATIVE_SIZE = 256  # pixels; chosen: a multiple of 32, as the library's encoders demand

PYRAMID = ("unet", "unetplusplus", "manet", "linknet", "fpn", "pspnet", "upernet", "segformer")
DILATED = ("deeplabv3", "deeplabv3plus", "pan")
TOKENS = ("dpt",)
# The exceptions among the library's own encoders, by defining module, and the decoders they take.
# `make_dilated` refuses the first five: they halve the map by pooling, which cannot be dilated. The
# mix transformer has no map at half the size, and two decoders refuse it by name.
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
class SmpEncoder:
    """An encoder by its name in the library.

    Attributes:
        name: Its name for `create_model`; names of timm's encoders begin with ``tu-``.
        size: Side of the square image that it and its decoders are given, in pixels.
        decoders: The decoders that work on it, by their names for `create_model`.
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
def encoders() -> Mapping[str, SmpEncoder]:
    """Every encoder by name: the library's own in its order, then timm's in theirs."""
    own = [
        SmpEncoder(name, NATIVE_SIZE, _NATIVE_DECODERS.get(module, PYRAMID + DILATED))
        for name, module in _native_modules().items()
    ]
    timm = [
        SmpEncoder(TIMM_PREFIX + backbone.name, backbone.size, _decoders(backbone))
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


def _names() -> list[str]:
    """Every pair, all decoders of an encoder together."""
    return [
        f"{decoder}/{encoder.name}"
        for encoder in encoders().values()
        for decoder in encoder.decoders
    ]


def _entry(model: str) -> Entry | None:
    decoder, _, encoder_name = model.partition("/")
    encoder = encoders().get(encoder_name)
    if encoder is None or decoder not in encoder.decoders:
        return None
    return Entry(
        decoder,
        "image-segmentation",
        by_forward(partial(_build, decoder, encoder_name), partial(_image, encoder.size)),
        tier="composed",
        backbone=encoder.family,
    )


def _build(decoder: str, encoder: str) -> nn.Module:
    create_model = import_library(LIBRARY).create_model
    with bodies_built_once():
        model: nn.Module = create_model(decoder, encoder, encoder_weights=None)
    return model


def _image(size: int, _module: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, size, size),))


SMP = Source(
    name="smp",
    library=LIBRARY,
    licence="MIT",
    form="<decoder>/<encoder>",
    example="unet/resnet34",
    names=_names,
    entry=_entry,
    parts=("timm",),
)
