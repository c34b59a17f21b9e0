"""Neural discrete representation learning (van den Oord et al., 2017)."""

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.one, self.two = nn.Conv2d(d, hidden, 3, 1, 1), nn.Conv2d(hidden, d, 1)

    def forward(self, x):
        return x + self.two(torch.relu(self.one(torch.relu(x))))


class VQVAE(nn.Module):
    def __init__(self, d=128, codes=512, size=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, d // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(d // 2, d, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(d, d, 3, 1, 1), Residual(d, 32), Residual(d, 32), nn.ReLU(), nn.Conv2d(d, size, 1),
        )
        self.codes = nn.Embedding(codes, size)
        self.decoder = nn.Sequential(
            nn.Conv2d(size, d, 3, 1, 1), Residual(d, 32), Residual(d, 32), nn.ReLU(),
            nn.ConvTranspose2d(d, d // 2, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(d // 2, 3, 4, 2, 1),
        )

    def forward(self, x):
        z = self.encoder(x).permute(0, 2, 3, 1)
        flat = z.reshape(-1, z.shape[-1])
        apart = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.weight.T
        apart = apart + self.codes.weight.pow(2).sum(1)
        q = self.codes(apart.argmin(1)).view_as(z)
        q = z + (q - z).detach()
        return self.decoder(q.permute(0, 3, 1, 2))


def asked():
    return VQVAE(), (torch.zeros(1, 3, 32, 32),)
