"""gMLP (Liu et al., 2021): a spatial gate in place of attention."""

import torch
from torch import nn


class SpatialGate(nn.Module):
    def __init__(self, hidden, tokens):
        super().__init__()
        self.norm = nn.LayerNorm(hidden // 2)
        self.mix = nn.Linear(tokens, tokens)

    def forward(self, x):
        u, v = x.chunk(2, dim=-1)
        return u * self.mix(self.norm(v).transpose(1, 2)).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, d, hidden, tokens):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, hidden), nn.Linear(hidden // 2, d)
        self.gate = SpatialGate(hidden, tokens)

    def forward(self, x):
        return x + self.down(self.gate(nn.functional.gelu(self.up(self.norm(x)))))


class GMLP(nn.Module):
    def __init__(self, d=128, depth=8, classes=10):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 16, stride=16)
        self.blocks = nn.Sequential(*(Block(d, 6 * d, 36) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, classes)

    def forward(self, x):
        x = self.blocks(self.patch(x).flatten(2).transpose(1, 2))
        return self.head(self.norm(x).mean(1))


def asked():
    return GMLP(), (torch.zeros(1, 3, 96, 96),)
