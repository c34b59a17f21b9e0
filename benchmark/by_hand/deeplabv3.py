"""DeepLab v3 (Chen et al., 2017): atrous pooling on a small dilated ResNet."""

import torch
import torch.nn.functional as F
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride=1, dilation=1):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.b = nn.Sequential(
            nn.Conv2d(width, width, 3, stride, dilation, dilation, bias=False),
            nn.BatchNorm2d(width), nn.ReLU(),
        )
        self.c = nn.Sequential(nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
        self.s = None
        if before != 4 * width:
            self.s = nn.Sequential(
                nn.Conv2d(before, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        y = self.c(self.b(self.a(x)))
        return F.relu(y + (self.s(x) if self.s else x))


def conv(before, after, kernel, dilation=1):
    pad = dilation if kernel > 1 else 0
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, padding=pad, dilation=dilation, bias=False),
        nn.BatchNorm2d(after), nn.ReLU(),
    )


class ASPP(nn.Module):
    def __init__(self, before, width=256):
        super().__init__()
        self.branches = nn.ModuleList([conv(before, width, 1)])
        self.branches.extend(conv(before, width, 3, d) for d in (6, 12, 18))
        self.pool, self.project = conv(before, width, 1), conv(5 * width, width, 1)

    def forward(self, x):
        y = [branch(x) for branch in self.branches]
        p = self.pool(F.adaptive_avg_pool2d(x, 1))
        y.append(F.interpolate(p, size=x.shape[-2:], mode="bilinear", align_corners=False))
        return self.project(torch.cat(y, 1))


class DeepLab(nn.Module):
    def __init__(self, classes=21):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        before = 64
        for width, count, stride, dilation in ((64, 3, 1, 1), (128, 4, 2, 1), (256, 6, 1, 2), (512, 3, 1, 4)):
            for i in range(count):
                layers.append(Bottleneck(before, width, 1 if i else stride, dilation))
                before = 4 * width
        self.backbone, self.aspp = nn.Sequential(*layers), ASPP(before)
        self.head = nn.Sequential(conv(256, 256, 3), nn.Conv2d(256, classes, 1))

    def forward(self, x):
        y = self.head(self.aspp(self.backbone(x)))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


def asked():
    return DeepLab(), (torch.zeros(1, 3, 128, 128),)
