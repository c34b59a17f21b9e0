"""Translation with additive attention (Bahdanau et al., 2014), one word after the other."""

import torch
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, vocab=3000, d=128):
        super().__init__()
        self.source, self.target = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        self.encoder = nn.GRU(d, d, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(2 * d, d)
        self.wa, self.ua, self.va = nn.Linear(d, d), nn.Linear(2 * d, d), nn.Linear(d, 1)
        self.cell = nn.GRUCell(3 * d, d)
        self.out = nn.Linear(4 * d, vocab)

    def forward(self, source, target):
        memory, last = self.encoder(self.source(source))
        h = torch.tanh(self.bridge(torch.cat([last[0], last[1]], -1)))
        keys, words, steps = self.ua(memory), self.target(target), []
        for t in range(target.shape[1]):
            score = self.va(torch.tanh(self.wa(h)[:, None] + keys)).squeeze(-1)
            context = (score.softmax(-1)[:, None] @ memory).squeeze(1)
            h = self.cell(torch.cat([words[:, t], context], -1), h)
            steps.append(self.out(torch.cat([h, context, words[:, t]], -1)))
        return torch.stack(steps, 1)


def asked():
    return Seq2Seq(), (torch.zeros(1, 9, dtype=torch.long), torch.zeros(1, 7, dtype=torch.long))
