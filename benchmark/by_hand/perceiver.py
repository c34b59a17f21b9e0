"""Perceiver (Jaegle et al., 2021): latents attend to bytes, then to themselves."""

import torch
from torch import nn


class Attend(nn.Module):
    def __init__(self, d, source, heads):
        super().__init__()
        self.heads = heads
        self.nq, self.nk = nn.LayerNorm(d), nn.LayerNorm(source)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(source, d), nn.Linear(source, d)
        self.o = nn.Linear(d, d)
        self.n, self.f1, self.f2 = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, z, x):
        def split(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        x = self.nk(x)
        q, k, v = split(self.q(self.nq(z))), split(self.k(x)), split(self.v(x))
        a = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        z = z + self.o((a @ v).transpose(1, 2).flatten(2))
        return z + self.f2(nn.functional.gelu(self.f1(self.n(z))))


class Perceiver(nn.Module):
    def __init__(self, source=64, d=128, latents=32, classes=20, depth=6):
        super().__init__()
        self.embed = nn.Embedding(262, source)
        self.places = nn.Embedding(256, source)
        self.latents = nn.Parameter(torch.randn(latents, d) * 0.02)
        self.cross = Attend(d, source, 1)
        self.own = nn.ModuleList(Attend(d, d, 8) for _ in range(depth))
        self.query = nn.Parameter(torch.randn(1, d) * 0.02)
        self.read = Attend(d, d, 1)
        self.head = nn.Linear(d, classes)

    def forward(self, ids):
        x = self.embed(ids) + self.places(torch.arange(ids.shape[1]))
        z = self.cross(self.latents.expand(len(ids), -1, -1), x)
        for layer in self.own:
            z = layer(z, z)
        return self.head(self.read(self.query.expand(len(ids), -1, -1), z)[:, 0])


def asked():
    return Perceiver(), (torch.zeros(1, 200, dtype=torch.long),)
