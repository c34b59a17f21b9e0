"""DeepFM (Guo et al., 2017): a factorisation machine beside a deep network."""

import torch
from torch import nn


class DeepFM(nn.Module):
    def __init__(self, sizes=(1000,) * 10, d=16, hidden=(400, 400)):
        super().__init__()
        self.first = nn.ModuleList(nn.Embedding(n, 1) for n in sizes)
        self.second = nn.ModuleList(nn.Embedding(n, d) for n in sizes)
        layers, before = [], len(sizes) * d
        for width in hidden:
            layers += [nn.Linear(before, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.5)]
            before = width
        self.deep, self.out = nn.Sequential(*layers), nn.Linear(before, 1)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, ids):
        linear = torch.cat([t(ids[:, i]) for i, t in enumerate(self.first)], 1).sum(1, keepdim=True)
        v = torch.stack([t(ids[:, i]) for i, t in enumerate(self.second)], 1)
        pairs = 0.5 * (v.sum(1).pow(2) - v.pow(2).sum(1)).sum(1, keepdim=True)
        deep = self.out(self.deep(v.flatten(1)))
        return torch.sigmoid(self.bias + linear + pairs + deep)


def asked():
    return DeepFM(), (torch.zeros(4, 10, dtype=torch.long),)
