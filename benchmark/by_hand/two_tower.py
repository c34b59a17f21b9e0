"""Two towers (Yi et al., 2019): users and items in one space, by a cosine."""

import torch
import torch.nn.functional as F
from torch import nn


class Tower(nn.Module):
    def __init__(self, sizes, d=32, out=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, d) for n in sizes)
        self.mlp = nn.Sequential(nn.Linear(len(sizes) * d, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, out))

    def forward(self, ids):
        x = torch.cat([t(ids[:, i]) for i, t in enumerate(self.tables)], 1)
        return F.normalize(self.mlp(x), dim=-1)


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = Tower((5000, 100, 20)), Tower((9000, 300, 40, 10))

    def forward(self, user, item):
        return self.user(user) @ self.item(item).T / 0.05


def asked():
    return TwoTower(), (torch.zeros(4, 3, dtype=torch.long), torch.zeros(4, 4, dtype=torch.long))
