"""Attention that is written out with soft caps, sinks or sliding windows is attention."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from nar.capture import capture_module
from nar.graphs.ops import op_name


class Attention(nn.Module):
    """Self-attention over (batch, length, 32) of 4 heads; ``attend`` is given the module itself."""

    def __init__(self, attend):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(32, 32) for _ in range(3))
        self.sinks = nn.Parameter(torch.zeros(4))
        self.attend = attend

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            layer(x).view(batch, length, 4, 8).transpose(1, 2) for layer in (self.q, self.k, self.v)
        )
        return self.attend(self, q, k, v).transpose(1, 2).reshape(batch, length, 32)


def scores_of(q, k):
    return q @ k.transpose(-1, -2) * 8**-0.5


def causal(q):
    mask = torch.full((q.shape[2], q.shape[2]), float("-inf"))
    return mask.triu(1)


def plain(_, q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def capped(_, q, k, v):
    scores = torch.tanh(scores_of(q, k) / 50) * 50 + causal(q)
    return scores.softmax(-1) @ v


def capped_by_inverse(_, q, k, v):
    return (30.0 * torch.tanh(scores_of(q, k) * (1 / 30.0))).softmax(-1) @ v


def masked_after(_, q, k, v):
    future = causal(q).bool()
    scores = scores_of(q, k).masked_fill(future, float("-inf"))
    return scores.softmax(-1).masked_fill(future, 0.0) @ v


@pytest.mark.parametrize("attend", [capped, capped_by_inverse, masked_after])
def test_a_soft_cap_and_masks_are_inside_attention(attend):
    x = torch.zeros(2, 6, 32)
    written = capture_module(Attention(attend), x)
    assert written.network.topology == capture_module(Attention(plain), x).network.topology


def beside(module, scores):
    """The learned sinks of all heads, as one more key of each query."""
    sinks = module.sinks.reshape(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], -1)
    return torch.cat([scores, sinks], dim=-1)


def with_sink(module, q, k, v):
    logits = beside(module, scores_of(q, k) + causal(q))
    logits = logits - logits.max(dim=-1, keepdim=True).values
    return logits.softmax(-1)[..., :-1] @ v


def with_plain_sink(module, q, k, v):
    return beside(module, scores_of(q, k)).softmax(-1)[..., :-1] @ v


def with_capped_sink(module, q, k, v):
    scores = 20 * torch.tanh(scores_of(q, k) / 20)
    return F.dropout(F.softmax(beside(module, scores), dim=-1)[:, :, :, :-1], 0.1, False) @ v


def sink_first(module, q, k, v):
    scores = scores_of(q, k)
    sinks = module.sinks.view(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], 1)
    return torch.cat([sinks, scores], dim=-1).softmax(-1)[..., 1:] @ v


@pytest.mark.parametrize("attend", [with_sink, with_plain_sink, with_capped_sink, sink_first])
def test_a_sink_is_a_learned_operand_of_attention(attend):
    captured = capture_module(Attention(attend), torch.zeros(2, 6, 32))
    graph = captured.graph
    names = [op_name(each) for each in graph.op_ids.tolist()]
    assert names == ["input", *["linear"] * 3, "attention"]
    assert str(graph).splitlines()[-1].endswith("heads=4 parameter_operands=1")
    assert list(captured.details)[-1].key_value_heads == 4


def by_chunks(_, q, k, v):
    """Each chunk of 4 queries reads its own chunk of keys and the chunk before."""
    batch, heads, length, width = q.shape
    chunks = length // 4
    queries = q.reshape(batch * heads, chunks, 4, width)
    padded_keys, padded_values = (
        F.pad(each.reshape(batch * heads, length, width), (0, 0, 4, 0)) for each in (k, v)
    )
    size, stride = (batch * heads, chunks, 8, width), (padded_keys.stride(0), 4 * width, width, 1)
    keys, values = (each.as_strided(size, stride) for each in (padded_keys, padded_values))
    scores = torch.einsum("bcxd,bcyd->bcxy", queries, keys)
    places = torch.arange(4)[:, None] + 4 - torch.arange(8)[None]
    scores = scores.masked_fill((places < 0) | (places >= 4), float("-inf"))
    return torch.einsum("bcxy,bcyd->bcxd", scores.softmax(-1), values).reshape(q.shape)


def by_bands(_, q, k, v):
    """As Longformer: scores of chunks are put into a band, and the weights are cut out of it."""
    batch, heads, length, width = q.shape
    queries, keys, values = (
        each.reshape(batch * heads, length // 4, 4, width) for each in (q, k, v)
    )
    scores = torch.einsum("bcxd,bcyd->bcxy", queries, keys)
    band = scores.new_zeros(batch * heads, length // 4, 4, 6)
    band[:, :, :, 1:5] = scores
    weights = band.masked_fill(band == 0, float("-inf")).softmax(-1)
    return torch.einsum("bcxy,bcyd->bcxd", weights[..., 1:5], values).reshape(q.shape)


def by_pads(_, q, k, v):
    scores = F.pad(scores_of(q, k), (1, 1))
    return F.pad(scores, (1, 1)).softmax(-1)[..., 2:-2] @ v


@pytest.mark.parametrize("attend", [by_chunks, by_bands, by_pads])
def test_a_sliding_window_is_attention_however_its_scores_are_moved(attend):
    captured = capture_module(Attention(attend), torch.zeros(2, 8, 32))
    names = [op_name(each) for each in captured.graph.op_ids.tolist()]
    assert names.count("attention") == 1
    assert {"softmax", "matmul", "masked_fill"}.isdisjoint(names)


def two_products(_, q, k, v):
    """Weights over the keys of two products: neither is attention by itself."""
    scores = torch.cat([scores_of(q, k), scores_of(q.flip(2), k)], -1).softmax(-1)
    return scores[..., : q.shape[2]] @ v + scores[..., q.shape[2] :] @ v


def part_of_weights(_, q, k, v):
    """What half of the keys get of a softmax over all: no attention to those."""
    half = q.shape[2] // 2
    return F.pad((scores_of(q, k).softmax(-1)[..., :half] @ v[:, :, :half]), (0, 0))


@pytest.mark.parametrize("attend", [two_products, part_of_weights])
def test_other_uses_of_a_softmax_stay_what_they_are(attend):
    captured = capture_module(Attention(attend), torch.zeros(2, 8, 32))
    names = [op_name(each) for each in captured.graph.op_ids.tolist()]
    assert "attention" not in names
