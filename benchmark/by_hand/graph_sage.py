"""Inductive representation learning (Hamilton et al., 2017): mean of neighbours beside oneself."""

import torch
import torch.nn.functional as F
from torch import nn


class SAGE(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.own, self.near = nn.Linear(before, after), nn.Linear(before, after, bias=False)

    def forward(self, x, edges):
        source, target = edges
        summed = torch.zeros_like(x).scatter_add(0, target[:, None].expand(-1, x.shape[1]), x[source])
        count = torch.zeros(len(x)).scatter_add(0, target, torch.ones(len(target)))
        return self.near(summed / count.clamp(min=1)[:, None]) + self.own(x)


class GraphSAGE(nn.Module):
    def __init__(self, features=100, hidden=256, classes=47, layers=3):
        super().__init__()
        widths = [features, *[hidden] * (layers - 1), classes]
        self.convs = nn.ModuleList(SAGE(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x, edges):
        for conv in self.convs[:-1]:
            x = F.dropout(F.relu(conv(x, edges)), 0.5, self.training)
        return self.convs[-1](x, edges)


def asked():
    return GraphSAGE(), (torch.zeros(60, 100), torch.zeros(2, 200, dtype=torch.long))
