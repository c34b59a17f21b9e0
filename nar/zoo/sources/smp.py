"""Segmentation networks that segmentation-models-pytorch composes: one decoder on one encoder."""

from functools import partial

import torch
from torch import nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.sources.smp_encoders import LIBRARY, encoders
from nar.zoo.sources.timm_bodies import bodies_built_once
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "smp"


def list_smp() -> list[str]:
    """Every pair as ``smp:<decoder>/<encoder>``, all decoders of an encoder together."""
    return [
        f"{SOURCE}:{decoder}/{encoder.name}"
        for encoder in encoders().values()
        for decoder in encoder.decoders
    ]


def resolve_smp(name: str) -> ArchitectureSpec:
    """The spec behind ``smp:<decoder>/<encoder>``.

    Raises:
        UnknownArchitectureError: No such pair, or one that the library does not support.
    """
    decoder, _, encoder_name = name.removeprefix(f"{SOURCE}:").partition("/")
    encoder = encoders().get(encoder_name)
    if encoder is None or decoder not in encoder.decoders:
        way_out = f"wanted {SOURCE}:<decoder>/<encoder>, as {SOURCE}:unet/resnet34"
        raise unknown_architecture(name, list_smp(), way_out=way_out)
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(LIBRARY),
        family=family_of(LIBRARY, decoder),
        task="image-segmentation",
        tier="composed",
        backbone=encoder.family,
    )
    recipe = Recipe(partial(_build, decoder, encoder_name), partial(_inputs, encoder.size))
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


def _build(decoder: str, encoder: str) -> nn.Module:
    create_model = import_library(LIBRARY).create_model
    with bodies_built_once():
        model: nn.Module = create_model(decoder, encoder, encoder_weights=None)
    return model


def _inputs(size: int, _module: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, size, size),))
