"""Graph attention networks (Velickovic et al., 2018) over a list of edges."""

import torch
import torch.nn.functional as F
from torch import nn


class GATLayer(nn.Module):
    def __init__(self, before, after, heads, join=True):
        super().__init__()
        self.heads, self.after, self.join = heads, after, join
        self.w = nn.Linear(before, heads * after, bias=False)
        self.into, self.out_of = (nn.Parameter(torch.randn(heads, after) * 0.1) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(heads * after if join else after))

    def forward(self, x, edges):
        source, target = edges
        h = self.w(x).view(-1, self.heads, self.after)
        score = (h * self.out_of).sum(-1)[source] + (h * self.into).sum(-1)[target]
        weight = torch.exp(F.leaky_relu(score, 0.2))
        total = torch.zeros(len(x), self.heads).index_add(0, target, weight)
        weight = weight / (total[target] + 1e-16)
        out = torch.zeros_like(h).index_add(0, target, h[source] * weight.unsqueeze(-1))
        out = out.flatten(1) if self.join else out.mean(1)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self, features=500, hidden=8, classes=3, heads=8):
        super().__init__()
        self.one = GATLayer(features, hidden, heads)
        self.two = GATLayer(heads * hidden, classes, 1, join=False)

    def forward(self, x, edges):
        x = F.elu(self.one(F.dropout(x, 0.6, self.training), edges))
        return self.two(F.dropout(x, 0.6, self.training), edges)


def asked():
    return GAT(), (torch.zeros(40, 500), torch.zeros(2, 100, dtype=torch.long))
