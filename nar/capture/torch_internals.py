"""Private interfaces of torch that capture stands on, in one place.

Torch does not promise to keep them. Whatever is private is imported from here, and
`tests/capture/test_torch_internals.py` says which of them a new version of torch has changed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.flex_attention import flex_attention as _flex_operator
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.nn.attention import flex_attention as _flex
from torch.utils._pytree import tree_map_only

__all__ = [
    "FAKE_TENSOR_LOGGER",
    "VARIABLE_FUNCTIONS",
    "FakeTensor",
    "FakeTensorMode",
    "OpOverload",
    "fake_mode",
    "flex_attention_in_the_open",
    "on_flex_attention",
    "tree_map_only",
    "unscripted",
]

# Functions of `torch.nn` that have no public name: recurrent layers, packed sequences.
VARIABLE_FUNCTIONS: Any = torch._C._VariableFunctions
FAKE_TENSOR_LOGGER = "torch._subclasses.fake_tensor"


def fake_mode() -> FakeTensorMode:
    """A mode of its own, whose numbers read from tensors are symbols."""
    return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)


def on_flex_attention(mode: type, record: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> None:
    """Under a dispatch mode, let ``record(mode, query, key, value, ...)`` answer the operator."""
    _flex_operator.py_impl(mode)(record)


@contextmanager
def flex_attention_in_the_open() -> Iterator[None]:
    """Let `flex_attention` call its operator itself, which it would compile, on any device."""
    before = _flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG, _flex._validate_device
    _flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    _flex._validate_device = lambda *_: None
    try:
        yield
    finally:
        _flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG, _flex._validate_device = before


@contextmanager
def unscripted() -> Iterator[None]:
    """Leave functions that would be compiled with TorchScript as they are."""
    is_on = torch.jit._state._enabled.enabled
    torch.jit._state.disable()
    try:
        yield
    finally:
        if is_on:
            torch.jit._state.enable()
