"""A variational autoencoder (Kingma and Welling, 2013) of small images, with convolutions."""

import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, z=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(64, 128, 4, 2, 1), nn.ReLU(), nn.Flatten(),
        )
        self.mean, self.log_var = nn.Linear(2048, z), nn.Linear(2048, z)
        self.inp = nn.Linear(z, 2048)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Sigmoid(),
        )

    def forward(self, x):
        h = self.encoder(x)
        mean, log_var = self.mean(h), self.log_var(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        return self.decoder(self.inp(z).view(-1, 128, 4, 4)), mean, log_var


def asked():
    return VAE(), (torch.zeros(1, 3, 32, 32),)
