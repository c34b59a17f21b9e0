"""Hyena hierarchy (Poli et al., 2023): long implicit filters by FFT, gated."""

import torch
from torch import nn


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


class Filter(nn.Module):
    def __init__(self, d, length):
        super().__init__()
        t = torch.linspace(0, 1, length)[:, None]
        bands = torch.arange(1, 9)[None]
        self.register_buffer("z", torch.cat([t, (t * bands).cos(), (t * bands).sin()], dim=-1))
        self.register_buffer("window", torch.exp(-t * torch.linspace(0.5, 4, d)))
        self.mlp = nn.Sequential(nn.Linear(17, 64), Sine(), nn.Linear(64, 64), Sine(), nn.Linear(64, d))

    def forward(self):
        return (self.mlp(self.z) * self.window).T


class Hyena(nn.Module):
    def __init__(self, d, length):
        super().__init__()
        self.inp, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.short = nn.Conv1d(3 * d, 3 * d, 3, padding=2, groups=3 * d)
        self.filter, self.bias = Filter(d, length), nn.Parameter(torch.randn(d))

    def forward(self, u):
        n = u.shape[1]
        x = self.short(self.inp(u).transpose(1, 2))[..., :n]
        a, b, v = x.chunk(3, dim=1)
        v = v * b
        k = torch.fft.rfft(self.filter(), n=2 * n)
        y = torch.fft.irfft(torch.fft.rfft(v, n=2 * n) * k, n=2 * n)[..., :n]
        y = (y + v * self.bias[:, None]) * a
        return self.out(y.transpose(1, 2))


class HyenaLM(nn.Module):
    def __init__(self, vocab=1000, d=96, depth=4, length=64):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * depth))
        self.mixers = nn.ModuleList(Hyena(d, length) for _ in range(depth))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(depth)
        )
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab)

    def forward(self, ids):
        x = self.words(ids)
        for i, (mixer, mlp) in enumerate(zip(self.mixers, self.mlps)):
            x = x + mixer(self.norms[2 * i](x))
            x = x + mlp(self.norms[2 * i + 1](x))
        return self.head(self.norm(x))


def asked():
    return HyenaLM(), (torch.zeros(1, 64, dtype=torch.long),)
