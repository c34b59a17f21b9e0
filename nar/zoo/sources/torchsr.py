"""The super-resolution networks of torchsr, at the scales it publishes weights for."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward

SIZE = 64  # side of the small image, in pixels: a patch as these are trained on

# Function -> scales. Second names of the same function are left out, and so are functions without
# learned weights. VDSR enlarges the image before its network, which is the same at every scale;
# RDN-A has no weights published and the scales of RDN-B.
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


def _names() -> list[str]:
    """Every network at every scale."""
    import_library("torchsr")
    return [f"{model}/x{scale}" for model, scales in _SCALES.items() for scale in scales]


def _entry(name: str) -> Entry | None:
    if name not in _names():
        return None
    model, _, scale = name.partition("/x")
    function = getattr(import_library("torchsr.models"), model)
    module = function.__module__.rpartition(".")[2]
    return Entry(
        module, "image-to-image", by_forward(partial(_build, function, int(scale)), _patch)
    )


def _build(function: Callable[..., nn.Module], scale: int) -> nn.Module:
    """Build for real: the layers that shift the mean copy numbers into their weights."""
    with torch.device("cpu"):
        return function(scale, pretrained=False).to("meta")


def _patch(_module: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, SIZE, SIZE),))


TORCHSR = Source(
    name="torchsr",
    library="torchsr",
    licence="MIT",
    form="<function>/x<scale>",
    example="edsr_r16f64/x2",
    names=_names,
    entry=_entry,
)
