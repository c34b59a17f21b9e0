"""A zoo of your own: install it beside NAR, and `nar search private:wide` finds its model."""

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.source import Entry, Source, by_forward

WIDTHS = {"narrow": 4, "wide": 8}


def entry(name: str) -> Entry | None:
    """The network of a name, which is built when it is captured."""
    if name not in WIDTHS:
        return None
    capture = by_forward(
        lambda: nn.Sequential(nn.Conv2d(3, WIDTHS[name], 3), nn.ReLU()),
        lambda _network: CaptureInputs((torch.zeros(1, 3, 8, 8),)),
    )
    return Entry("PrivateNet", "image-classification", capture)


SOURCE = Source(
    name="private",
    library="private_zoo",
    licence="LicenseRef-Proprietary",
    form="<width>",
    example="wide",
    names=lambda: list(WIDTHS),
    entry=entry,
)
