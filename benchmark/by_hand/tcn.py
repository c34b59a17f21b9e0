"""Temporal convolutional network (Bai et al., 2018): causal, dilated, residual."""

import torch
from torch import nn


class TemporalBlock(nn.Module):
    def __init__(self, before, width, kernel, dilation):
        super().__init__()
        self.cut = (kernel - 1) * dilation
        self.conv1 = nn.Conv1d(before, width, kernel, padding=self.cut, dilation=dilation)
        self.conv2 = nn.Conv1d(width, width, kernel, padding=self.cut, dilation=dilation)
        self.drop = nn.Dropout(0.2)
        self.down = nn.Conv1d(before, width, 1) if before != width else None

    def forward(self, x):
        y = self.drop(torch.relu(self.conv1(x)[..., : -self.cut]))
        y = self.drop(torch.relu(self.conv2(y)[..., : -self.cut]))
        return torch.relu(y + (x if self.down is None else self.down(x)))


class TCN(nn.Module):
    def __init__(self, channels=8, widths=(64, 64, 64, 64, 64), kernel=3, out=1):
        super().__init__()
        blocks, before = [], channels
        for i, width in enumerate(widths):
            blocks.append(TemporalBlock(before, width, kernel, 2**i))
            before = width
        self.network, self.linear = nn.Sequential(*blocks), nn.Linear(before, out)

    def forward(self, x):
        return self.linear(self.network(x)[:, :, -1])


def asked():
    return TCN(), (torch.zeros(1, 8, 100),)
