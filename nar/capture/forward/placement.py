"""Where a forward pass runs: on meta tensors, on fake tensors, or on real ones."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import chain
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn.parameter import is_lazy

import nar.capture.torch_internals as internals
from nar.capture.record import CaptureInputs
from nar.capture.values import shape_of

_META = torch.device("meta")


@dataclass(frozen=True, slots=True)
class Placement:
    """How to run a module.

    Attributes:
        contexts: Context managers to be active around the forward pass.
        move: Brings one tensor to the device of the weights.
        state: Tensors that stand in for parameters and buffers, by name.
    """

    contexts: tuple[AbstractContextManager[Any], ...] = ()
    move: Callable[[Tensor], Tensor] = lambda tensor: tensor
    state: Mapping[str, Tensor] = field(default_factory=dict)

    def call(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """One forward pass with the stand-ins in place."""
        if not self.state:
            return cast("object", module(*args, **kwargs))
        result: object = torch.func.functional_call(module, dict(self.state), args, kwargs)
        return result

    def inputs(self, inputs: CaptureInputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments and keyword arguments, their tensors moved."""
        moved: tuple[tuple[Any, ...], dict[str, Any]] = internals.tree_map_only(
            Tensor, self.move, (inputs.args, dict(inputs.kwargs))
        )
        return moved


def placements(
    module: nn.Module, inputs: CaptureInputs, *, is_run: bool = False
) -> Iterator[Placement]:
    """Ways to run a module, the fastest first, chosen by its weights, or by its inputs without any.

    Meta tensors are twice as fast as fake tensors; fake tensors bear constants that have a device.
    Control flow can read values only where all tensors are real, which takes memory and time.

    Args:
        module: The module.
        inputs: The call of the module.
        is_run: Whether real weights are used right away.
    """
    every = chain(module.named_parameters(), module.named_buffers())
    owned = {name: tensor for name, tensor in every if not is_lazy(tensor)}
    given = list(flat_tensors((inputs.args, inputs.kwargs)))
    known = (*owned.values(), *given)
    fakes = [tensor for tensor in known if isinstance(tensor, internals.FakeTensor)]
    is_real = not fakes and not any(tensor.is_meta for tensor in known)
    if not is_real:
        yield from _weightless(owned, given, fakes)
        return
    if not is_run and all(map(_is_plain, known)):
        yield Placement((_META,), _to_meta, {name: _to_meta(owned[name]) for name in owned})
        mode = internals.fake_mode()
        fakes_of = {name: _faker(mode, owned[name].device)(owned[name]) for name in owned}
        yield Placement((mode,), _faker(mode, None), fakes_of)
    yield Placement((_Unwritten(list(module.buffers())),), _writable)


def _weightless(
    owned: Mapping[str, Tensor], given: list[Tensor], fakes: list[internals.FakeTensor]
) -> Iterator[Placement]:
    """Ways to run a module whose weights or inputs have no memory, in part or all."""
    deciding = list(owned.values()) or given
    if not fakes and all(map(_is_meta, deciding)):
        yield Placement((_META,), lambda tensor: tensor.to(_META))
    mode = fakes[0].fake_mode if fakes else internals.fake_mode()
    if any(map(_is_meta, deciding)):
        move = _faker(mode, _META)
        # Converting a real meta tensor takes milliseconds, making a fake one microseconds.
        yield Placement((_META, mode), move, {name: move(owned[name]) for name in owned})
    else:
        yield Placement((mode,), _faker(mode, deciding[0].device))


def _is_meta(tensor: Tensor) -> bool:
    return tensor.is_meta and not isinstance(tensor, internals.FakeTensor)


def _is_plain(tensor: Tensor) -> bool:
    """Whether an empty tensor can stand for a tensor."""
    kinds = (Tensor, nn.Parameter, nn.Buffer)
    return type(tensor) in kinds and tensor.layout is torch.strided and not tensor.is_quantized


def _writable(tensor: Tensor) -> Tensor:
    """A tensor, or a copy of it where its elements share memory."""
    is_shared = tensor.layout is torch.strided and 0 in tensor.stride()
    return tensor.contiguous() if is_shared else tensor


def _to_meta(tensor: Tensor) -> Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device=_META)


def _faker(
    mode: internals.FakeTensorMode, device: torch.device | None
) -> Callable[[Tensor], Tensor]:
    """A function that makes fake tensors on a device, by default on the device of each tensor."""

    def move(tensor: Tensor) -> Tensor:
        if isinstance(tensor, internals.FakeTensor) and tensor.fake_mode is mode:
            return tensor
        with mode:
            return torch.empty(shape_of(tensor), dtype=tensor.dtype, device=device or tensor.device)

    return move


class _Unwritten:
    """Gives buffers the values back that a real forward pass overwrote; for any number of passes.

    Args:
        buffers: Buffers of the module.
    """

    def __init__(self, buffers: Sequence[Tensor]) -> None:
        self._buffers = buffers

    def __enter__(self) -> None:
        self._before = [
            (buffer, internals.writes_so_far(buffer), buffer.clone()) for buffer in self._buffers
        ]

    def __exit__(self, *_: object) -> None:
        for buffer, writes, values in self._before:
            if internals.writes_so_far(buffer) != writes:
                buffer.copy_(values)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the log of fake tensors: its tracebacks repeat errors that are raised anyway."""
    logger = logging.getLogger(internals.FAKE_TENSOR_LOGGER)
    was_disabled = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = was_disabled


def _evaluating(module: nn.Module) -> None:
    """Set evaluation mode, but for exported programs: they keep the mode they were exported in."""
    try:
        module.eval()
    except NotImplementedError:
        # `eval` stops at the first exported program; the modules after that are set one by one.
        for child in module.modules():
            with suppress(NotImplementedError):
                child.eval()


@contextmanager
def inference(module: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients, fused encoder layers or checks of values; all restored."""
    training = [child for child in module.modules() if child.training]
    is_fast = torch.backends.mha.get_fastpath_enabled()
    is_checked = internals.are_distributions_checked()
    torch.backends.mha.set_fastpath_enabled(False)
    Distribution.set_default_validate_args(False)
    try:
        _evaluating(module)
        # Where it is installed, opt_einsum would choose the order of products by their sizes.
        in_order = torch.backends.opt_einsum.flags(enabled=False)
        with torch.no_grad(), internals.flex_attention_in_the_open(), in_order:
            yield
    finally:
        Distribution.set_default_validate_args(is_checked)
        torch.backends.mha.set_fastpath_enabled(is_fast)
        for child in training:
            child.training = True


def flat_tensors(value: object) -> Iterator[Tensor]:
    """Every tensor in a nest of sequences, mappings and dataclasses, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from _flat(value.values())
    elif isinstance(value, list | tuple | set):
        yield from _flat(value)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _flat(getattr(value, field.name) for field in fields(value))
    elif hasattr(value, "__dict__"):  # a distribution, or an output class of the user's own
        yield from (part for part in vars(value).values() if isinstance(part, Tensor))


def _flat(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        yield from flat_tensors(value)
