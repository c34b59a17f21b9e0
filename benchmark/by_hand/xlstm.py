"""xLSTM (Beck et al., 2024): blocks with a matrix memory, in their parallel form."""

import torch
import torch.nn.functional as F
from torch import nn


class MLSTM(nn.Module):
    def __init__(self, d, heads=4):
        super().__init__()
        inner, self.heads = 2 * d, heads
        self.norm = nn.LayerNorm(d, bias=False)
        self.up, self.down = nn.Linear(d, 2 * inner, bias=False), nn.Linear(inner, d, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.q, self.k, self.v = (nn.Linear(inner, inner, bias=False) for _ in range(3))
        self.i, self.f = nn.Linear(3 * inner, heads), nn.Linear(3 * inner, heads)
        self.out_norm = nn.GroupNorm(heads, inner)
        self.skip = nn.Parameter(torch.ones(inner))

    def forward(self, x):
        b, t, _ = x.shape
        y, z = self.up(self.norm(x)).chunk(2, -1)
        c = F.silu(self.conv(y.transpose(1, 2))[..., :t].transpose(1, 2))
        q, k, v = self.q(c), self.k(c), self.v(y)
        gates = torch.cat([q, k, v], -1)
        i, f = self.i(gates).transpose(1, 2), F.logsigmoid(self.f(gates)).transpose(1, 2)
        total = f.cumsum(-1)
        d = total[..., :, None] - total[..., None, :] + i[..., None, :]
        d = d.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        d = torch.exp(d - d.amax(-1, keepdim=True))
        q, k, v = (a.view(b, t, self.heads, -1).transpose(1, 2) for a in (q, k, v))
        s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 * d
        h = s / s.sum(-1, keepdim=True).abs().clamp(min=1) @ v
        h = self.out_norm(h.transpose(1, 2).reshape(b * t, -1)).view(b, t, -1)
        return x + self.down((h + self.skip * c) * F.silu(z))


class XLSTM(nn.Module):
    def __init__(self, vocab=1000, d=96, depth=5):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.blocks = nn.Sequential(*(MLSTM(d) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.words(ids))))


def asked():
    return XLSTM(), (torch.zeros(1, 24, dtype=torch.long),)
