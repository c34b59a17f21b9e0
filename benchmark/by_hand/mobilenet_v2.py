"""Inverted residuals and linear bottlenecks (Sandler et al., 2018)."""

import torch
from torch import nn


def conv_bn(before, after, kernel, stride, groups=1):
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU6(),
    )


class Inverted(nn.Module):
    def __init__(self, before, after, stride, expand):
        super().__init__()
        hidden = before * expand
        self.same = stride == 1 and before == after
        layers = [conv_bn(before, hidden, 1, 1)] if expand != 1 else []
        layers += [conv_bn(hidden, hidden, 3, stride, hidden)]
        layers += [nn.Conv2d(hidden, after, 1, bias=False), nn.BatchNorm2d(after)]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.same else self.conv(x)


class MobileNetV2(nn.Module):
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 2), (6, 64, 3, 2), (6, 96, 2, 1), (6, 160, 2, 2))

    def __init__(self, classes=50):
        super().__init__()
        layers, before = [conv_bn(3, 32, 3, 2)], 32
        for expand, width, count, stride in self.rows:
            for i in range(count):
                layers.append(Inverted(before, width, stride if i == 0 else 1, expand))
                before = width
        layers.append(conv_bn(before, 640, 1, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(640, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


def asked():
    return MobileNetV2(), (torch.zeros(1, 3, 96, 96),)
