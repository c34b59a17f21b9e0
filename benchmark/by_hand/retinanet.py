"""RetinaNet (Lin et al., 2017): a pyramid on a ResNet, two subnets shared by its levels."""

import torch
import torch.nn.functional as F
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.c2, self.b2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.c3, self.b3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.down = None
        if stride > 1 or before != 4 * width:
            self.down = nn.Sequential(
                nn.Conv2d(before, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        y = F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))))
        return F.relu(self.b3(self.c3(y)) + (x if self.down is None else self.down(x)))


def subnet(out):
    layers = []
    for _ in range(4):
        layers += [nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(256, out, 3, 1, 1))


class RetinaNet(nn.Module):
    def __init__(self, classes=20, anchors=9):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        self.stages, before = nn.ModuleList(), 64
        for stage, count in enumerate((3, 4, 6, 3)):
            width = 64 * 2**stage
            blocks = []
            for i in range(count):
                blocks.append(Bottleneck(before, width, 2 if stage and not i else 1))
                before = 4 * width
            self.stages.append(nn.Sequential(*blocks))
        self.lateral = nn.ModuleList(nn.Conv2d(c, 256, 1) for c in (512, 1024, 2048))
        self.smooth = nn.ModuleList(nn.Conv2d(256, 256, 3, 1, 1) for _ in range(3))
        self.p6, self.p7 = nn.Conv2d(2048, 256, 3, 2, 1), nn.Conv2d(256, 256, 3, 2, 1)
        self.classes, self.boxes = subnet(classes * anchors), subnet(4 * anchors)
        self.count = classes

    def forward(self, x):
        x, found = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        c3, c4, c5 = found[1:]
        p5 = self.lateral[2](c5)
        p4 = self.lateral[1](c4) + F.interpolate(p5, scale_factor=2)
        p3 = self.lateral[0](c3) + F.interpolate(p4, scale_factor=2)
        p6 = self.p6(c5)
        levels = [self.smooth[0](p3), self.smooth[1](p4), self.smooth[2](p5), p6, self.p7(F.relu(p6))]

        def flat(y, n):
            return y.permute(0, 2, 3, 1).reshape(len(y), -1, n)

        scores = torch.cat([flat(self.classes(p), self.count) for p in levels], 1)
        return scores.sigmoid(), torch.cat([flat(self.boxes(p), 4) for p in levels], 1)


def asked():
    return RetinaNet(), (torch.zeros(1, 3, 256, 256),)
