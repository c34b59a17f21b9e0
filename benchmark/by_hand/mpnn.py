"""Neural message passing (Gilmer et al., 2017): edge networks, a GRU, set2set left out."""

import torch
from torch import nn


class MPNN(nn.Module):
    def __init__(self, atoms=14, bonds=5, d=48, steps=3):
        super().__init__()
        self.d, self.steps = d, steps
        self.embed = nn.Linear(atoms, d)
        self.edge = nn.Sequential(nn.Linear(bonds, 128), nn.ReLU(), nn.Linear(128, d * d))
        self.gru = nn.GRUCell(d, d)
        self.gate, self.value = nn.Linear(2 * d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, 1)

    def forward(self, x, edges, kinds):
        h = h0 = torch.relu(self.embed(x))
        w = self.edge(kinds).view(-1, self.d, self.d)
        for _ in range(self.steps):
            m = (w @ h[edges[0]].unsqueeze(-1)).squeeze(-1)
            h = self.gru(torch.zeros_like(h).index_add(0, edges[1], m), h)
        read = torch.sigmoid(self.gate(torch.cat([h, h0], -1))) * self.value(h)
        return self.out(read.sum(0))


def asked():
    return MPNN(), (torch.zeros(9, 14), torch.zeros(2, 18, dtype=torch.long), torch.zeros(18, 5))
