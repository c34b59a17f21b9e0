"""GhostNet (Han et al., 2020): cheap features from few, for phones."""

import torch
from torch import nn


class Ghost(nn.Module):
    def __init__(self, before, after, active=True):
        super().__init__()
        half = after // 2
        act = nn.ReLU() if active else nn.Identity()
        self.main = nn.Sequential(nn.Conv2d(before, half, 1, bias=False), nn.BatchNorm2d(half), act)
        self.cheap = nn.Sequential(
            nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False), nn.BatchNorm2d(half), act
        )

    def forward(self, x):
        y = self.main(x)
        return torch.cat([y, self.cheap(y)], dim=1)


class Bottleneck(nn.Module):
    def __init__(self, before, middle, after, stride, squeeze):
        super().__init__()
        self.one, self.two = Ghost(before, middle), Ghost(middle, after, active=False)
        self.stride, self.squeeze = stride, squeeze
        if stride > 1:
            self.deep = nn.Conv2d(middle, middle, 3, stride, 1, groups=middle, bias=False)
            self.bn = nn.BatchNorm2d(middle)
        if squeeze:
            self.down, self.up = nn.Conv2d(middle, middle // 4, 1), nn.Conv2d(middle // 4, middle, 1)
        self.short = nn.Sequential()
        if stride > 1 or before != after:
            self.short = nn.Sequential(
                nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False),
                nn.BatchNorm2d(before), nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after),
            )

    def forward(self, x):
        y = self.one(x)
        if self.stride > 1:
            y = self.bn(self.deep(y))
        if self.squeeze:
            s = torch.relu(self.down(y.mean((2, 3), keepdim=True)))
            y = y * nn.functional.hardsigmoid(self.up(s))
        return self.two(y) + self.short(x)


class GhostNet(nn.Module):
    rows = ((16, 16, 1, 0), (48, 24, 2, 0), (72, 24, 1, 0), (72, 40, 2, 1), (120, 40, 1, 1), (240, 80, 2, 0),
            (200, 80, 1, 0), (184, 80, 1, 0), (480, 112, 1, 1), (672, 160, 2, 1), (960, 160, 1, 1))

    def __init__(self, classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        blocks, before = [], 16
        for middle, after, stride, squeeze in self.rows:
            blocks.append(Bottleneck(before, middle, after, stride, squeeze))
            before = after
        self.blocks = nn.Sequential(*blocks)
        self.top = nn.Sequential(nn.Conv2d(before, 960, 1, bias=False), nn.BatchNorm2d(960), nn.ReLU())
        self.hidden, self.fc = nn.Conv2d(960, 1280, 1), nn.Linear(1280, classes)

    def forward(self, x):
        x = self.top(self.blocks(self.stem(x))).mean((2, 3), keepdim=True)
        return self.fc(torch.relu(self.hidden(x)).flatten(1))


def asked():
    return GhostNet(), (torch.zeros(1, 3, 96, 96),)
