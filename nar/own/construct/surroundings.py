"""What a user's code finds on the machine that answers, in place of its owner's.

CUDA means where the weights are: there may be none. A group of processes has one member. Parsers of
command lines are given no arguments, and require none.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_CUDA_TYPES: Final = (
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
    "HalfTensor", "IntTensor", "LongTensor", "ShortTensor",
)  # fmt: skip
_TYPE_OF_CUDA = re.compile(r"^torch\.cuda\.")


class _WithoutCuda(TorchFunctionMode):
    """Leaves out each device of CUDA that a call names: what is made lies with the weights."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function without its device of CUDA."""
        named = dict(kwargs or {})
        if _is_cuda(named.get("device")):
            del named["device"]
        if func is Tensor.to:
            return _moved(args, named)
        if func is Tensor.type and len(args) > 1 and isinstance(args[1], str):
            args = (args[0], _TYPE_OF_CUDA.sub("torch.", args[1]), *args[2:])
        return func(*args, **named)


def _moved(args: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """A tensor after `Tensor.to`, whose device of CUDA is left out."""
    tensor, *rest = args
    # An index of a device stands where a type or another tensor may stand as well.
    if rest and (_is_cuda(rest[0]) or (isinstance(rest[0], int) and not isinstance(rest[0], bool))):
        rest = rest[1:]
    types = [each for each in rest if isinstance(each, torch.dtype)]
    if types:
        named["dtype"] = types[0]
    if rest and not types and not isinstance(rest[0], bool | type(None)):
        return Tensor.to(tensor, *rest, **named)
    named = {key: value for key, value in named.items() if key != "non_blocking"}
    return Tensor.to(tensor, **named) if named else tensor


def _is_cuda(device: object) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    if isinstance(device, bool):
        return False
    return isinstance(device, int) or (isinstance(device, str) and device.startswith("cuda"))


@contextmanager
def cuda_where_the_weights_are() -> Iterator[None]:
    """Inside, code that was written for CUDA runs on the device of the weights."""
    replaced: tuple[tuple[object, str, object], ...] = (
        (Tensor, "cuda", _same),
        (nn.Module, "cuda", _same),
        (torch.cuda, "current_device", lambda: 0),
        (torch.cuda, "set_device", lambda _device: None),
        (torch.cuda, "synchronize", lambda _device=None: None),
        (torch.distributed, "get_rank", _of_one(torch.distributed.get_rank, 0)),
        (torch.distributed, "get_world_size", _of_one(torch.distributed.get_world_size, 1)),
        (torch.cuda, "empty_cache", lambda: None),
        *((torch.cuda, name, getattr(torch, name)) for name in _CUDA_TYPES),
    )
    with ExitStack() as stack:
        for holder, name, stands in replaced:
            stack.enter_context(patch.object(holder, name, stands))
        stack.enter_context(_WithoutCuda())
        yield


def _of_one(real: Callable[..., int], alone: int) -> Callable[..., int]:
    """A question about a group of processes, answered for the one that there is."""

    def answer(*args: Any, **kwargs: Any) -> int:  # noqa: ANN401
        is_group = torch.distributed.is_initialized()
        return real(*args, **kwargs) if is_group else alone

    return answer


def _same(module_or_tensor: object, *_: object, **__: object) -> object:
    return module_or_tensor


@contextmanager
def parsers_without_arguments() -> Iterator[None]:
    """Inside, every ``parse_args`` gives the defaults."""
    real = ArgumentParser.parse_known_args

    def known(
        self: ArgumentParser,
        args: Sequence[str] | None = None,
        namespace: Namespace | None = None,
    ) -> tuple[Namespace, list[str]]:
        for action in self._actions:
            action.required = False
            # A required positional argument is asked for by its number.
            if not action.option_strings and action.nargs is None:
                action.nargs = "?"
        return real(self, [] if args is None else args, namespace)

    def whole(
        self: ArgumentParser,
        args: Sequence[str] | None = None,
        namespace: Namespace | None = None,
    ) -> Namespace:
        return known(self, args, namespace)[0]

    with (
        patch.object(ArgumentParser, "parse_known_args", known),
        patch.object(ArgumentParser, "parse_args", whole),
    ):
        yield
