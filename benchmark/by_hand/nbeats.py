"""N-BEATS (Oreshkin et al., 2019), generic blocks."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, back, ahead, hidden, theta):
        super().__init__()
        self.fc = nn.Sequential(
            nn.Linear(back, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
        )
        self.theta_b, self.theta_f = nn.Linear(hidden, theta, bias=False), nn.Linear(hidden, theta, bias=False)
        self.back, self.ahead = nn.Linear(theta, back), nn.Linear(theta, ahead)

    def forward(self, x):
        h = self.fc(x)
        return self.back(self.theta_b(h)), self.ahead(self.theta_f(h))


class NBeats(nn.Module):
    def __init__(self, back=96, ahead=24, hidden=256, blocks=9):
        super().__init__()
        self.blocks = nn.ModuleList(Block(back, ahead, hidden, 32) for _ in range(blocks))

    def forward(self, x):
        forecast = 0
        for block in self.blocks:
            b, f = block(x)
            x, forecast = x - b, forecast + f
        return forecast


def asked():
    return NBeats(), (torch.zeros(4, 96),)
