"""Masked autoencoder (He et al., 2021): a small decoder behind a ViT that sees a quarter."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj, self.h = nn.Linear(d, 3 * d), nn.Linear(d, d), h
        self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.n1(x)).reshape(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(y.transpose(1, 2).reshape(b, n, d))
        return x + self.fc2(nn.functional.gelu(self.fc1(self.n2(x))))


class MAE(nn.Module):
    def __init__(self, d=192, dd=96, patch=16, size=96):
        super().__init__()
        self.n = (size // patch) ** 2
        self.embed = nn.Conv2d(3, d, patch, patch)
        self.cls, self.mask = nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.zeros(1, 1, dd))
        self.register_buffer("places", torch.randn(1, self.n + 1, d))
        self.register_buffer("places_d", torch.randn(1, self.n + 1, dd))
        self.encoder = nn.ModuleList(Block(d, 3) for _ in range(6))
        self.norm, self.to_decoder = nn.LayerNorm(d), nn.Linear(d, dd)
        self.decoder = nn.ModuleList(Block(dd, 3) for _ in range(2))
        self.norm_d, self.pixels = nn.LayerNorm(dd), nn.Linear(dd, patch**2 * 3)

    def forward(self, image, noise):
        x = self.embed(image).flatten(2).transpose(1, 2) + self.places[:, 1:]
        b, n, d = x.shape
        shuffle = noise.argsort(dim=1)
        restore = shuffle.argsort(dim=1)
        keep = shuffle[:, : n // 4]
        x = x.gather(1, keep.unsqueeze(-1).expand(-1, -1, d))
        x = torch.cat([(self.cls + self.places[:, :1]).expand(b, -1, -1), x], dim=1)
        for block in self.encoder:
            x = block(x)
        x = self.to_decoder(self.norm(x))
        masks = self.mask.expand(b, n + 1 - x.shape[1], -1)
        full = torch.cat([x[:, 1:], masks], dim=1)
        full = full.gather(1, restore.unsqueeze(-1).expand(-1, -1, x.shape[2]))
        x = torch.cat([x[:, :1], full], dim=1) + self.places_d
        for block in self.decoder:
            x = block(x)
        return self.pixels(self.norm_d(x))[:, 1:]


def asked():
    return MAE(), (torch.zeros(1, 3, 96, 96), torch.zeros(1, 36))
