"""Denoising diffusion (Ho et al., 2020): a U-Net that knows the time, attention in the middle."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, before, after, time):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, before), nn.Conv2d(before, after, 3, padding=1)
        self.t = nn.Linear(time, after)
        self.n2, self.c2 = nn.GroupNorm(8, after), nn.Conv2d(after, after, 3, padding=1)
        self.s = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x))) + self.t(F.silu(t))[:, :, None, None]
        return self.c2(F.silu(self.n2(h))) + self.s(x)


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n = nn.GroupNorm(8, d)
        self.q, self.k, self.v, self.o = (nn.Conv2d(d, d, 1) for _ in range(4))

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.n(x)
        q, k, v = (f(y).flatten(2).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = torch.softmax(q @ k.transpose(1, 2) * c**-0.5, -1) @ v
        return x + self.o(a.transpose(1, 2).view(b, c, h, w))


class UNet(nn.Module):
    def __init__(self, width=64, times=(1, 2, 2)):
        super().__init__()
        self.width, time = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.inp = nn.Conv2d(3, width, 3, padding=1)
        self.downs, self.ups, kept, before = nn.ModuleList(), nn.ModuleList(), [width], width
        for i, m in enumerate(times):
            for _ in range(2):
                self.downs.append(ResBlock(before, m * width, time))
                before = m * width
                kept.append(before)
            if i < len(times) - 1:
                self.downs.append(nn.Conv2d(before, before, 3, 2, 1))
                kept.append(before)
        self.mid1, self.mida, self.mid2 = ResBlock(before, before, time), Attention(before), ResBlock(before, before, time)
        for i, m in reversed(list(enumerate(times))):
            for _ in range(3):
                self.ups.append(ResBlock(before + kept.pop(), m * width, time))
                before = m * width
            if i:
                self.ups.append(nn.Conv2d(before, before, 3, padding=1))
        self.norm, self.out = nn.GroupNorm(8, before), nn.Conv2d(before, 3, 3, padding=1)

    def forward(self, x, t):
        rate = torch.exp(-math.log(10000) * torch.arange(self.width // 2) / (self.width // 2 - 1))
        t = t[:, None] * rate
        t = self.time(torch.cat([t.sin(), t.cos()], 1))
        h = self.inp(x)
        kept = [h]
        for layer in self.downs:
            h = layer(h, t) if isinstance(layer, ResBlock) else layer(h)
            kept.append(h)
        h = self.mid2(self.mida(self.mid1(h, t)), t)
        for layer in self.ups:
            if isinstance(layer, ResBlock):
                h = layer(torch.cat([h, kept.pop()], 1), t)
            else:
                h = layer(F.interpolate(h, scale_factor=2, mode="nearest"))
        return self.out(F.silu(self.norm(h)))


def asked():
    return UNet(), (torch.zeros(1, 3, 32, 32), torch.zeros(1))
