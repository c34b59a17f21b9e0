"""BERT (Devlin et al., 2018): post-norm encoder with three embeddings and a masked-word head."""

import math

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.ln1, self.ln2 = nn.LayerNorm(d, eps=1e-12), nn.LayerNorm(d, eps=1e-12)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.drop = nn.Dropout(0.1)

    def heads(self, x):
        b, n, d = x.shape
        return x.view(b, n, self.h, d // self.h).transpose(1, 2)

    def forward(self, x, bias):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        a = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.shape[-1]) + bias
        a = self.drop(torch.softmax(a, -1))
        y = torch.matmul(a, v).transpose(1, 2).flatten(2)
        x = self.ln1(x + self.drop(self.o(y)))
        return self.ln2(x + self.drop(self.down(nn.functional.gelu(self.up(x)))))


class Bert(nn.Module):
    def __init__(self, vocab=8000, d=256, h=4, n=6, length=128):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.places = nn.Embedding(length, d)
        self.segments = nn.Embedding(2, d)
        self.ln = nn.LayerNorm(d, eps=1e-12)
        self.layers = nn.ModuleList(Layer(d, h) for _ in range(n))
        self.transform, self.ln_out = nn.Linear(d, d), nn.LayerNorm(d)
        self.to_words = nn.Linear(d, vocab)

    def forward(self, ids, segments, mask):
        where = torch.arange(ids.shape[1], device=ids.device)
        x = self.ln(self.words(ids) + self.places(where) + self.segments(segments))
        bias = (1.0 - mask[:, None, None, :]) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return self.to_words(self.ln_out(nn.functional.gelu(self.transform(x))))


def asked():
    ids = torch.zeros(1, 32, dtype=torch.long)
    return Bert(), (ids, ids, torch.ones(1, 32))
