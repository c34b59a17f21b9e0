"""Building without initialisation: where weights have no values, nobody has to fill them.

On the meta device torch still works out every step of a truncated normal: most of the time that a
vision transformer takes to build.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor
from torch.nn import init
from torch.overrides import TorchFunctionMode

# What initialisers are made of, and those that torch hands over whole. Each returns the tensor that
# it was called on.
FILLS = frozenset({
    init.constant_, init.kaiming_uniform_, init.normal_, init.uniform_,
    Tensor.add_, Tensor.bernoulli_, Tensor.clamp_, Tensor.div_, Tensor.erfinv_,
    Tensor.exponential_, Tensor.fill_, Tensor.mul_, Tensor.normal_, Tensor.sub_, Tensor.uniform_,
    Tensor.zero_,
})  # fmt: skip


class Uninitialised(TorchFunctionMode):
    """Leaves meta tensors as they are when something would fill them in place."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function unless it fills a tensor that has no values."""
        if func in FILLS:
            tensor: Tensor = args[0] if args else (kwargs or {})["tensor"]
            if tensor.is_meta:
                return tensor
        return func(*args, **(kwargs or {}))
