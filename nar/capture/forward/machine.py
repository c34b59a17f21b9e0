"""What a model finds on the machine that answers, in place of its owner's.

CUDA means where the weights are: there may be none. A group of processes has one member. The
operators of torchvision are there, where its C++ part does not fit this build of torch.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# Why a forward pass stops that wants another machine: no GPU, no group of processes, no C++ part.
_WANTED: Final = re.compile(
    r"not compiled with CUDA|NVIDIA driver|No CUDA GPUs|CUDA driver|process group has not been"
    r"|Cannot initialize CUDA|custom C\+\+ ops|torch\.cuda\."
)
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
def owners_machine() -> Iterator[None]:
    """Inside, code runs on the device of the weights that was written for CUDA or for a group."""
    replaced: tuple[tuple[object, str, object], ...] = (
        (Tensor, "cuda", _same),
        (nn.Module, "cuda", _same),
        (torch.cuda, "current_device", lambda: 0),
        (torch.cuda, "set_device", lambda _device: None),
        (torch.cuda, "synchronize", lambda _device=None: None),
        (
            torch.distributed,
            "get_rank",
            partial(_of_one, torch.distributed.get_rank, lambda *_, **__: 0),
        ),
        (
            torch.distributed,
            "get_world_size",
            partial(_of_one, torch.distributed.get_world_size, lambda *_, **__: 1),
        ),
        (torch.cuda, "empty_cache", lambda: None),
        *((torch.cuda, name, getattr(torch, name)) for name in _CUDA_TYPES),
        *((torch.distributed, name, stands) for name, stands in _ALONE.items()),
    )
    extension = sys.modules.get("torchvision.extension")
    if extension is not None:
        replaced = (*replaced, (extension, "_has_ops", lambda: True))
    with ExitStack() as stack:
        for holder, name, stands in replaced:
            stack.enter_context(patch.object(holder, name, stands))
        stack.enter_context(_WithoutCuda())
        yield


def _of_one(real: Callable[..., Any], alone: Callable[..., Any], *given: Any, **named: Any) -> Any:  # noqa: ANN401
    """The answer of a call of a group of processes, for the only process."""
    is_group = torch.distributed.is_initialized()
    return (real if is_group else alone)(*given, **named)


def _nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    """Of one process, its own tensor is what all have."""


def _gathered(given: Any, tensor: Tensor, *_: Any, **__: Any) -> None:  # noqa: ANN401
    """What all processes have is what the one has."""
    for each in given if isinstance(given, list) else [given]:
        each.copy_(tensor[0] if isinstance(tensor, list) else tensor)


_ALONE: Final[Mapping[str, Callable[..., Any]]] = {
    name: partial(_of_one, getattr(torch.distributed, name), alone)
    for alone, names in (
        (_nothing, ("all_reduce", "barrier", "broadcast", "reduce")),
        (
            _gathered,
            (
                "all_gather",
                "all_gather_into_tensor",
                "all_to_all_single",
                "reduce_scatter",
                "reduce_scatter_tensor",
            ),
        ),
    )
    for name in names
    if hasattr(torch.distributed, name)
}


def wants_another_machine(reason: str) -> bool:
    """Whether a forward pass stopped for want of a GPU, of a group of processes, or the like."""
    return bool(_WANTED.search(reason))


def _same(module_or_tensor: object, *_: object, **__: object) -> object:
    return module_or_tensor
