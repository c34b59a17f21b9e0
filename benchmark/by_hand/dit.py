"""Scalable diffusion models with transformers (Peebles and Xie, 2022): adaLN-Zero."""

import math

import torch
from torch import nn


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class TimeEmbedding(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(256, d), nn.SiLU(), nn.Linear(d, d))

    def forward(self, t):
        rates = torch.exp(-math.log(10000) * torch.arange(128) / 128)
        angles = t[:, None].float() * rates[None]
        return self.mlp(torch.cat([angles.cos(), angles.sin()], dim=-1))


class DiTBlock(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1 = nn.LayerNorm(d, elementwise_affine=False)
        self.n2 = nn.LayerNorm(d, elementwise_affine=False)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.ada = nn.Sequential(nn.SiLU(), nn.Linear(d, 6 * d))

    def attend(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        return self.proj((a @ v).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, c):
        s1, k1, g1, s2, k2, g2 = self.ada(c).chunk(6, dim=1)
        x = x + g1.unsqueeze(1) * self.attend(modulate(self.n1(x), s1, k1))
        h = nn.functional.gelu(self.fc1(modulate(self.n2(x), s2, k2)), approximate="tanh")
        return x + g2.unsqueeze(1) * self.fc2(h)


class DiT(nn.Module):
    def __init__(self, size=16, patch=2, d=192, depth=6, heads=6, classes=10):
        super().__init__()
        self.patch = patch
        self.embed = nn.Conv2d(4, d, patch, patch)
        self.places = nn.Parameter(torch.zeros(1, (size // patch) ** 2, d), requires_grad=False)
        self.time, self.label = TimeEmbedding(d), nn.Embedding(classes + 1, d)
        self.blocks = nn.ModuleList(DiTBlock(d, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(d, elementwise_affine=False)
        self.ada, self.out = nn.Sequential(nn.SiLU(), nn.Linear(d, 2 * d)), nn.Linear(d, patch**2 * 8)

    def forward(self, x, t, y):
        h = self.embed(x).flatten(2).transpose(1, 2) + self.places
        c = self.time(t) + self.label(y)
        for block in self.blocks:
            h = block(h, c)
        shift, scale = self.ada(c).chunk(2, dim=1)
        h = self.out(modulate(self.norm(h), shift, scale))
        side = int(h.shape[1] ** 0.5)
        h = h.view(-1, side, side, self.patch, self.patch, 8).permute(0, 5, 1, 3, 2, 4)
        return h.reshape(len(x), 8, side * self.patch, side * self.patch)


def asked():
    one = torch.zeros(1, dtype=torch.long)
    return DiT(), (torch.zeros(1, 4, 16, 16), one, one)
