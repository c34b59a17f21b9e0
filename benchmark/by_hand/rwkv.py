"""RWKV-4 (Peng et al., 2023), time mixing step by step."""

import torch
from torch import nn


class TimeMix(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mix_k, self.mix_v, self.mix_r = (nn.Parameter(torch.rand(d)) for _ in range(3))
        self.decay, self.first = nn.Parameter(torch.rand(d)), nn.Parameter(torch.rand(d))
        self.key, self.value, self.receptance, self.output = (
            nn.Linear(d, d, bias=False) for _ in range(4)
        )

    def forward(self, x):
        before = nn.functional.pad(x, (0, 0, 1, -1))
        k = self.key(x * self.mix_k + before * (1 - self.mix_k))
        v = self.value(x * self.mix_v + before * (1 - self.mix_v))
        r = torch.sigmoid(self.receptance(x * self.mix_r + before * (1 - self.mix_r)))
        a, b, w = torch.zeros_like(v[:, 0]), torch.zeros_like(v[:, 0]), torch.exp(-self.decay.exp())
        out = []
        for t in range(x.shape[1]):
            e, now = k[:, t].exp(), (self.first + k[:, t]).exp()
            out.append((a + now * v[:, t]) / (b + now))
            a, b = w * a + e * v[:, t], w * b + e
        return self.output(r * torch.stack(out, dim=1))


class ChannelMix(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mix_k, self.mix_r = nn.Parameter(torch.rand(d)), nn.Parameter(torch.rand(d))
        self.key, self.value = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)
        self.receptance = nn.Linear(d, d, bias=False)

    def forward(self, x):
        before = nn.functional.pad(x, (0, 0, 1, -1))
        k = self.key(x * self.mix_k + before * (1 - self.mix_k))
        r = self.receptance(x * self.mix_r + before * (1 - self.mix_r))
        return torch.sigmoid(r) * self.value(torch.relu(k) ** 2)


class RWKV(nn.Module):
    def __init__(self, vocab=2000, d=96, n=4):
        super().__init__()
        self.emb, self.ln0 = nn.Embedding(vocab, d), nn.LayerNorm(d)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * n))
        self.mixes = nn.ModuleList(m for _ in range(n) for m in (TimeMix(d), ChannelMix(d)))
        self.ln_out, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.ln0(self.emb(ids))
        for norm, mix in zip(self.norms, self.mixes):
            x = x + mix(norm(x))
        return self.head(self.ln_out(x))


def asked():
    return RWKV(), (torch.zeros(1, 8, dtype=torch.long),)
