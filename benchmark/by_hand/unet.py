"""U-Net (Ronneberger et al., 2015), with batch norms and padded convolutions."""

import torch
from torch import nn


class DoubleConv(nn.Sequential):
    def __init__(self, before, after):
        super().__init__(
            nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
        )


class UNet(nn.Module):
    def __init__(self, channels=1, classes=2, widths=(32, 64, 128, 256, 512)):
        super().__init__()
        self.downs, before = nn.ModuleList(), channels
        for width in widths:
            self.downs.append(DoubleConv(before, width))
            before = width
        self.pool = nn.MaxPool2d(2)
        pairs = list(zip(widths[::-1][:-1], widths[::-1][1:]))
        self.ups = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.convs = nn.ModuleList(DoubleConv(2 * b, b) for _, b in pairs)
        self.out = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.downs):
            x = down(x if i == 0 else self.pool(x))
            kept.append(x)
        kept.pop()
        for up, conv in zip(self.ups, self.convs):
            x = conv(torch.cat([kept.pop(), up(x)], dim=1))
        return self.out(x)


def asked():
    return UNet(), (torch.zeros(1, 1, 128, 128),)
