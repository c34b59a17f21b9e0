"""Conformer (Gulati et al., 2020): half steps around attention and convolution, for CTC."""

import torch
from torch import nn


class FeedForward(nn.Sequential):
    def __init__(self, d):
        super().__init__(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d))


class Convolution(nn.Module):
    def __init__(self, d, kernel=31):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.one = nn.Conv1d(d, 2 * d, 1)
        self.deep = nn.Conv1d(d, d, kernel, padding=kernel // 2, groups=d)
        self.bn, self.two = nn.BatchNorm1d(d), nn.Conv1d(d, d, 1)

    def forward(self, x):
        y = nn.functional.glu(self.one(self.norm(x).transpose(1, 2)), dim=1)
        return self.two(nn.functional.silu(self.bn(self.deep(y)))).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.f1, self.f2 = FeedForward(d), FeedForward(d)
        self.norm, self.attend = nn.LayerNorm(d), nn.MultiheadAttention(d, heads, batch_first=True)
        self.conv, self.last = Convolution(d), nn.LayerNorm(d)

    def forward(self, x):
        x = x + 0.5 * self.f1(x)
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        x = x + self.conv(x)
        return self.last(x + 0.5 * self.f2(x))


class Conformer(nn.Module):
    def __init__(self, mels=80, d=144, depth=5, heads=4, tokens=128):
        super().__init__()
        self.sub = nn.Sequential(
            nn.Conv2d(1, d, 3, 2), nn.ReLU(), nn.Conv2d(d, d, 3, 2), nn.ReLU()
        )
        self.inp = nn.Linear(d * ((mels - 3) // 2 // 2), d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(depth))
        self.out = nn.Linear(d, tokens)

    def forward(self, features):
        x = self.sub(features.unsqueeze(1))
        x = self.inp(x.transpose(1, 2).flatten(2))
        for block in self.blocks:
            x = block(x)
        return self.out(x).log_softmax(-1)


def asked():
    return Conformer(), (torch.zeros(1, 200, 80),)
