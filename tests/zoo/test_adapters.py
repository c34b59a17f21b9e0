"""Adapters of low rank (LoRA), captured for real: at inference they are the network they adapt."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from nar.capture import capture_module
from nar.graphs.fingerprints import same_at_inference, sameness
from nar.own import capture_architecture

ADAPTED_VIT = """
import timm
import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base, rank=8, alpha=16):
        super().__init__()
        self.base, self.scale = base, alpha / rank
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.scale * self.up(self.down(x))


def adapt(module, names):
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear) and name in names:
            setattr(module, name, Adapted(child))
        else:
            adapt(child, names)
    return module


def factory(names="qkv"):
    with torch.device("meta"):
        model = adapt(timm.create_model("vit_tiny_patch16_224"), names.split(","))
    return model, torch.zeros(1, 3, 224, 224)
"""


@pytest.mark.slow
def test_an_adapted_vision_transformer_is_the_one_of_timm(tmp_path):
    file = tmp_path / "adapted.py"
    file.write_text(ADAPTED_VIT)
    own = capture_architecture("timm:vit_tiny_patch16_224").architecture
    for names in ("qkv", "qkv,proj,fc1,fc2"):
        adapted = capture_architecture(f"{file}:factory({names!r})").architecture
        assert adapted.topology != own.topology
        assert sameness(adapted, own) == "inference"


class Layer(nn.Module):
    """One layer of a BERT, whose projections of query and value may be adapted."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.hidden = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.changes = nn.ModuleList(
            nn.Sequential(nn.Linear(width, rank), nn.Linear(rank, width))
            for _ in range(2 if rank else 0)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, value = self.query(x), self.value(x)
        if self.changes:
            query, value = query + self.changes[0](x), value + self.changes[1](x) * 0.5
        heads = [
            each.unflatten(-1, (4, -1)).transpose(1, 2) for each in (query, self.key(x), value)
        ]
        attended = scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        x = self.norms[0](x + self.out(attended))
        return self.norms[1](x + self.hidden(x))


def bert(rank: int = 0) -> nn.Module:
    return nn.Sequential(
        nn.Embedding(1000, 64), nn.LayerNorm(64), *(Layer(64, rank) for _ in range(3)),
        nn.Linear(64, 1000),
    )  # fmt: skip


def test_an_adapted_bert_is_the_one_it_adapts():
    words = torch.zeros(1, 16, dtype=torch.int64)
    own, adapted = (capture_module(bert(rank), words, name="bert").network for rank in (0, 4))
    assert adapted.graph.nodes > own.graph.nodes
    assert same_at_inference(adapted, own)
