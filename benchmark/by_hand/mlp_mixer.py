"""MLP-Mixer (Tolstikhin et al., 2021)."""

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.one, self.two = nn.Linear(d, hidden), nn.Linear(hidden, d)

    def forward(self, x):
        return self.two(nn.functional.gelu(self.one(x)))


class MixerLayer(nn.Module):
    def __init__(self, tokens, channels):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.token_mixing = Mlp(tokens, 2 * tokens)
        self.channel_mixing = Mlp(channels, 4 * channels)

    def forward(self, x):
        y = self.token_mixing(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + y
        return x + self.channel_mixing(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, channels=128, depth=6, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 8, 8)
        self.layers = nn.ModuleList(MixerLayer(64, channels) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(channels), nn.Linear(channels, classes)

    def forward(self, image):
        x = self.stem(image).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(dim=1))


def asked():
    return Mixer(), (torch.zeros(1, 3, 64, 64),)
