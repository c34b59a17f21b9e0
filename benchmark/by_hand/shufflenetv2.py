"""ShuffleNet V2 (Ma et al., 2018): split, transform one half, shuffle."""

import torch
from torch import nn


def shuffled(x):
    b, c, h, w = x.shape
    return x.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h, w)


def branch(before, after, stride):
    return nn.Sequential(
        nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
        nn.Conv2d(after, after, 3, stride, 1, groups=after, bias=False), nn.BatchNorm2d(after),
        nn.Conv2d(after, after, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
    )


class Unit(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.stride, half = stride, after // 2
        self.right = branch(before if stride > 1 else half, half, stride)
        if stride > 1:
            self.left = nn.Sequential(
                nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False),
                nn.BatchNorm2d(before), nn.Conv2d(before, half, 1, bias=False),
                nn.BatchNorm2d(half), nn.ReLU(),
            )

    def forward(self, x):
        if self.stride > 1:
            return shuffled(torch.cat([self.left(x), self.right(x)], 1))
        a, b = x.chunk(2, dim=1)
        return shuffled(torch.cat([a, self.right(b)], 1))


class ShuffleNetV2(nn.Module):
    def __init__(self, classes=100):
        super().__init__()
        layers, before = [nn.Conv2d(3, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU()], 24
        layers.append(nn.MaxPool2d(3, 2, 1))
        for width, count in ((116, 4), (232, 8), (464, 4)):
            for i in range(count):
                layers.append(Unit(before, width, 1 if i else 2))
                before = width
        layers += [nn.Conv2d(before, 1024, 1, bias=False), nn.BatchNorm2d(1024), nn.ReLU()]
        self.body, self.fc = nn.Sequential(*layers), nn.Linear(1024, classes)

    def forward(self, x):
        return self.fc(self.body(x).mean([2, 3]))


def asked():
    return ShuffleNetV2(), (torch.zeros(1, 3, 96, 96),)
