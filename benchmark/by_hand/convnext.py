"""A ConvNet for the 2020s (Liu et al., 2022), norms over channels first."""

import torch
from torch import nn


class ChannelNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        var = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(var + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.deep = nn.Conv2d(d, d, 7, padding=3, groups=d)
        self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.gamma = nn.Parameter(1e-6 * torch.ones(d))

    def forward(self, x):
        y = self.deep(x).permute(0, 2, 3, 1)
        y = self.gamma * self.down(nn.functional.gelu(self.up(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, widths=(40, 80, 160, 320), depths=(2, 2, 6, 2), classes=100):
        super().__init__()
        layers = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0])]
        for stage, (d, depth) in enumerate(zip(widths, depths)):
            if stage:
                layers += [ChannelNorm(widths[stage - 1]), nn.Conv2d(widths[stage - 1], d, 2, 2)]
            layers += [Block(d) for _ in range(depth)]
        self.features = nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(widths[-1]), nn.Linear(widths[-1], classes)

    def forward(self, x):
        return self.head(self.norm(self.features(x).mean([-2, -1])))


def asked():
    return ConvNeXt(), (torch.zeros(1, 3, 64, 64),)
