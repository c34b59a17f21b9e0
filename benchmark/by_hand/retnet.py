"""Retentive network (Sun et al., 2023), parallel form."""

import torch
from torch import nn


class Retention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.g, self.o = (nn.Linear(d, d, bias=False) for _ in range(5))
        self.norm = nn.GroupNorm(h, d)
        self.register_buffer("gamma", 1 - 2.0 ** (-5 - torch.arange(h)))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (f(x).view(b, t, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        place = torch.arange(t)
        apart = place[:, None] - place
        decay = torch.where(apart >= 0, self.gamma[:, None, None] ** apart.clamp(min=0), 0.0)
        y = ((q @ k.transpose(-1, -2)) * decay) @ v
        y = self.norm(y.transpose(1, 2).reshape(b * t, d)).view(b, t, d)
        return self.o(nn.functional.silu(self.g(x)) * y)


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2, self.retain = nn.LayerNorm(d), nn.LayerNorm(d), Retention(d, h)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        x = x + self.retain(self.n1(x))
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))


class RetNet(nn.Module):
    def __init__(self, vocab=3000, d=128, n=6):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.layers = nn.Sequential(*(Layer(d, 4) for _ in range(n)))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.words(ids))))


def asked():
    return RetNet(), (torch.zeros(1, 32, dtype=torch.long),)
