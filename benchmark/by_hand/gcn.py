"""Graph convolutions (Kipf and Welling, 2016) on a dense, normalised adjacency."""

import torch
from torch import nn


class GraphConvolution(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(before, after) * 0.1)
        self.bias = nn.Parameter(torch.zeros(after))

    def forward(self, x, adjacency):
        return adjacency @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, features=1433, hidden=16, classes=7):
        super().__init__()
        self.gc1 = GraphConvolution(features, hidden)
        self.gc2 = GraphConvolution(hidden, classes)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, adjacency):
        x = torch.relu(self.gc1(x, adjacency))
        return self.gc2(self.dropout(x), adjacency).log_softmax(dim=1)


def asked():
    return GCN(), (torch.zeros(50, 1433), torch.zeros(50, 50))
