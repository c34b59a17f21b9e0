"""Edit of the heads of attention: several of them share one key and value."""

import torch
from torch import Tensor, nn

from benchmark.editing.surgery import at_home
from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture import CaptureInputs
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
