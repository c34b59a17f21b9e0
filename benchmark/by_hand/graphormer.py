"""Graphormer (Ying et al., 2021): attention over nodes with degrees and distances."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.f1, self.f2 = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, bias):
        y = self.n1(x)
        q, k, v = (f(y).unflatten(-1, (self.h, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = (q @ k.mT * q.shape[-1] ** -0.5 + bias).softmax(-1)
        x = x + self.o((a @ v).transpose(1, 2).flatten(2))
        return x + self.f2(nn.functional.gelu(self.f1(self.n2(x))))


class Graphormer(nn.Module):
    def __init__(self, atoms=100, d=80, h=8, layers=6, far=20):
        super().__init__()
        self.atom, self.ins, self.outs = (nn.Embedding(n, d) for n in (atoms, 64, 64))
        self.apart, self.edge = nn.Embedding(far, h), nn.Embedding(16, h)
        self.virtual, self.virtual_bias = nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.zeros(h, 1, 1))
        self.layers = nn.ModuleList(Layer(d, h) for _ in range(layers))
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, 1)

    def forward(self, atoms, ins, outs, apart, edges):
        x = self.atom(atoms).sum(-2) + self.ins(ins) + self.outs(outs)
        x = torch.cat([self.virtual.expand(len(x), -1, -1), x], 1)
        bias = (self.apart(apart) + self.edge(edges).mean(-2)).permute(0, 3, 1, 2)
        bias = nn.functional.pad(bias, (1, 0, 1, 0)) + self.virtual_bias
        for layer in self.layers:
            x = layer(x, bias)
        return self.out(self.norm(x)[:, 0])


def asked():
    n = torch.zeros(1, 12, dtype=torch.long)
    pairs = torch.zeros(1, 12, 12, dtype=torch.long)
    return Graphormer(), (
        torch.zeros(1, 12, 3, dtype=torch.long), n, n, pairs, torch.zeros(1, 12, 12, 2, dtype=torch.long)
    )
