"""Mamba-2 (Dao and Gu, 2024): state space duality, written as masked attention."""

import torch
import torch.nn.functional as F
from torch import nn


def segsum(a):
    t = a.shape[-1]
    c = a.cumsum(-1)
    s = c[..., :, None] - c[..., None, :]
    return s.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class SSD(nn.Module):
    def __init__(self, d, heads=8, state=32):
        super().__init__()
        self.inner, self.heads, self.state = 2 * d, heads, state
        self.in_proj = nn.Linear(d, 2 * self.inner + 2 * state + heads, bias=False)
        wide = self.inner + 2 * state
        self.conv = nn.Conv1d(wide, wide, 4, groups=wide, padding=3)
        self.dt_bias, self.A_log = nn.Parameter(torch.zeros(heads)), nn.Parameter(torch.zeros(heads))
        self.D, self.norm = nn.Parameter(torch.ones(heads)), Norm(self.inner)
        self.out_proj = nn.Linear(self.inner, d, bias=False)

    def forward(self, u):
        b, t, _ = u.shape
        sizes = [self.inner, self.inner + 2 * self.state, self.heads]
        z, xbc, dt = self.in_proj(u).split(sizes, dim=-1)
        xbc = F.silu(self.conv(xbc.transpose(1, 2))[..., :t].transpose(1, 2))
        x, B, C = xbc.split([self.inner, self.state, self.state], dim=-1)
        dt = F.softplus(dt + self.dt_bias)
        x = x.view(b, t, self.heads, -1)
        decay = torch.exp(segsum((dt * -self.A_log.exp()).transpose(1, 2)))
        scores = (C @ B.transpose(1, 2))[:, None] * decay
        y = torch.einsum("bhij,bjhp->bihp", scores, x * dt[..., None])
        y = (y + self.D[:, None] * x).reshape(b, t, -1)
        return self.out_proj(self.norm(y * F.silu(z)))


class Mamba2(nn.Module):
    def __init__(self, vocab=1000, d=128, depth=6):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d)
        self.norms = nn.ModuleList(Norm(d) for _ in range(depth))
        self.mixers = nn.ModuleList(SSD(d) for _ in range(depth))
        self.norm_f, self.head = Norm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, mixer in zip(self.norms, self.mixers):
            x = x + mixer(norm(x))
        return self.head(self.norm_f(x))


def asked():
    return Mamba2(), (torch.zeros(1, 16, dtype=torch.long),)
