"""Where a forward pass runs: on meta tensors, on fake ones, or for real."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import chain
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._pytree import tree_map_only

from nar.capture.record import CaptureInputs
from nar.capture.values import shape_of


@dataclass(frozen=True, slots=True)
class Placement:
    """How to run a module.

    Attributes:
        contexts: To be active around the forward pass.
        move: Brings one tensor to where the weights are.
        state: Stands in for parameters and buffers, by name.
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
        moved: tuple[tuple[Any, ...], dict[str, Any]] = tree_map_only(
            Tensor, self.move, (inputs.args, dict(inputs.kwargs))
        )
        return moved


def placements(module: nn.Module, inputs: CaptureInputs) -> Iterator[Placement]:
    """Ways to run a module, the fastest first. They follow its weights, or its inputs without any.

    Meta tensors are twice as fast as fake ones; fake ones let control flow read values.
    """
    owned = dict(chain(module.named_parameters(), module.named_buffers()))
    given = list(flat_tensors((inputs.args, inputs.kwargs)))
    deciding = list(owned.values()) or given
    every = (*deciding, *given)
    fakes = [tensor for tensor in every if isinstance(tensor, FakeTensor)]
    if not fakes and not any(tensor.is_meta for tensor in every):
        yield Placement()
        return
    meta = torch.device("meta")
    if not fakes and all(_is_meta(tensor) for tensor in deciding):
        yield Placement((meta,), lambda tensor: tensor.to(meta))
    mode = fakes[0].fake_mode if fakes else fake_mode()
    if any(_is_meta(tensor) for tensor in deciding):
        move = _faker(mode, meta)
        # Converting a real meta tensor takes milliseconds, making a fake one microseconds.
        yield Placement((meta, mode), move, {name: move(owned[name]) for name in owned})
    else:
        yield Placement((mode,), _faker(mode, deciding[0].device))


def _is_meta(tensor: Tensor) -> bool:
    return tensor.is_meta and not isinstance(tensor, FakeTensor)


def fake_mode() -> FakeTensorMode:
    """A mode of its own, whose numbers read from tensors are symbols."""
    return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)


def _faker(mode: FakeTensorMode, device: torch.device) -> Callable[[Tensor], Tensor]:
    def move(tensor: Tensor) -> Tensor:
        if isinstance(tensor, FakeTensor) and tensor.fake_mode is mode:
            return tensor
        with mode:
            return torch.empty(shape_of(tensor), dtype=tensor.dtype, device=device)

    return move


@contextmanager
def quiet() -> Iterator[None]:
    """Fake tensors log the traceback of every failing operator; the error raised says enough."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    was_disabled = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = was_disabled


@contextmanager
def inference(module: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients and without fused encoder layers; all restored after."""
    modes = [(child, child.training) for child in module.modules()]
    is_fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(is_fast)
        for child, is_training in modes:
            child.training = is_training


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


def _flat(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        yield from flat_tensors(value)
