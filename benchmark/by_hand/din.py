"""Deep interest network (Zhou et al., 2018): past clicks, weighed by the advertised item."""

import torch
from torch import nn


class DIN(nn.Module):
    def __init__(self, items=2000, users=500, kinds=50, d=16):
        super().__init__()
        self.item, self.user, self.kind = nn.Embedding(items, d), nn.Embedding(users, d), nn.Embedding(kinds, d)
        self.activation = nn.Sequential(nn.Linear(8 * d, 36), nn.PReLU(), nn.Linear(36, 1))
        self.mlp = nn.Sequential(
            nn.Linear(5 * d, 80), nn.PReLU(), nn.Linear(80, 40), nn.PReLU(), nn.Linear(40, 1)
        )

    def forward(self, user, item, kind, past_items, past_kinds, mask):
        ad = torch.cat([self.item(item), self.kind(kind)], -1)
        past = torch.cat([self.item(past_items), self.kind(past_kinds)], -1)
        wide = ad.unsqueeze(1).expand_as(past)
        weight = self.activation(torch.cat([wide, past, wide - past, wide * past], -1)).squeeze(-1)
        interest = ((weight * mask).unsqueeze(-1) * past).sum(1)
        return torch.sigmoid(self.mlp(torch.cat([self.user(user), interest, ad], -1)))


def asked():
    one, past = torch.zeros(4, dtype=torch.long), torch.zeros(4, 20, dtype=torch.long)
    return DIN(), (one, one, one, past, past, torch.ones(4, 20))
