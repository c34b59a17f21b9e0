"""Mamba (Gu and Dao, 2023), the scan as a loop."""

import torch
import torch.nn.functional as F
from torch import nn


class MambaBlock(nn.Module):
    def __init__(self, d, n=16, expand=2, conv=4):
        super().__init__()
        inner, self.n, self.rank = expand * d, n, d // 16
        self.in_proj = nn.Linear(d, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, conv, groups=inner, padding=conv - 1)
        self.x_proj = nn.Linear(inner, self.rank + 2 * n, bias=False)
        self.dt_proj = nn.Linear(self.rank, inner)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(inner, 1))
        self.D = nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, d, bias=False)

    def forward(self, x):
        length = x.shape[1]
        x, z = self.in_proj(x).chunk(2, dim=-1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :length].transpose(1, 2))
        dt, B, C = self.x_proj(x).split([self.rank, self.n, self.n], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        dA = torch.exp(dt[..., None] * -torch.exp(self.A_log))
        dBx = dt[..., None] * B[:, :, None] * x[..., None]
        h, ys = torch.zeros_like(dBx[:, 0]), []
        for t in range(length):
            h = dA[:, t] * h + dBx[:, t]
            ys.append((h * C[:, t, None]).sum(-1))
        y = torch.stack(ys, dim=1) + x * self.D
        return self.out_proj(y * F.silu(z))


class RMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Mamba(nn.Module):
    def __init__(self, vocab=1000, d=128, depth=6):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(MambaBlock(d) for _ in range(depth))
        self.norms = nn.ModuleList(RMSNorm(d) for _ in range(depth))
        self.norm_f, self.head = RMSNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.head(self.norm_f(x))


def asked():
    return Mamba(), (torch.zeros(1, 8, dtype=torch.long),)
