"""Models whose library functions are written out: every call of some function goes elsewhere."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from benchmark.rewriting.rewrite import NotApplicableError, Original, Rewrite, captured
from nar.graphs.graph import ComputationalGraph

Function = Callable[..., Any]
_SOFTMAX: tuple[Function, ...] = (functional.softmax, torch.softmax, Tensor.softmax)


def linear_by_matmul(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ W.T + b``."""
    product = x @ weight.T
    return product if bias is None else product + bias


def linear_by_addmm(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """One product of matrices: all rows flattened, then unflattened."""
    rows = x.reshape(-1, x.shape[-1])
    product = rows.mm(weight.t()) if bias is None else torch.addmm(bias, rows, weight.t())
    return product.reshape(*x.shape[:-1], weight.shape[0])


def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Centred, divided by the standard deviation, scaled, shifted."""
    axes = tuple(range(-len(normalized_shape), 0))
    centred = x - x.mean(axes, keepdim=True)
    variance = (centred * centred).mean(axes, keepdim=True)
    return _affine(centred / torch.sqrt(variance + eps), weight, bias)


def rms_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divided by the root of the mean square, scaled."""
    axes = tuple(range(-len(normalized_shape), 0))
    return _affine(x * torch.rsqrt(x.pow(2).mean(axes, keepdim=True) + (eps or 1e-6)), weight, None)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Centred and scaled in groups of channels."""
    groups = x.reshape(x.shape[0], num_groups, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    variance = centred.pow(2).mean(-1, keepdim=True)
    normal = (centred / torch.sqrt(variance + eps)).reshape(x.shape)
    return _affine(normal, _by_channel(weight, x), _by_channel(bias, x))


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """With fixed statistics: shifted and scaled channel by channel."""
    mean, variance = _by_channel(running_mean, x), _by_channel(running_var, x)
    if training or mean is None or variance is None:
        return functional.batch_norm(
            x, running_mean, running_var, weight, bias, training, momentum, eps
        )
    normal = (x - mean) / torch.sqrt(variance + eps)
    return _affine(normal, _by_channel(weight, x), _by_channel(bias, x))


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    scaled = x if weight is None else x * weight
    return scaled if bias is None else scaled + bias


def _by_channel(vector: Tensor | None, x: Tensor) -> Tensor | None:
    return None if vector is None else vector.reshape(1, -1, *[1] * (x.dim() - 2))


def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """With the error function, or with tanh of a cubic."""
    if approximate == "none":
        return 0.5 * x * (1.0 + torch.erf(x / 2**0.5))
    return 0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


def silu(x: Tensor, inplace: bool = False) -> Tensor:
    """A value times its own sigmoid."""
    return x * torch.sigmoid(x)


def hard_swish(x: Tensor, inplace: bool = False) -> Tensor:
    """A value times its own clipped line."""
    return x * functional.relu6(x + 3.0) / 6.0


def softmax(x: Tensor, dim: int, *_ignored: object, **_options: object) -> Tensor:
    """Exponentials over their sum."""
    powers = torch.exp(x - x.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Scores, mask, softmax, weighted sum."""
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = (part.repeat_interleave(repeats, -3) for part in (key, value))
    scores = query @ key.transpose(-2, -1) * (scale or query.shape[-1] ** -0.5)
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1) @ value


# Name -> the calls that are replaced, and by what.
_SPELLINGS: dict[str, tuple[tuple[Function, ...], Function]] = {
    "linear_as_matmul": ((functional.linear,), linear_by_matmul),
    "linear_as_addmm": ((functional.linear,), linear_by_addmm),
    "layer_norm_by_hand": ((functional.layer_norm,), layer_norm),
    "rms_norm_by_hand": ((functional.rms_norm,), rms_norm),
    "group_norm_by_hand": ((functional.group_norm,), group_norm),
    "batch_norm_by_hand": ((functional.batch_norm,), batch_norm),
    "gelu_by_hand": ((functional.gelu,), gelu),
    "silu_by_hand": ((functional.silu,), silu),
    "hard_swish_by_hand": ((functional.hardswish,), hard_swish),
    "softmax_by_hand": (_SOFTMAX, softmax),
    "attention_by_hand": ((functional.scaled_dot_product_attention,), attention),
}


class Spelling(TorchFunctionMode):
    """Sends the calls of some functions to another one.

    Args:
        replacements: Function -> what takes the same arguments in its place.

    Attributes:
        called: Every function that was called, replaced or not.
    """

    def __init__(self, replacements: Mapping[Function, Function]) -> None:
        super().__init__()
        self.called: set[Function] = set()
        self._replacements = replacements

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Call the function, or what replaces it."""
        self.called.add(func)
        return self._replacements.get(func, func)(*args, **(kwargs or {}))


class Spelled(nn.Module):
    """A module whose forward runs under a spelling.

    Args:
        module: The module.
        spelling: Replaces some of its calls.
    """

    def __init__(self, module: nn.Module, spelling: Spelling) -> None:
        super().__init__()
        self.module = module
        self._spelling = spelling

    def forward(self, *args: object, **kwargs: object) -> object:
        """The module's own forward."""
        with self._spelling:
            return self.module(*args, **kwargs)


def spellings() -> tuple[Rewrite, ...]:
    """One rewrite for every function that is written out."""
    return tuple(Rewrite(name, "equal", _speller(name)) for name in _SPELLINGS)


def _speller(name: str) -> Callable[[Original], ComputationalGraph]:
    replaced, replacement = _SPELLINGS[name]

    def apply(original: Original) -> ComputationalGraph:
        if _called(original).isdisjoint(replaced):
            raise NotApplicableError(f"it never calls {replaced[0].__name__}")
        module, inputs = original.build()
        spelling = Spelling(dict.fromkeys(replaced, replacement))
        return captured(original.name, Spelled(module, spelling), inputs)

    return apply


@lru_cache(maxsize=1)
def _called(original: Original) -> frozenset[Function]:
    """Every function that a model calls: one forward pass serves all spellings."""
    module, inputs = original.build()
    spelling = Spelling({})
    captured(original.name, Spelled(module, spelling), inputs)
    return frozenset(spelling.called)
