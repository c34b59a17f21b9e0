"""Neural collaborative filtering (He et al., 2017): a product beside a perceptron."""

import torch
from torch import nn


class NeuMF(nn.Module):
    def __init__(self, users=1000, items=2000, d=16):
        super().__init__()
        self.user_gmf, self.item_gmf = nn.Embedding(users, d), nn.Embedding(items, d)
        self.user_mlp, self.item_mlp = nn.Embedding(users, 2 * d), nn.Embedding(items, 2 * d)
        self.mlp = nn.Sequential(
            nn.Linear(4 * d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, d // 2), nn.ReLU()
        )
        self.predict = nn.Linear(d + d // 2, 1)

    def forward(self, user, item):
        product = self.user_gmf(user) * self.item_gmf(item)
        deep = self.mlp(torch.cat([self.user_mlp(user), self.item_mlp(item)], -1))
        return torch.sigmoid(self.predict(torch.cat([product, deep], -1))).squeeze(-1)


def asked():
    one = torch.zeros(8, dtype=torch.long)
    return NeuMF(), (one, one)
