"""Stable Diffusion 3's transformer (Esser et al., 2024): two streams that attend together."""

import torch
import torch.nn.functional as F
from torch import nn


class Stream(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mod = nn.Linear(d, 6 * d)
        self.n1 = nn.LayerNorm(d, elementwise_affine=False)
        self.n2 = nn.LayerNorm(d, elementwise_affine=False)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU("tanh"), nn.Linear(4 * d, d))

    def before(self, x, c):
        self.s = self.mod(F.silu(c)).unsqueeze(1).chunk(6, -1)
        return self.qkv(self.n1(x) * (1 + self.s[1]) + self.s[0]).chunk(3, -1)

    def after(self, x, y):
        x = x + self.s[2] * self.o(y)
        return x + self.s[5] * self.mlp(self.n2(x) * (1 + self.s[4]) + self.s[3])


class Joint(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.image, self.text, self.heads = Stream(d), Stream(d), heads

    def forward(self, x, y, c):
        pairs = zip(self.image.before(x, c), self.text.before(y, c))
        q, k, v = (torch.cat(p, 1).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in pairs)
        z = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        n = x.shape[1]
        return self.image.after(x, z[:, :n]), self.text.after(y, z[:, n:])


class MMDiT(nn.Module):
    def __init__(self, d=192, depth=5, heads=6, size=16, text=256, pooled=128):
        super().__init__()
        self.patch, self.text, self.pooled = nn.Conv2d(16, d, 2, 2), nn.Linear(text, d), nn.Linear(pooled, d)
        self.time = nn.Sequential(nn.Linear(64, d), nn.SiLU(), nn.Linear(d, d))
        self.register_buffer("places", torch.zeros(1, (size // 2) ** 2, d))
        self.register_buffer("rates", 10000 ** (-torch.arange(32) / 32))
        self.blocks = nn.ModuleList(Joint(d, heads) for _ in range(depth))
        self.norm, self.mod, self.out = nn.LayerNorm(d, elementwise_affine=False), nn.Linear(d, 2 * d), nn.Linear(d, 64)

    def forward(self, x, text, pooled, t):
        h = self.patch(x).flatten(2).transpose(1, 2) + self.places
        y, a = self.text(text), t[:, None] * self.rates
        c = self.time(torch.cat([a.cos(), a.sin()], -1)) + self.pooled(pooled)
        for block in self.blocks:
            h, y = block(h, y, c)
        shift, scale = self.mod(F.silu(c)).unsqueeze(1).chunk(2, -1)
        h = self.out(self.norm(h) * (1 + scale) + shift)
        return F.pixel_shuffle(h.transpose(1, 2).unflatten(2, (8, 8)), 2)


def asked():
    return MMDiT(), (torch.zeros(1, 16, 16, 16), torch.zeros(1, 20, 256), torch.zeros(1, 128), torch.zeros(1))
