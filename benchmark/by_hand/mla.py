"""DeepSeek-V2 (2024): latent attention and routed experts beside shared ones."""

import torch
import torch.nn.functional as F
from torch import nn


class RMS(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return self.g * x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()


def rotate(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class LatentAttention(nn.Module):
    def __init__(self, d, h=4, rank=64, nope=32, rope=16):
        super().__init__()
        self.h, self.rank, self.nope, self.rope = h, rank, nope, rope
        self.q = nn.Linear(d, h * (nope + rope), bias=False)
        self.down = nn.Linear(d, rank + rope, bias=False)
        self.norm = RMS(rank)
        self.up = nn.Linear(rank, h * 2 * nope, bias=False)
        self.out = nn.Linear(h * nope, d, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.h, -1).transpose(1, 2)
        q_n, q_r = q.split([self.nope, self.rope], -1)
        latent, k_r = self.down(x).split([self.rank, self.rope], -1)
        kv = self.up(self.norm(latent)).view(b, t, self.h, -1).transpose(1, 2)
        k_n, v = kv.split([self.nope, self.nope], -1)
        k_r = rotate(k_r[:, None], cos, sin).expand(-1, self.h, -1, -1)
        q = torch.cat([q_n, rotate(q_r, cos, sin)], -1)
        y = F.scaled_dot_product_attention(q, torch.cat([k_n, k_r], -1), v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Expert(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.gate, self.up = nn.Linear(d, f, bias=False), nn.Linear(d, f, bias=False)
        self.down = nn.Linear(f, d, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    def __init__(self, d, f, count=4, top=2):
        super().__init__()
        self.top, self.router = top, nn.Linear(d, count, bias=False)
        self.routed = nn.ModuleList(Expert(d, f) for _ in range(count))
        self.shared = Expert(d, f)

    def forward(self, x):
        scores = self.router(x).softmax(-1)
        weight, chosen = scores.topk(self.top, dim=-1)
        y = self.shared(x)
        for number, expert in enumerate(self.routed):
            share = (weight * (chosen == number)).sum(-1, keepdim=True)
            y = y + share * expert(x)
        return y


class Layer(nn.Module):
    def __init__(self, d, dense):
        super().__init__()
        self.n1, self.n2, self.attend = RMS(d), RMS(d), LatentAttention(d)
        self.mlp = Expert(d, 4 * d) if dense else Experts(d, d)

    def forward(self, x, cos, sin):
        x = x + self.attend(self.n1(x), cos, sin)
        return x + self.mlp(self.n2(x))


class DeepSeek(nn.Module):
    def __init__(self, vocab=3000, d=128, n=4, length=64):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Layer(d, i == 0) for i in range(n))
        self.norm, self.head = RMS(d), nn.Linear(d, vocab, bias=False)
        angles = torch.outer(torch.arange(length), 10000 ** (-torch.arange(0, 16, 2) / 16))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        x, t = self.words(ids), ids.shape[1]
        for layer in self.layers:
            x = layer(x, self.cos[:t], self.sin[:t])
        return self.head(self.norm(x))


def asked():
    return DeepSeek(), (torch.zeros(1, 20, dtype=torch.long),)
