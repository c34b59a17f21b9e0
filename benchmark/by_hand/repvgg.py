"""RepVGG (Ding et al., 2021), as it is trained: three branches."""

import torch
from torch import nn


class RepBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.three = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.one = nn.Conv2d(before, after, 1, stride, bias=False)
        self.bn3, self.bn1 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.identity = nn.BatchNorm2d(before) if stride == 1 and before == after else None

    def forward(self, x):
        y = self.bn3(self.three(x)) + self.bn1(self.one(x))
        if self.identity is not None:
            y = y + self.identity(x)
        return torch.relu(y)


class RepVGG(nn.Module):
    def __init__(self, widths=(32, 48, 96, 192, 640), depths=(1, 2, 3, 8, 1), classes=50):
        super().__init__()
        layers, before = [], 3
        for width, depth in zip(widths, depths):
            for i in range(depth):
                layers.append(RepBlock(before, width, 1 if i else 2))
                before = width
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(before, classes)

    def forward(self, x):
        return self.fc(nn.functional.adaptive_avg_pool2d(self.layers(x), 1).flatten(1))


def asked():
    return RepVGG(), (torch.zeros(1, 3, 96, 96),)
