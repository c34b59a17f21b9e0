"""Building without weights, and without the time and memory of filling large tensors."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from nar.zoo.building import FILLS, weightless

# Elements from which on a tensor is left as it was allocated: memory that nobody writes is not
# taken. Chosen: the tables that constructors read, of positions and windows, are smaller.
_LARGE: Final = 1_000_000
# Elements from which on what is made lies on the meta device, as caches of keys and values do.
_HUGE: Final = 30_000_000
_FACTORIES: Final = frozenset({
    torch.empty, torch.full, torch.ones, torch.rand, torch.randn, torch.zeros,
})  # fmt: skip


@contextmanager
def lightly() -> Iterator[None]:
    """Inside, modules are made without weights; of large tensors no values are written."""
    with weightless(), _Lightly():
        yield


class _Lightly(TorchFunctionMode):
    """Leaves out fills of large tensors, and makes huge ones without memory."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function unless it only fills a large tensor."""
        named = dict(kwargs or {})
        if func in FILLS:
            filled = args[0] if args else named["tensor"]
            if isinstance(filled, Tensor) and filled.numel() > _LARGE:
                return filled
        elif func in _FACTORIES and _elements(args, named) > _HUGE:
            named["device"] = "meta"
        return func(*args, **named)


def _elements(args: tuple[Any, ...], named: Mapping[str, Any]) -> int:
    """How many elements a factory of tensors is asked for; 0 where its arguments do not tell."""
    sizes = args[0] if args and isinstance(args[0], tuple | list) else args
    sizes = named.get("size", sizes)
    is_whole = all(isinstance(size, int) for size in sizes)
    return math.prod(sizes) if is_whole and sizes else 0
