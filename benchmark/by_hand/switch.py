"""Switch transformer's encoder (Fedus et al., 2021): one expert a token."""

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.g


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, bias):
        q, k, v = (f(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = (q @ k.transpose(-1, -2) + bias).softmax(-1) @ v
        return self.o(y.transpose(1, 2).flatten(2))


class Dense(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wi, self.wo = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)

    def forward(self, x):
        return self.wo(torch.relu(self.wi(x)))


class Switch(nn.Module):
    def __init__(self, d, count=4):
        super().__init__()
        self.router = nn.Linear(d, count, bias=False)
        self.experts = nn.ModuleList(Dense(d) for _ in range(count))

    def forward(self, x):
        p, chosen = self.router(x).softmax(-1).max(-1, keepdim=True)
        y = 0
        for number, expert in enumerate(self.experts):
            y = y + (chosen == number) * expert(x)
        return p * y


class SwitchEncoder(nn.Module):
    def __init__(self, vocab=2000, d=128, h=4, n=6):
        super().__init__()
        self.words, self.table = nn.Embedding(vocab, d), nn.Embedding(63, h)
        self.attends = nn.ModuleList(Attention(d, h) for _ in range(n))
        self.feeds = nn.ModuleList(Switch(d) if i % 2 else Dense(d) for i in range(n))
        self.norms = nn.ModuleList(Norm(d) for _ in range(2 * n))
        self.norm = Norm(d)

    def forward(self, ids):
        x, place = self.words(ids), torch.arange(ids.shape[1])
        bias = self.table((place[None] - place[:, None]).clamp(-31, 31) + 31).permute(2, 0, 1)
        for i, (attend, feed) in enumerate(zip(self.attends, self.feeds)):
            x = x + attend(self.norms[2 * i](x), bias)
            x = x + feed(self.norms[2 * i + 1](x))
        return self.norm(x)


def asked():
    return SwitchEncoder(), (torch.zeros(1, 20, dtype=torch.long),)
