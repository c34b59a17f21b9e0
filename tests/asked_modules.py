"""Models as people have them: classes of a repository, without a factory and without inputs.

`cli/test_asked_modules.py` asks about each as a user does, and has what is right.
"""

import argparse
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class LmConfig:
    vocab: int = 1000
    width: int = 64
    depth: int = 2


class _Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class LmOfDataclass(nn.Module):
    def __init__(self, config: LmConfig):
        super().__init__()
        self.emb = nn.Embedding(config.vocab, config.width)
        self.blocks = nn.Sequential(*[_Block(config.width) for _ in range(config.depth)])
        self.head = nn.Linear(config.width, config.vocab)

    def forward(self, idx, targets=None):
        return self.head(self.blocks(self.emb(idx)))


class LmOfDefaults(LmOfDataclass):
    @staticmethod
    def get_default_config():
        return argparse.Namespace(vocab=1000, width=None, depth=None)

    def __init__(self, config):
        assert config.width is not None
        assert config.depth is not None
        super().__init__(config)


class TakesIds(LmOfDataclass):
    def __init__(self):
        super().__init__(LmConfig())


class TakesImageTimeLabel(nn.Module):
    def __init__(self, in_channels=4, size=32, classes=10):
        super().__init__()
        self.stem, self.out = (
            nn.Conv2d(in_channels, 32, 3, padding=1),
            nn.Conv2d(32, in_channels, 3, padding=1),
        )
        self.t, self.y = nn.Linear(1, 32), nn.Embedding(classes, 32)

    def forward(self, x, t, y):
        c = self.t(t[:, None]) + self.y(y)
        return self.out(F.silu(self.stem(x) + c[:, :, None, None]))


class DenseGcn(nn.Module):
    def __init__(self, nfeat=32, nhid=16, nclass=7):
        super().__init__()
        self.w1, self.w2 = nn.Linear(nfeat, nhid, bias=False), nn.Linear(nhid, nclass, bias=False)

    def forward(self, x, adj):
        return F.log_softmax(adj @ self.w2(F.relu(adj @ self.w1(x))), 1)


def dense_gcn():
    return DenseGcn(), (torch.zeros(50, 32), torch.eye(50))


class Points(nn.Module):
    def __init__(self, channel=6):
        super().__init__()
        self.c1, self.c2, self.fc = (
            nn.Conv1d(channel, 64, 1),
            nn.Conv1d(64, 128, 1),
            nn.Linear(128, 40),
        )

    def forward(self, x):
        _batch, _dims, _number = x.size()
        return self.fc(torch.max(F.relu(self.c2(F.relu(self.c1(x)))), 2)[0])


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(
            nn.Conv2d(3, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 512, 3, 4, 1), nn.ReLU()
        )
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        return self.fc(F.avg_pool2d(self.c(x), 4).flatten(1))


class RotaryPlain(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb, self.out = nn.Embedding(100, d), nn.Linear(d, 100)
        self.angles = torch.outer(torch.arange(128.0), torch.arange(d).float())

    def forward(self, ids):
        h = self.emb(ids)
        self.angles = self.angles.to(h.device)
        if float(h.abs().sum()) < 0:
            return h
        return self.out(h * self.angles[: ids.shape[1]].cos())


class Rotary(RotaryPlain):
    @torch.inference_mode()
    def forward(self, ids):
        return super().forward(ids)


def rotary():
    return Rotary(), torch.zeros(1, 16, dtype=torch.long)


def rotary_plain():
    return RotaryPlain(), torch.zeros(1, 16, dtype=torch.long)


class LossOnly(LmOfDataclass):
    def __init__(self):
        super().__init__(LmConfig())

    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        return None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def loss_only():
    return LossOnly(), torch.zeros(1, 16, dtype=torch.long)


class CudaInForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x):
        ids = torch.arange(0, x.shape[-1], out=torch.cuda.LongTensor(x.shape[-1]))
        return self.c(x) * (ids < 1000).to(x.dtype)


class Fetches(nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision

        self.body = torchvision.models.resnet18(weights="IMAGENET1K_V1")

    def forward(self, x):
        return self.body(x)


class TakesDicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3)

    def forward(self, samples, multimask):
        return self.c(torch.stack([s["image"] for s in samples]))


def seq2seq():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.t, self.o = (
                nn.Embedding(1000, 64),
                nn.Transformer(64, 4, 2, 2, 128, batch_first=True),
                nn.Linear(64, 1000),
            )

        def forward(self, src_seq, trg_seq):
            return self.o(self.t(self.e(src_seq), self.e(trg_seq)))

    return M(), (torch.zeros(1, 16, dtype=torch.long), torch.zeros(1, 16, dtype=torch.long))


def tied():
    model = LmOfDataclass(LmConfig())
    model.head = nn.Linear(64, 1000, bias=False)
    model.head.weight = model.emb.weight
    return model, torch.zeros(1, 16, dtype=torch.long)


def untied():
    model = LmOfDataclass(LmConfig())
    model.head = nn.Linear(64, 1000, bias=False)
    return model, torch.zeros(1, 16, dtype=torch.long)
