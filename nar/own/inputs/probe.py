"""One run of a module with inputs that may be wrong, after which the module is as it was."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.capture.forward.placement import Placement, flat_tensors, inference, placements, quiet
from nar.capture.forward.untouched import has_lazy, renew_lazy, untouched
from nar.own.clock import Deadline, ending
from nar.own.inputs.calls import (
    Outcome,
    RefusedCallError,
    RunningModule,
    RunRecord,
    TorchCall,
    mark,
    sources_of,
    tensors_in,
)
from nar.own.inputs.layers import OVER_SEQUENCES
from nar.own.inputs.slots import State, call_of, tensors_of

# Chosen: parameters of a module that runs for real in a second or two on two cores.
_LARGEST_REAL: Final = 3 * 10**8
_AXES_OF_SEQUENCES = 3  # with the batch
# What torch says where a run without data fails and one with data may not.
_WANTS_DATA: Final = re.compile(
    r"\bmeta\b|fake|on different devices|same device|data.?dependent|\.item\(\)|"
    r"could not run|is_nonzero|unbacked|numpy|symint|registercomposite|internal assert|"
    r"not allocated|always be on cpu|should be .* cpu",
    re.IGNORECASE,
)


def wants_data(error: BaseException | None) -> bool:
    """Whether an error comes of running without data, and not of the inputs."""
    if error is None or isinstance(error, RefusedCallError):
        return False
    return _WANTS_DATA.search(f"{type(error).__name__} {error}") is not None


class Prober:
    """Runs a module, without data first, and remembers which placement its forward bears.

    Args:
        module: The module, on any device.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._paths = {id(layer): path for path, layer in module.named_modules()}
        self._first = 0
        weights = (weight.numel() for weight in _made_parameters(module).values())
        self._may_be_real = sum(weights) <= _LARGEST_REAL
        self._has_data = not any(weight.is_meta for weight in module.parameters())

    def lacks_data(self, error: BaseException) -> bool:
        """Whether an error would not be there if the weights of the module had values."""
        return not self._has_data and wants_data(error)

    def run(self, state: State, deadline: Deadline, *, is_strict: bool) -> Outcome:
        """One run.

        Args:
            state: The inputs.
            deadline: When it has to end.
            is_strict: Whether unbatched calls are refused.

        Raises:
            OutOfTimeError: The deadline is over.
        """
        outcome = Outcome(error=RuntimeError("nowhere to run it"))
        inputs = call_of(state)
        for number, placement in enumerate(placements(self._module, inputs)):
            is_real = not placement.state and torch.device("meta") not in placement.contexts
            if number < self._first or (is_real and number and not self._may_be_real):
                continue
            before = outcome
            outcome = self._run_in(placement, state, inputs, deadline, is_strict, number)
            if outcome.is_ok or (before.calls and len(outcome.calls) > len(before.calls)):
                self._first = number
            if outcome.is_ok or not wants_data(outcome.error):
                break
        return outcome

    def _run_in(
        self,
        placement: Placement,
        state: State,
        inputs: CaptureInputs,
        deadline: Deadline,
        is_strict: bool,
        number: int,
    ) -> Outcome:
        owned = {id(tensor): name for name, tensor in _made_parameters(self._module).items()}
        owned |= {id(tensor): name for name, tensor in self._module.named_buffers()}
        owned |= {id(tensor): name for name, tensor in placement.state.items()}
        record = RunRecord(owned, deadline, is_strict=is_strict)
        error: BaseException | None = None
        with untouched(self._module) as children:
            if has_lazy(children):
                renew_lazy(children, "meta" if placement.contexts else "cpu")
            args, kwargs = placement.inputs(inputs)
            given = flat_tensors((args, kwargs))
            for each, tensor in zip(tensors_of(state), given, strict=False):
                mark([tensor], frozenset([each.path]))
            # The user's forward can raise anything, and any of it says something of the inputs.
            try:
                with ExitStack() as stack:
                    for context in (
                        ending(deadline),
                        self._watched(record, is_strict=is_strict),
                        quiet(),
                        inference(self._module),
                        *placement.contexts,
                        record,
                    ):
                        stack.enter_context(context)
                    result = placement.call(self._module, args, kwargs)
                if not any(True for _ in flat_tensors(result)):
                    error = ValueError("no tensor came out of forward")
                    record.failing = None
            except (Exception, SystemExit) as raised:
                error = raised
        return Outcome(
            tuple(record.calls),
            error,
            record.failing,
            record.layers[-1] if record.layers else None,
            record.first_uses,
            frozenset(record.used),
            number,
        )

    @contextmanager
    def _watched(self, record: RunRecord, *, is_strict: bool) -> Iterator[None]:
        """Inside, the record knows which module runs, and what it was called with."""

        def enter(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            tensors = [*tensors_in(args), *tensors_in(kwargs)]
            shapes = tuple(tuple(tensor.shape) for tensor in tensors)
            sources = tuple(map(sources_of, tensors))
            path = self._paths.get(id(layer), "?")
            record.layers.append(RunningModule(layer, path, shapes, sources))
            if isinstance(layer, OVER_SEQUENCES) and sources and sources[0]:
                call = TorchCall(type(layer).__name__, path, 0, shapes, sources)
                for source in sources[0]:
                    record.first_uses.setdefault(source, call)
                is_packed = any(isinstance(each, nn.utils.rnn.PackedSequence) for each in args)
                if is_strict and not is_packed and len(shapes[0]) != _AXES_OF_SEQUENCES:
                    raise RefusedCallError("wanted 3 axes with the batch")
            # A cell that is opaque does not look at the width of its input.
            is_cell = isinstance(layer, nn.RNNCellBase) and bool(shapes) and bool(shapes[0])
            if is_cell and shapes[0][-1] != layer.input_size:
                raise RefusedCallError(f"wanted a width of {layer.input_size}")

        def leave(_layer: nn.Module, _args: object, _result: object) -> None:
            if record.layers:
                record.layers.pop()

        hooks = []
        for layer in self._module.modules():
            # Compiled modules take no hooks.
            with suppress(RuntimeError, AttributeError):
                hooks.append(layer.register_forward_pre_hook(enter, with_kwargs=True))
                hooks.append(layer.register_forward_hook(leave))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _made_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters of a module that have a shape."""
    return {
        name: weight
        for name, weight in module.named_parameters()
        if not isinstance(weight, nn.parameter.UninitializedParameter)
    }
