"""EDSR (Lim et al., 2017): residual blocks without norms, pixels shuffled at the end."""

import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, width, scale=0.1):
        super().__init__()
        self.one, self.two = nn.Conv2d(width, width, 3, 1, 1), nn.Conv2d(width, width, 3, 1, 1)
        self.scale = scale

    def forward(self, x):
        return x + self.scale * self.two(torch.relu(self.one(x)))


class EDSR(nn.Module):
    def __init__(self, width=64, blocks=12, times=2):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, 1, 1)
        self.body = nn.Sequential(*(ResBlock(width) for _ in range(blocks)))
        self.after = nn.Conv2d(width, width, 3, 1, 1)
        self.up = nn.Sequential(nn.Conv2d(width, width * times**2, 3, 1, 1), nn.PixelShuffle(times))
        self.tail = nn.Conv2d(width, 3, 3, 1, 1)

    def forward(self, x):
        x = self.head(x)
        return self.tail(self.up(x + self.after(self.body(x))))


def asked():
    return EDSR(), (torch.zeros(1, 3, 32, 32),)
