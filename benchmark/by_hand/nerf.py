"""Neural radiance field (Mildenhall et al., 2020): eight layers, a skip, colour by direction."""

import torch
from torch import nn


def waves(x, count):
    parts = [x]
    for i in range(count):
        parts += [torch.sin(2.0**i * x), torch.cos(2.0**i * x)]
    return torch.cat(parts, -1)


class NeRF(nn.Module):
    def __init__(self, width=256, depth=8, skip=4):
        super().__init__()
        inp, view, self.skip = 3 * (1 + 2 * 10), 3 * (1 + 2 * 4), skip
        self.layers = nn.ModuleList(
            nn.Linear(inp if i == 0 else width + inp * (i == skip + 1), width) for i in range(depth)
        )
        self.density, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
        self.view, self.colour = nn.Linear(width + view, width // 2), nn.Linear(width // 2, 3)

    def forward(self, points, directions):
        p, d = waves(points, 10), waves(directions, 4)
        h = p
        for i, layer in enumerate(self.layers):
            h = torch.relu(layer(h))
            if i == self.skip:
                h = torch.cat([p, h], -1)
        sigma = torch.relu(self.density(h))
        h = torch.relu(self.view(torch.cat([self.feature(h), d], -1)))
        return torch.sigmoid(self.colour(h)), sigma


def asked():
    return NeRF(), (torch.zeros(64, 3), torch.zeros(64, 3))
