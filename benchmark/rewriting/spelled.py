"""Models whose library functions are written out: every call of some function goes elsewhere."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from benchmark.rewriting import functions
from benchmark.rewriting.functions import Function
from benchmark.rewriting.originals import Original, captured
from benchmark.rewriting.rewrite import NotApplicableError, Rewrite
from nar.graphs.graph import ComputationalGraph

_SOFTMAX: tuple[Function, ...] = (functional.softmax, torch.softmax, Tensor.softmax)

# Name -> the calls that are replaced, and by what.
_SPELLINGS: dict[str, tuple[tuple[Function, ...], Function]] = {
    "linear_as_matmul": ((functional.linear,), functions.linear_by_matmul),
    "linear_as_addmm": ((functional.linear,), functions.linear_by_addmm),
    "layer_norm_by_hand": ((functional.layer_norm,), functions.layer_norm),
    "rms_norm_by_hand": ((functional.rms_norm,), functions.rms_norm),
    "group_norm_by_hand": ((functional.group_norm,), functions.group_norm),
    "batch_norm_by_hand": ((functional.batch_norm,), functions.batch_norm),
    "gelu_by_hand": ((functional.gelu,), functions.gelu),
    "silu_by_hand": ((functional.silu,), functions.silu),
    "hard_swish_by_hand": ((functional.hardswish,), functions.hard_swish),
    "softmax_by_hand": (_SOFTMAX, functions.softmax),
    "attention_by_hand": ((functional.scaled_dot_product_attention,), functions.attention),
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
