"""Segmentation networks that segmentation-models-pytorch composes: one decoder on one encoder."""

from functools import partial

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.smp_encoders import LIBRARY, encoders
from nar.zoo.sources.timm_bodies import bodies_built_once


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
