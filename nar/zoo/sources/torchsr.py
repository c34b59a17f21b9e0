"""The super-resolution networks of torchsr, at the scales it publishes weights for."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import torch
from torch import nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "torchsr"
SIZE = 64  # side of the small image, in pixels: a patch as these are trained on

# Function -> scales. Second names of the same function are left out, and so is what learns nothing.
# VDSR enlarges the image before its network, which is the same at every scale; RDN-A has no weights
# published and the scales of RDN-B.
_SCALES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "carn": (2, 3, 4),
        "carn_m": (2, 3, 4),
        "edsr_r16f64": (2, 3, 4),
        "edsr_r32f256": (2, 3, 4),
        "ninasr_b0": (2, 3, 4, 8),
        "ninasr_b1": (2, 3, 4, 8),
        "ninasr_b2": (2, 3, 4, 8),
        "rcan_g10r20f64": (2, 3, 4, 8),
        "rdn_a": (2, 3, 4),
        "rdn_b": (2, 3, 4),
        "vdsr_r20f64": (2,),
    }
)


def list_torchsr() -> list[str]:
    """Every network at every scale as ``torchsr:<function>/x<scale>``.

    Raises:
        MissingLibraryError: torchsr is not installed.
    """
    import_library(SOURCE)
    return [f"{SOURCE}:{model}/x{scale}" for model, scales in _SCALES.items() for scale in scales]


def resolve_torchsr(name: str) -> ArchitectureSpec:
    """The spec behind ``torchsr:<function>/x<scale>``.

    Raises:
        UnknownArchitectureError: No such function, or not at that scale.
        MissingLibraryError: torchsr is not installed.
    """
    names = list_torchsr()
    if name not in names:
        way_out = f"wanted {SOURCE}:<function>/x<scale>, as {names[0]}"
        raise unknown_architecture(name, names, way_out=way_out)
    model, _, scale = name.removeprefix(f"{SOURCE}:").partition("/x")
    function = getattr(import_library(f"{SOURCE}.models"), model)
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(SOURCE),
        family=family_of(SOURCE, function.__module__.rpartition(".")[2]),
        task="image-to-image",
    )
    recipe = Recipe(partial(_build, function, int(scale)), _inputs)
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


def _build(function: Callable[..., nn.Module], scale: int) -> nn.Module:
    """Build for real: the layers that shift the mean copy numbers into their weights."""
    with torch.device("cpu"):
        return function(scale, pretrained=False).to("meta")


def _inputs(_module: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, SIZE, SIZE),))
