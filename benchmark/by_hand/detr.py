"""DETR (Carion et al., 2020), the short version: a ResNet and torch's transformer."""

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride=1):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
        )
        self.s = nn.Sequential(nn.Conv2d(before, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
        if before == 4 * width and stride == 1:
            self.s = nn.Identity()

    def forward(self, x):
        return torch.relu(self.f(x) + self.s(x))


class DETR(nn.Module):
    def __init__(self, classes=91, d=256, heads=8, layers=6):
        super().__init__()
        parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        before = 64
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                parts.append(Bottleneck(before, 64 * 2**stage, 2 if stage and not i else 1))
                before = 256 * 2**stage
        self.backbone, self.conv = nn.Sequential(*parts), nn.Conv2d(2048, d, 1)
        self.transformer = nn.Transformer(d, heads, layers, layers)
        self.linear_class, self.linear_bbox = nn.Linear(d, classes + 1), nn.Linear(d, 4)
        self.query_pos = nn.Parameter(torch.rand(100, d))
        self.row_embed, self.col_embed = nn.Parameter(torch.rand(50, d // 2)), nn.Parameter(torch.rand(50, d // 2))

    def forward(self, inputs):
        h = self.conv(self.backbone(inputs))
        H, W = h.shape[-2:]
        pos = torch.cat(
            [self.col_embed[:W].unsqueeze(0).repeat(H, 1, 1), self.row_embed[:H].unsqueeze(1).repeat(1, W, 1)],
            dim=-1,
        ).flatten(0, 1).unsqueeze(1)
        h = self.transformer(pos + h.flatten(2).permute(2, 0, 1), self.query_pos.unsqueeze(1))
        return self.linear_class(h), self.linear_bbox(h).sigmoid()


def asked():
    return DETR(), (torch.zeros(1, 3, 192, 192),)
