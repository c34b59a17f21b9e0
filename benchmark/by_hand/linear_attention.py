"""Transformers are RNNs (Katharopoulos et al., 2020): kernels in place of a softmax."""

import torch
from torch import nn


class LinearAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        b, n, d = x.shape
        q = nn.functional.elu(self.q(x).view(b, n, self.h, -1)) + 1
        k = nn.functional.elu(self.k(x).view(b, n, self.h, -1)) + 1
        v = self.v(x).view(b, n, self.h, -1)
        kv = torch.einsum("bnhd,bnhm->bhmd", k, v)
        z = 1 / (torch.einsum("bnhd,bhd->bnh", q, k.sum(dim=1)) + 1e-6)
        y = torch.einsum("bnhd,bhmd,bnh->bnhm", q, kv, z)
        return self.o(y.reshape(b, n, d))


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attend = LinearAttention(d, h)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.f1, self.f2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        x = self.n1(x + self.attend(x))
        return self.n2(x + self.f2(torch.relu(self.f1(x))))


class LinearTransformer(nn.Module):
    def __init__(self, vocab=256, d=128, depth=6):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, d), nn.Parameter(torch.zeros(512, d))
        self.layers = nn.Sequential(*(Layer(d, 4) for _ in range(depth)))
        self.out = nn.Linear(d, vocab)

    def forward(self, x):
        return self.out(self.layers(self.words(x) + self.places[: x.shape[1]]))


def asked():
    return LinearTransformer(), (torch.zeros(1, 100, dtype=torch.long),)
