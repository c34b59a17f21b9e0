"""A translation model around torch's own transformer."""

import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, vocab=3000, d=128):
        super().__init__()
        self.source, self.target = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        self.places = nn.Embedding(100, d)
        self.transformer = nn.Transformer(d, 4, 3, 3, 256, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, source, target):
        s = self.source(source) + self.places(torch.arange(source.shape[1]))
        t = self.target(target) + self.places(torch.arange(target.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.out(self.transformer(s, t, tgt_mask=mask))


def asked():
    return Translator(), (torch.zeros(1, 12, dtype=torch.long), torch.zeros(1, 10, dtype=torch.long))
