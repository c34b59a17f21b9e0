"""Edit of positions: query and key are turned by them, where they were learned and added."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.editing.surgery import replace_modules, run_once
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.rewriting.spelled import Spelled, Spelling
from nar.capture import CaptureInputs
from nar.capture.torch_internals import registered_parameters
from nar.zoo.building import Built

# What libraries call positions that are learned and added to embeddings.
_NAMES = (
    "pos_embed", "pos_embedding", "position_embedding", "position_embeddings",
    "positional_embedding", "embed_positions", "wpe",
)  # fmt: skip
_BASE = 10_000.0


class _Nothing:
    """What is added in the place of positions: the sum is the other summand."""

    def __add__(self, other: Any) -> Any:  # noqa: ANN401
        return other

    __radd__ = __add__

    def __getitem__(self, _key: object) -> "_Nothing":
        return self

    def to(self, *_args: object, **_kwargs: object) -> "_Nothing":
        """As of a tensor."""
        return self

    expand = expand_as = type_as = repeat = unsqueeze = to


class _NoPositions(nn.Module):
    """Stands for an embedding of positions."""

    def forward(self, *_args: object, **_kwargs: object) -> _Nothing:
        """Nothing, whatever is asked for."""
        return _Nothing()


def rotary_positions(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Rotary positions in every self-attention, instead of learned ones that are added."""
    positions = {
        layer
        for name, layer in module.named_modules()
        if name.rpartition(".")[2] in _NAMES and _has_weights(layer)
    }
    replaced = replace_modules(module, lambda layer: _NoPositions() if layer in positions else None)
    for owner in module.modules():
        for name in _NAMES:
            if registered_parameters(owner).get(name) is not None:
                delattr(owner, name)
                setattr(owner, name, _Nothing())
                replaced += 1
    if not replaced:
        raise NotApplicableError("it learns no positions")
    attention = functional.scaled_dot_product_attention
    spelling = Spelling({attention: _turned_attention})
    turned = Spelled(module, spelling)
    run_once(turned, inputs, [])
    if attention not in spelling.called:
        raise NotApplicableError("its attention is no function that it calls itself")
    return turned, inputs


def _has_weights(layer: nn.Module) -> bool:
    return next(layer.parameters(), None) is not None


def _turned_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *args: Any,  # noqa: ANN401
    **kwargs: Any,  # noqa: ANN401
) -> Tensor:
    if query.shape[-2] == key.shape[-2]:
        query, key = _turned(query), _turned(key)
    return functional.scaled_dot_product_attention(query, key, value, *args, **kwargs)


def _turned(values: Tensor) -> Tensor:
    """Shape (..., positions, width): pairs of numbers turned by their position."""
    width = values.shape[-1] // 2 * 2
    position = torch.arange(values.shape[-2], device=values.device, dtype=values.dtype)
    rates = _BASE ** (-torch.arange(0, width, 2, device=values.device) / width)
    angles = torch.outer(position, rates.to(values.dtype)).repeat(1, 2)
    first, second = values.chunk(2, dim=-1)
    halves = torch.cat([-second, first], dim=-1)
    return values * angles.cos() + halves * angles.sin()
