"""Mixtral of experts (Jiang et al., 2024): grouped queries, two of eight experts a token."""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.w, 1e-5)


class Attention(nn.Module):
    def __init__(self, d, h, kv):
        super().__init__()
        self.h, self.kv, self.hd = h, kv, d // h
        self.q, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.k, self.v = (nn.Linear(d, kv * self.hd, bias=False) for _ in range(2))

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.h, -1).transpose(1, 2)
        k = self.k(x).view(b, t, self.kv, -1).transpose(1, 2)
        v = self.v(x).view(b, t, self.kv, -1).transpose(1, 2)

        def turn(y):
            a, c = y.chunk(2, -1)
            return y * cos + torch.cat((-c, a), -1) * sin

        y = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True, enable_gqa=True)
        return self.o(y.transpose(1, 2).reshape(b, t, -1))


class MoE(nn.Module):
    def __init__(self, d, f, count=8, top=2):
        super().__init__()
        self.gate, self.top = nn.Linear(d, count, bias=False), top
        self.w1, self.w3 = (nn.ModuleList(nn.Linear(d, f, bias=False) for _ in range(count)) for _ in range(2))
        self.w2 = nn.ModuleList(nn.Linear(f, d, bias=False) for _ in range(count))

    def forward(self, x):
        score, chosen = self.gate(x).topk(self.top, dim=-1)
        score = score.softmax(-1)
        y = torch.zeros_like(x)
        for e in range(len(self.w1)):
            share = torch.where(chosen == e, score, 0.0).sum(-1, keepdim=True)
            y = y + share * self.w2[e](F.silu(self.w1[e](x)) * self.w3[e](x))
        return y


class Mixtral(nn.Module):
    def __init__(self, vocab=2000, d=96, n=4, h=6, kv=2, length=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.attends = nn.ModuleList(Attention(d, h, kv) for _ in range(n))
        self.moes = nn.ModuleList(MoE(d, 2 * d) for _ in range(n))
        self.norms = nn.ModuleList(RMSNorm(d) for _ in range(2 * n))
        self.norm, self.out = RMSNorm(d), nn.Linear(d, vocab, bias=False)
        hd = d // h
        a = torch.outer(torch.arange(length), 1e6 ** (-torch.arange(0, hd, 2) / hd)).repeat(1, 2)
        self.register_buffer("cos", a.cos())
        self.register_buffer("sin", a.sin())

    def forward(self, ids):
        x, t = self.tok(ids), ids.shape[1]
        for i, (attend, moe) in enumerate(zip(self.attends, self.moes)):
            x = x + attend(self.norms[2 * i](x), self.cos[:t], self.sin[:t])
            x = x + moe(self.norms[2 * i + 1](x))
        return self.out(self.norm(x))


def asked():
    return Mixtral(), (torch.zeros(1, 16, dtype=torch.long),)
