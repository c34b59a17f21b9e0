"""Swin transformer (Liu et al., 2021), windows by reshaping."""

import torch
from torch import nn


def windows(x, w):
    b, h, wd, c = x.shape
    x = x.view(b, h // w, w, wd // w, w, c).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, w * w, c)


def joined(x, w, h, wd):
    c = x.shape[-1]
    x = x.view(-1, h // w, wd // w, w, w, c).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, h, wd, c)


class WindowAttention(nn.Module):
    def __init__(self, dim, heads, w):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.table = nn.Parameter(torch.zeros((2 * w - 1) ** 2, heads))
        grid = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
        apart = (grid[:, :, None] - grid[:, None]).permute(1, 2, 0) + w - 1
        self.register_buffer("index", apart[..., 0] * (2 * w - 1) + apart[..., 1])

    def forward(self, x, mask):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        s = q * (c // self.heads) ** -0.5 @ k.transpose(-2, -1)
        s = s + self.table[self.index].permute(2, 0, 1)
        if mask is not None:
            s = (s.view(-1, len(mask), self.heads, n, n) + mask[:, None]).view(-1, self.heads, n, n)
        return self.proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, dim, heads, size, w, shift):
        super().__init__()
        self.w, self.shift = w, shift
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = WindowAttention(dim, heads, w)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        mask = None
        if shift:
            area = torch.zeros(1, size, size, 1)
            parts = (slice(0, -w), slice(-w, -shift), slice(-shift, None))
            for number, (a, b) in enumerate((a, b) for a in parts for b in parts):
                area[:, a, b] = number
            area = windows(area, w).squeeze(-1)
            mask = (area[:, None] != area[:, :, None]).float() * -100.0
        self.register_buffer("mask", mask)

    def forward(self, x):
        b, h, wd, c = x.shape
        y = self.n1(x)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = joined(self.attn(windows(y, self.w), self.mask), self.w, h, wd)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y
        return x + self.mlp(self.n2(x))


class Merge(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * dim), nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x):
        quarters = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return self.reduce(self.norm(torch.cat(quarters, -1)))


class Swin(nn.Module):
    def __init__(self, dim=48, depths=(2, 2, 6), w=4, classes=100):
        super().__init__()
        self.patch, self.norm0 = nn.Conv2d(3, dim, 4, 4), nn.LayerNorm(dim)
        layers, size = [], 32
        for stage, depth in enumerate(depths):
            if stage:
                layers.append(Merge(dim))
                dim, size = 2 * dim, size // 2
            layers += [Block(dim, dim // 16, size, w, (i % 2) * (w // 2)) for i in range(depth)]
        self.layers = nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.norm0(self.patch(x).permute(0, 2, 3, 1))
        return self.head(self.norm(self.layers(x)).mean((1, 2)))


def asked():
    return Swin(), (torch.zeros(1, 3, 128, 128),)
