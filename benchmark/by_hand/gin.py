"""How powerful are graph neural networks? (Xu et al., 2019), for whole molecules."""

import torch
from torch import nn


class GINLayer(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(
            nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(), nn.Linear(after, after)
        )
        self.bn = nn.BatchNorm1d(after)

    def forward(self, x, edges):
        summed = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        return torch.relu(self.bn(self.mlp((1 + self.eps) * x + summed)))


class GIN(nn.Module):
    def __init__(self, features=7, hidden=64, layers=5, classes=2):
        super().__init__()
        self.layers = nn.ModuleList(GINLayer(hidden if i else features, hidden) for i in range(layers))
        self.predictions = nn.ModuleList(nn.Linear(hidden, classes) for _ in range(layers))

    def forward(self, x, edges, batch):
        score = 0
        for layer, predict in zip(self.layers, self.predictions):
            x = layer(x, edges)
            pooled = torch.zeros(4, x.shape[1]).index_add(0, batch, x)
            score = score + predict(pooled)
        return score


def asked():
    edges = torch.zeros(2, 90, dtype=torch.long)
    return GIN(), (torch.zeros(40, 7), edges, torch.zeros(40, dtype=torch.long))
