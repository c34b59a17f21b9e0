"""Rewrites of attention: eager instead of fused, three linear layers instead of one packed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.rewriting.rewrite import NotApplicableError, Original, Rewrite, captured
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import op_id
from nar.zoo.building import Built
from nar.zoo.libraries import import_library


def attention_rewrites() -> tuple[Rewrite, ...]:
    """The same attention, by other operators."""
    return (
        Rewrite("eager_attention", "equal", eager),
        Rewrite("unpacked_qkv", "equal", unpacked),
    )


def eager(original: Original) -> ComputationalGraph:
    """Attention by two products and a softmax, as the library itself writes it."""
    if op_id("attention") not in original.architecture.graph.op_ids:
        raise NotApplicableError("no attention in it")
    module, inputs = _EAGER[original.library](original)
    return captured(original.name, module, inputs)


def _eager_timm(original: Original) -> Built:
    with _unfused():
        module, inputs = original.build()
    fused, _ = original.build()
    if not any(getattr(child, "fused_attn", False) for child in fused.modules()):
        raise NotApplicableError("its attention has no fused form")
    return module, inputs


@contextmanager
def _unfused() -> Iterator[None]:
    layers = import_library("timm.layers")
    layers.set_fused_attn(False)
    try:
        yield
    finally:
        layers.set_fused_attn(True)


def _eager_transformers(original: Original) -> Built:
    fused, _ = original.build()
    config: Any = fused.config
    if config._attn_implementation == "eager":
        raise NotApplicableError("its attention has no fused form")
    return original.build(attn_implementation="eager")


def _eager_torchvision(original: Original) -> Built:
    module, inputs = original.build()
    layers = [child for child in module.modules() if isinstance(child, nn.MultiheadAttention)]
    if not layers:
        raise NotApplicableError("its attention has no fused form")
    for layer in layers:
        layer.register_forward_pre_hook(_ask_for_weights, with_kwargs=True)
    return module, inputs


def _ask_for_weights(
    _layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Who asks for the weights of attention gets it unfused."""
    return args, {**kwargs, "need_weights": True}


_EAGER = {
    "timm": _eager_timm,
    "torchvision": _eager_torchvision,
    "transformers": _eager_transformers,
}


def unpacked(original: Original) -> ComputationalGraph:
    """Query, key and value each by a linear layer of its own."""
    module, inputs = original.build()
    packed = [
        (parent, name, _unpacker(child))
        for parent in module.modules()
        for name, child in parent.named_children()
    ]
    replacements = [(parent, name, layer) for parent, name, layer in packed if layer is not None]
    if not replacements:
        raise NotApplicableError("no packed linear layer of timm or torch in its attention")
    for parent, name, layer in replacements:
        parent.add_module(name, layer)
    return captured(original.name, module, inputs)


def _unpacker(layer: nn.Module) -> nn.Module | None:
    make = _UNPACKED.get(f"{type(layer).__module__}.{type(layer).__qualname__}")
    return None if make is None else make(layer)


class ThreeLinears(nn.Module):
    """The layers that make query, key and value, each on its own.

    Args:
        width: Of their input.
        inner: Of each output.
        bias: Whether they have one.
    """

    def __init__(self, width: int, inner: int, *, bias: bool) -> None:
        super().__init__()
        with torch.device("meta"):
            self.query = nn.Linear(width, inner, bias=bias)
            self.key = nn.Linear(width, inner, bias=bias)
            self.value = nn.Linear(width, inner, bias=bias)

    def heads(self, x: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value, (batch, heads, tokens, width of a head) each."""
        batch, tokens, _ = x.shape

        def split(layer: nn.Linear) -> Tensor:
            made: Tensor = layer(x)
            return made.reshape(batch, tokens, heads, -1).transpose(1, 2)

        return split(self.query), split(self.key), split(self.value)


class UnpackedTimm(nn.Module):
    """timm's attention of vision transformers, unpacked.

    Args:
        packed: The layer it stands for.
    """

    def __init__(self, packed: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.packed = packed
        self.layers = ThreeLinears(
            packed.qkv.in_features, packed.attn_dim, bias=packed.qkv.bias is not None
        )
        packed.qkv = None

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """As the packed layer."""
        packed = self.packed
        query, key, value = self.layers.heads(x, packed.num_heads)
        query, key = packed.q_norm(query), packed.k_norm(key)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=attn_mask, is_causal=is_causal
        )
        joined = packed.norm(mixed.transpose(1, 2).flatten(2))
        gated = joined if packed.gate is None else joined * packed.gate(x).sigmoid()
        result: Tensor = packed.proj(gated)
        return result


class UnpackedTorch(nn.Module):
    """torch's self-attention, batch first and without a mask, unpacked.

    Args:
        packed: The layer it stands for.
    """

    def __init__(self, packed: nn.MultiheadAttention) -> None:
        super().__init__()
        width, bias = packed.embed_dim, packed.in_proj_bias is not None
        self.layers = ThreeLinears(width, width, bias=bias)
        self.out_proj = packed.out_proj
        self._heads = packed.num_heads

    def forward(self, x: Tensor, *_others: Tensor, **_options: object) -> tuple[Tensor, None]:
        """As the packed layer whose query, key and value are the same."""
        mixed = functional.scaled_dot_product_attention(*self.layers.heads(x, self._heads))
        return self.out_proj(mixed.transpose(1, 2).flatten(2)), None


_UNPACKED: dict[str, Callable[[Any], nn.Module]] = {
    "timm.layers.attention.Attention": UnpackedTimm,
    "torch.nn.modules.activation.MultiheadAttention": UnpackedTorch,
}
