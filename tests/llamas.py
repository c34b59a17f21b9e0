"""Llama (arXiv:2302.13971) with grouped heads, written by hand in three ways."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY, WIDTH, HIDDEN, HEADS, KV_HEADS, LAYERS, CONTEXT = 100, 64, 128, 4, 2, 2, 32
HEAD_WIDTH = WIDTH // HEADS


def angles() -> Tensor:
    """Shape (CONTEXT, HEAD_WIDTH / 2), of each position and pair of channels."""
    speeds = 1.0 / 10000 ** (torch.arange(0, HEAD_WIDTH, 2).float() / HEAD_WIDTH)
    return torch.outer(torch.arange(CONTEXT).float(), speeds)


class RootMeanSquareNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        normal = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return normal.type_as(x) * self.weight


class GatedFeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w3 = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class PackedFeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.packed = nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.packed(x).chunk(2, dim=-1)
        return self.out(value * (gate * torch.sigmoid(gate)))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wq, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.wk, self.wv = (nn.Linear(WIDTH, KV_HEADS * HEAD_WIDTH, bias=False) for _ in range(2))

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value, each (batch, length, heads, HEAD_WIDTH)."""
        made = self.wq(x), self.wk(x), self.wv(x)
        query, key, value = (each.view(*x.shape[:2], -1, HEAD_WIDTH) for each in made)
        return query, key, value


class ComplexAttention(Attention):
    """Complex turns, expanded heads, an explicit mask: as Meta published it."""

    def turned(self, x: Tensor) -> Tensor:
        turns = torch.polar(torch.ones_like(angles()), angles())[: x.shape[1], None]
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns).flatten(3).type_as(x)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.split(x)
        query, key = self.turned(query).transpose(1, 2), self.turned(key)
        shape = (*x.shape[:2], KV_HEADS, HEADS // KV_HEADS, HEAD_WIDTH)
        key, value = (
            each[:, :, :, None].expand(shape).reshape(*x.shape[:2], HEADS, HEAD_WIDTH)
            for each in (key, value)
        )
        scores = query @ key.permute(0, 2, 3, 1) / math.sqrt(HEAD_WIDTH)
        scores = scores + torch.full((x.shape[1], x.shape[1]), -math.inf).triu(1)
        weights = functional.softmax(scores.float(), dim=-1).type_as(query)
        return self.wo((weights @ value.transpose(1, 2)).transpose(1, 2).flatten(2))


class CachedAttention(Attention):
    """Buffers of cosines and sines, halves that turn, fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cos", angles().cos().repeat(1, 2), persistent=False)
        self.register_buffer("sin", angles().sin().repeat(1, 2), persistent=False)

    def turned(self, x: Tensor) -> Tensor:
        cos, sin = self.cos[: x.shape[2]], self.sin[: x.shape[2]]
        left, right = x[..., : HEAD_WIDTH // 2], x[..., HEAD_WIDTH // 2 :]
        return torch.cat((-right, left), dim=-1) * sin + cos * x

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (each.transpose(1, 2) for each in self.split(x))
        key, value = (
            each.repeat_interleave(HEADS // KV_HEADS, dim=1) for each in (self.turned(key), value)
        )
        read = functional.scaled_dot_product_attention(
            self.turned(query), key, value, is_causal=True
        )
        return self.wo(read.transpose(1, 2).reshape(x.shape))


class PackedAttention(nn.Module):
    """One packed projection, pairs that turn, scores that are filled."""

    def __init__(self) -> None:
        super().__init__()
        self.packed = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * HEAD_WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        mask = torch.ones(CONTEXT, CONTEXT).tril() == 0
        self.register_buffer("mask", mask, persistent=False)

    def turned(self, x: Tensor) -> Tensor:
        cos, sin = (wave(angles()[: x.shape[1]])[:, None] for wave in (torch.cos, torch.sin))
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        sizes = [HEADS * HEAD_WIDTH, KV_HEADS * HEAD_WIDTH, KV_HEADS * HEAD_WIDTH]
        made = (each.unflatten(-1, (-1, HEAD_WIDTH)) for each in self.packed(x).split(sizes, -1))
        query, key, value = made
        query, key = self.turned(query), self.turned(key).repeat_interleave(HEADS // KV_HEADS, 2)
        value = value.repeat_interleave(HEADS // KV_HEADS, 2).transpose(1, 2)
        scores = (query.transpose(1, 2) * HEAD_WIDTH**-0.5) @ key.permute(0, 2, 3, 1)
        scores = scores.masked_fill(self.mask[:length, :length], -math.inf)
        return self.out((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, norm, attention, feed_forward) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention(), feed_forward()
        self.norm1, self.norm2 = norm(), norm()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Llama(nn.Module):
    def __init__(self, *parts) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.Sequential(*(Block(*parts) for _ in range(LAYERS)))
        self.norm = parts[0]()
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.tokens(ids))))


SPELLINGS = {
    "complex": lambda: Llama(RootMeanSquareNorm, ComplexAttention, GatedFeedForward),
    "cached": lambda: Llama(lambda: nn.RMSNorm(WIDTH), CachedAttention, GatedFeedForward),
    "packed": lambda: Llama(RootMeanSquareNorm, PackedAttention, PackedFeedForward),
}
