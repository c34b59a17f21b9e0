"""T5 (Raffel et al., 2020): relative position bias, no biases, RMS norms."""

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return self.g * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, memory, bias=None):
        def split(y):
            return y.unflatten(-1, (self.h, -1)).transpose(1, 2)

        q, k, v = split(self.q(x)), split(self.k(memory)), split(self.v(memory))
        scores = q @ k.mT
        if bias is not None:
            scores = scores + bias
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Bias(nn.Module):
    def __init__(self, h, buckets=32, causal=False):
        super().__init__()
        self.table, self.buckets, self.causal = nn.Embedding(buckets, h), buckets, causal

    def forward(self, n):
        place = torch.arange(n)
        apart = (place[None] - place[:, None]).clamp(-15, 15) + 15
        bias = self.table(apart).permute(2, 0, 1)[None]
        if self.causal:
            bias = bias + torch.full((n, n), float("-inf")).triu(1)
        return bias


class Block(nn.Module):
    def __init__(self, d, h, cross):
        super().__init__()
        self.n1, self.attend = Norm(d), Attention(d, h)
        self.n2, self.cross = (Norm(d), Attention(d, h)) if cross else (None, None)
        self.n3 = Norm(d)
        self.wi, self.wo = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)

    def forward(self, x, bias, memory=None):
        y = self.n1(x)
        x = x + self.attend(y, y, bias)
        if memory is not None:
            x = x + self.cross(self.n2(x), memory)
        return x + self.wo(torch.relu(self.wi(self.n3(x))))


class T5(nn.Module):
    def __init__(self, vocab=3000, d=128, h=4, n=4):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.encoder = nn.ModuleList(Block(d, h, False) for _ in range(n))
        self.decoder = nn.ModuleList(Block(d, h, True) for _ in range(n))
        self.bias_e, self.bias_d = Bias(h), Bias(h, causal=True)
        self.norm_e, self.norm_d = Norm(d), Norm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, source, target):
        m, x = self.words(source), self.words(target)
        bias = self.bias_e(source.shape[1])
        for block in self.encoder:
            m = block(m, bias)
        m, bias = self.norm_e(m), self.bias_d(target.shape[1])
        for block in self.decoder:
            x = block(x, bias, m)
        return self.head(self.norm_d(x))


def asked():
    return T5(), (torch.zeros(1, 20, dtype=torch.long), torch.zeros(1, 12, dtype=torch.long))
