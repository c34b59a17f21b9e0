"""Squeeze-and-excitation networks (Hu et al., 2017) on a bottleneck ResNet."""

import torch
from torch import nn


class SEBottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.fc1, self.fc2 = nn.Linear(out, out // 16), nn.Linear(out // 16, out)
        self.down = None
        if stride != 1 or before != out:
            self.down = nn.Sequential(nn.Conv2d(before, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        s = y.mean((2, 3))
        s = torch.sigmoid(self.fc2(torch.relu(self.fc1(s))))
        y = y * s[:, :, None, None]
        return torch.relu(y + (x if self.down is None else self.down(x)))


class SEResNet(nn.Module):
    def __init__(self, blocks=(2, 3, 4, 2), classes=100):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        layers, before = [], 64
        for stage, count in enumerate(blocks):
            for i in range(count):
                layers.append(SEBottleneck(before, 64 * 2**stage, 2 if stage and i == 0 else 1))
                before = 256 * 2**stage
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(before, classes)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))


def asked():
    return SEResNet(), (torch.zeros(1, 3, 96, 96),)
