"""EfficientNet (Tan and Le, 2019): inverted bottlenecks with squeeze and excitation."""

import torch
from torch import nn


class SE(nn.Module):
    def __init__(self, width, squeezed):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, squeezed, 1), nn.Conv2d(squeezed, width, 1)

    def forward(self, x):
        s = nn.functional.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.up(nn.functional.silu(self.down(s))))


class MBConv(nn.Module):
    def __init__(self, before, after, kernel, stride, expand):
        super().__init__()
        wide = before * expand
        layers = []
        if expand != 1:
            layers += [nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU()]
        layers += [
            nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False),
            nn.BatchNorm2d(wide), nn.SiLU(), SE(wide, max(1, before // 4)),
            nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after),
        ]
        self.layers = nn.Sequential(*layers)
        self.skips = stride == 1 and before == after

    def forward(self, x):
        return self.layers(x) + x if self.skips else self.layers(x)


class EfficientNet(nn.Module):
    plan = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5))

    def __init__(self, classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU())
        blocks, before = [], 32
        for expand, width, count, stride, kernel in self.plan:
            for i in range(count):
                blocks.append(MBConv(before, width, kernel, 1 if i else stride, expand))
                before = width
        self.blocks = nn.Sequential(*blocks)
        self.top = nn.Sequential(nn.Conv2d(before, 640, 1, bias=False), nn.BatchNorm2d(640), nn.SiLU())
        self.fc = nn.Linear(640, classes)

    def forward(self, x):
        x = self.top(self.blocks(self.stem(x)))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def asked():
    return EfficientNet(), (torch.zeros(1, 3, 96, 96),)
