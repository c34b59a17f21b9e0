"""Edits of attention: heads that share a key and value, positions that turn query and key."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.editing.surgery import at_home, replace_modules, run_once
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.rewriting.spelled import Spelled, Spelling
from nar.capture import CaptureInputs
from nar.capture.torch_internals import registered_parameters
from nar.zoo.building import Built

QUERIES_A_KEY = 4
# What libraries call the layers that make query, key and value, and the number of heads.
_LAYERS = (
    ("q_proj", "k_proj", "v_proj"),
    ("query", "key", "value"),
    ("to_q", "to_k", "to_v"),
    ("q_lin", "k_lin", "v_lin"),
    ("q", "k", "v"),
)
_HEADS = ("num_heads", "num_attention_heads", "n_heads", "heads", "h")
# What libraries call positions that are learned and added to embeddings.
_NAMES = (
    "pos_embed", "pos_embedding", "position_embedding", "position_embeddings",
    "positional_embedding", "embed_positions", "wpe",
)  # fmt: skip
_BASE = 10_000.0


def grouped_queries(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Four heads share one key and value, where each has its own."""
    owners = [owner for owner in module.modules() if _has_heads_of_its_own(owner)]
    if not owners:
        raise NotApplicableError("no attention that makes keys of its own for four heads or more")
    with at_home(module):
        for owner in owners:
            for layer in _projections(owner)[1:]:
                _share(layer, _heads(owner))
    return module, inputs


def _has_heads_of_its_own(owner: nn.Module) -> bool:
    layers, heads = _projections(owner), _heads(owner)
    widths = {layer.out_features for layer in layers}
    return len(widths) == 1 and heads >= QUERIES_A_KEY and not heads % QUERIES_A_KEY


def _projections(owner: nn.Module) -> list[nn.Linear]:
    """The layers that make query, key and value; none if the module has not all three."""
    for names in _LAYERS:
        layers = [getattr(owner, name, None) for name in names]
        linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
        if len(linear) == len(names):
            return linear
    return []


def _heads(owner: nn.Module) -> int:
    """Number of heads; 0 where a module does not say it, by itself or by its configuration."""
    config = getattr(owner, "config", None)
    numbers = (getattr(each, name, None) for each in (owner, config) for name in _HEADS)
    return next((number for number in numbers if isinstance(number, int)), 0)


def _share(layer: nn.Linear, heads: int) -> None:
    """Make a quarter of the keys or values, and hand each to four heads."""
    made = heads // QUERIES_A_KEY
    head_width, rest = divmod(layer.out_features, heads)
    if rest:
        raise NotApplicableError("its heads have no width in common")
    layer.out_features = made * head_width
    layer.weight = nn.Parameter(torch.empty(layer.out_features, layer.in_features))
    if layer.bias is not None:
        layer.bias = nn.Parameter(torch.empty(layer.out_features))

    def hand_out(_layer: nn.Module, _args: object, output: Tensor) -> Tensor:
        outer = output.shape[:-1]
        shared = output.reshape(*outer, made, 1, head_width)
        return shared.expand(*outer, made, QUERIES_A_KEY, head_width).reshape(*outer, -1)

    layer.register_forward_hook(hand_out)


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
