"""Going deeper with convolutions (Szegedy et al., 2014), with batch norms."""

import torch
from torch import nn


class Conv(nn.Sequential):
    def __init__(self, before, after, kernel, stride=1):
        super().__init__(
            nn.Conv2d(before, after, kernel, stride, kernel // 2), nn.BatchNorm2d(after), nn.ReLU()
        )


class Inception(nn.Module):
    def __init__(self, before, one, three_in, three, five_in, five, pool):
        super().__init__()
        self.b1 = Conv(before, one, 1)
        self.b2 = nn.Sequential(Conv(before, three_in, 1), Conv(three_in, three, 3))
        self.b3 = nn.Sequential(Conv(before, five_in, 1), Conv(five_in, five, 5))
        self.b4 = nn.Sequential(nn.MaxPool2d(3, 1, 1), Conv(before, pool, 1))

    def forward(self, x):
        return torch.cat([self.b1(x), self.b2(x), self.b3(x), self.b4(x)], dim=1)


class GoogLeNet(nn.Module):
    def __init__(self, classes=100):
        super().__init__()
        self.stem = nn.Sequential(
            Conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), Conv(64, 64, 1), Conv(64, 192, 3),
            nn.MaxPool2d(3, 2, 1),
        )
        self.three = nn.Sequential(
            Inception(192, 64, 96, 128, 16, 32, 32), Inception(256, 128, 128, 192, 32, 96, 64)
        )
        self.four = nn.Sequential(
            nn.MaxPool2d(3, 2, 1), Inception(480, 192, 96, 208, 16, 48, 64),
            Inception(512, 160, 112, 224, 24, 64, 64), Inception(512, 256, 160, 320, 32, 128, 128),
        )
        self.five = nn.Sequential(
            nn.MaxPool2d(3, 2, 1), Inception(832, 256, 160, 320, 32, 128, 128),
            Inception(832, 384, 192, 384, 48, 128, 128),
        )
        self.drop, self.fc = nn.Dropout(0.4), nn.Linear(1024, classes)

    def forward(self, x):
        x = self.five(self.four(self.three(self.stem(x))))
        return self.fc(self.drop(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)))


def asked():
    return GoogLeNet(), (torch.zeros(1, 3, 128, 128),)
