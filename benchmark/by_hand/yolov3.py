"""YOLOv3 (Redmon and Farhadi, 2018): Darknet-53 and three scales."""

import torch
from torch import nn


class Conv(nn.Sequential):
    def __init__(self, before, after, kernel, stride=1):
        super().__init__(
            nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(after), nn.LeakyReLU(0.1),
        )


class Residual(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b = Conv(d, d // 2, 1), Conv(d // 2, d, 3)

    def forward(self, x):
        return x + self.b(self.a(x))


def stage(before, after, count):
    return nn.Sequential(Conv(before, after, 3, 2), *(Residual(after) for _ in range(count)))


class Head(nn.Module):
    def __init__(self, before, d, out):
        super().__init__()
        self.body = nn.Sequential(
            Conv(before, d, 1), Conv(d, 2 * d, 3), Conv(2 * d, d, 1), Conv(d, 2 * d, 3), Conv(2 * d, d, 1)
        )
        self.out = nn.Sequential(Conv(d, 2 * d, 3), nn.Conv2d(2 * d, out, 1))

    def forward(self, x):
        x = self.body(x)
        return x, self.out(x)


class YOLOv3(nn.Module):
    def __init__(self, classes=20):
        super().__init__()
        out = 3 * (5 + classes)
        self.s1 = nn.Sequential(Conv(3, 32, 3), stage(32, 64, 1), stage(64, 128, 2), stage(128, 256, 8))
        self.s2, self.s3 = stage(256, 512, 8), stage(512, 1024, 4)
        self.h3, self.h2, self.h1 = Head(1024, 512, out), Head(768, 256, out), Head(384, 128, out)
        self.r3, self.r2 = Conv(512, 256, 1), Conv(256, 128, 1)

    def forward(self, x):
        a = self.s1(x)
        b = self.s2(a)
        y, big = self.h3(self.s3(b))
        y = nn.functional.interpolate(self.r3(y), scale_factor=2)
        y, middle = self.h2(torch.cat([y, b], 1))
        y = nn.functional.interpolate(self.r2(y), scale_factor=2)
        _, small = self.h1(torch.cat([y, a], 1))
        return big, middle, small


def asked():
    return YOLOv3(), (torch.zeros(1, 3, 256, 256),)
