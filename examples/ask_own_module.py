"""Is my design new? Asks about a module of one's own, with nothing but the module.

python ask_own_module.py
"""

import torch
from torch import nn

import nar


class Block(nn.Module):
    """A transformer block whose feed-forward half is gated by a sine."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.expand, self.reduce = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Words of shape (batch, length, width), mixed and then changed one by one."""
        asked = self.first(words)
        words = words + self.attention(asked, asked, asked, need_weights=False)[0]
        value, gate = self.expand(self.second(words)).chunk(2, dim=-1)
        return words + self.reduce(value * torch.sin(gate))


class SineNet(nn.Module):
    """Four such blocks between a table of words and a head."""

    def __init__(self, letters: int = 100, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(letters, width), nn.Linear(width, letters)
        self.blocks = nn.Sequential(*[Block(width, heads=4) for _ in range(depth)])

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Scores of letters, of shape (batch, length, letters)."""
        return self.head(self.blocks(self.table(text)))


if __name__ == "__main__":
    found = nar.search(SineNet(), top_k=3)
    print(found)  # as `nar search` shows it
    coverage = found.answer.coverage
    if coverage:  # how often each operator stands where no known architecture has one
        print({each.operator: each.times for each in coverage.operators})
