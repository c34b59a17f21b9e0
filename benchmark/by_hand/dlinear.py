"""DLinear (Zeng et al., 2023): a moving average and two layers."""

import torch
from torch import nn


class DLinear(nn.Module):
    def __init__(self, length=96, ahead=24, kernel=25):
        super().__init__()
        self.pad = (kernel - 1) // 2
        self.average = nn.AvgPool1d(kernel, stride=1)
        self.season, self.trend = nn.Linear(length, ahead), nn.Linear(length, ahead)

    def forward(self, x):
        x = x.transpose(1, 2)
        first, last = x[..., :1].repeat(1, 1, self.pad), x[..., -1:].repeat(1, 1, self.pad)
        trend = self.average(torch.cat([first, x, last], dim=-1))
        return (self.season(x - trend) + self.trend(trend)).transpose(1, 2)


def asked():
    return DLinear(), (torch.zeros(2, 96, 7),)
