"""A tagger of words: embeddings, two bidirectional LSTMs, a label for each word."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab=5000, dim=100, hidden=128, tags=17):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.drop = nn.Dropout(0.3)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, words):
        states, _ = self.lstm(self.drop(self.embedding(words)))
        return self.out(self.drop(states))


def asked():
    return Tagger(), (torch.zeros(1, 30, dtype=torch.long),)
