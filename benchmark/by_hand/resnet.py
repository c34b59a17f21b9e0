"""Deep residual learning (He et al., 2015), basic blocks, as for a course."""

import torch
import torch.nn.functional as F
from torch import nn


class Basic(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential()
        if stride != 1 or before != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNetCifar(nn.Module):
    """The stem has a window of 3 and no pooling, as for images of 32 x 32."""

    def __init__(self, blocks=(3, 4, 6, 3), classes=10):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        layers, before = [], 64
        for stage, count in enumerate(blocks):
            width = 64 * 2**stage
            for block in range(count):
                layers.append(Basic(before, width, 2 if stage and not block else 1))
                before = width
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(before, classes)

    def forward(self, x):
        x = self.layers(F.relu(self.bn(self.conv(x))))
        return self.fc(F.avg_pool2d(x, 4).flatten(1))


def asked():
    return ResNetCifar(), (torch.zeros(1, 3, 32, 32),)
