"""Densely connected networks (Huang et al., 2016), for small images."""

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, before, growth):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, 4 * growth, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(torch.relu(self.bn1(x)))
        y = self.conv2(torch.relu(self.bn2(y)))
        return torch.cat([y, x], 1)


class Transition(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.bn, self.conv = nn.BatchNorm2d(before), nn.Conv2d(before, after, 1, bias=False)

    def forward(self, x):
        return nn.functional.avg_pool2d(self.conv(torch.relu(self.bn(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, blocks=(6, 10, 12), growth=12, classes=10):
        super().__init__()
        width = 2 * growth
        layers = [nn.Conv2d(3, width, 3, padding=1, bias=False)]
        for stage, count in enumerate(blocks):
            for _ in range(count):
                layers.append(Bottleneck(width, growth))
                width += growth
            if stage < len(blocks) - 1:
                layers.append(Transition(width, width // 2))
                width //= 2
        self.features = nn.Sequential(*layers)
        self.bn, self.fc = nn.BatchNorm2d(width), nn.Linear(width, classes)

    def forward(self, x):
        x = torch.relu(self.bn(self.features(x)))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def asked():
    return DenseNet(), (torch.zeros(1, 3, 32, 32),)
