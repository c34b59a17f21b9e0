"""Conv-TasNet (Luo and Mesgarani, 2019): masks from a stack of dilated convolutions."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, b, h, dilation):
        super().__init__()
        self.conv, self.p1, self.n1 = nn.Conv1d(b, h, 1), nn.PReLU(), nn.GroupNorm(1, h)
        self.deep = nn.Conv1d(h, h, 3, padding=dilation, dilation=dilation, groups=h)
        self.p2, self.n2 = nn.PReLU(), nn.GroupNorm(1, h)
        self.residual, self.skip = nn.Conv1d(h, b, 1), nn.Conv1d(h, b, 1)

    def forward(self, x):
        y = self.n1(self.p1(self.conv(x)))
        y = self.n2(self.p2(self.deep(y)))
        return x + self.residual(y), self.skip(y)


class ConvTasNet(nn.Module):
    def __init__(self, n=256, b=128, h=256, blocks=6, repeats=2, speakers=2):
        super().__init__()
        self.speakers, self.n = speakers, n
        self.encoder = nn.Conv1d(1, n, 16, 8, bias=False)
        self.norm, self.bottle = nn.GroupNorm(1, n), nn.Conv1d(n, b, 1)
        self.blocks = nn.ModuleList(Block(b, h, 2**i) for _ in range(repeats) for i in range(blocks))
        self.act, self.mask = nn.PReLU(), nn.Conv1d(b, speakers * n, 1)
        self.decoder = nn.ConvTranspose1d(n, 1, 16, 8, bias=False)

    def forward(self, wave):
        w = torch.relu(self.encoder(wave.unsqueeze(1)))
        x, total = self.bottle(self.norm(w)), 0
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        m = torch.sigmoid(self.mask(self.act(total))).view(len(w), self.speakers, self.n, -1)
        y = (m * w.unsqueeze(1)).flatten(0, 1)
        return self.decoder(y).view(len(w), self.speakers, -1)


def asked():
    return ConvTasNet(), (torch.zeros(1, 1600),)
