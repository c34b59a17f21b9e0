"""SSD (Liu et al., 2015) on VGG-16, boxes from six maps."""

import torch
from torch import nn


def vgg(plan, before):
    layers = []
    for width in plan:
        if width == "M":
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
        else:
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU(inplace=True)]
            before = width
    return nn.Sequential(*layers)


def extra(before, middle, after, stride, pad):
    return nn.Sequential(
        nn.Conv2d(before, middle, 1), nn.ReLU(), nn.Conv2d(middle, after, 3, stride, pad), nn.ReLU()
    )


class L2Norm(nn.Module):
    def __init__(self, d, scale=20.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((d,), scale))

    def forward(self, x):
        return self.weight[:, None, None] * x / x.pow(2).sum(1, keepdim=True).sqrt().clamp(min=1e-10)


class SSD(nn.Module):
    def __init__(self, classes=21):
        super().__init__()
        self.one = vgg((64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512), 3)
        self.norm = L2Norm(512)
        self.two = nn.Sequential(
            *vgg(("M", 512, 512, 512), 512), nn.MaxPool2d(3, 1, 1),
            nn.Conv2d(512, 1024, 3, padding=6, dilation=6), nn.ReLU(), nn.Conv2d(1024, 1024, 1), nn.ReLU(),
        )
        self.extras = nn.ModuleList(
            [extra(1024, 256, 512, 2, 1), extra(512, 128, 256, 2, 1), extra(256, 128, 256, 1, 0), extra(256, 128, 256, 1, 0)]
        )
        widths, boxes = (512, 1024, 512, 256, 256, 256), (4, 6, 6, 6, 4, 4)
        self.loc = nn.ModuleList(nn.Conv2d(w, 4 * n, 3, padding=1) for w, n in zip(widths, boxes))
        self.conf = nn.ModuleList(nn.Conv2d(w, classes * n, 3, padding=1) for w, n in zip(widths, boxes))
        self.classes = classes

    def forward(self, x):
        x = self.one(x)
        maps = [self.norm(x)]
        x = self.two(x)
        maps.append(x)
        for layer in self.extras:
            x = layer(x)
            maps.append(x)
        loc = torch.cat([f(m).permute(0, 2, 3, 1).flatten(1) for f, m in zip(self.loc, maps)], 1)
        conf = torch.cat([f(m).permute(0, 2, 3, 1).flatten(1) for f, m in zip(self.conf, maps)], 1)
        return loc.view(len(loc), -1, 4), conf.view(len(conf), -1, self.classes)


def asked():
    return SSD(), (torch.zeros(1, 3, 300, 300),)
