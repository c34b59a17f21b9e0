"""One run of a module with inputs that may be wrong, after which the module is as it was."""

import re
from collections.abc import Iterator, Sequence
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
    ProbeRecord,
    RefusedCallError,
    TorchCall,
    mark,
    tensors_of_call,
)
from nar.own.inputs.layers import OVER_SEQUENCES
from nar.own.inputs.slots import State, call_of, tensors_of

# Chosen: parameters of a module that runs for real in a second or two on two cores.
_LARGEST_REAL: Final = 3 * 10**8
# Layers that are opaque: what they are called with says what they want, before they run.
_OPAQUE: Final = (*OVER_SEQUENCES, nn.RNNCellBase)
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
        made = _made_parameters(module)
        self._owned = {
            id(tensor): name for name, tensor in (*made.items(), *module.named_buffers())
        }
        self._may_be_real = sum(weight.numel() for weight in made.values()) <= _LARGEST_REAL
        self._has_data = not any(weight.is_meta for weight in module.parameters())
        # Inputs of a search have memory, so that the weights alone decide where a run may be.
        self._placements = placements(module, CaptureInputs())
        self._made: list[Placement] = []

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
        for number, placement in enumerate(self._ways()):
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

    def _ways(self) -> Iterator[Placement]:
        """The ways to run the module, each made once."""
        yield from self._made
        for placement in self._placements:
            self._made.append(placement)
            yield placement

    def _run_in(
        self,
        placement: Placement,
        state: State,
        inputs: CaptureInputs,
        deadline: Deadline,
        is_strict: bool,
        number: int,
    ) -> Outcome:
        owned = self._owned | {id(tensor): name for name, tensor in placement.state.items()}
        record = ProbeRecord(owned, deadline, is_strict=is_strict)
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
                        self._watched(children, record, is_strict=is_strict),
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
            record.innermost,
            record.first_uses,
            frozenset(record.used),
            number,
        )

    @contextmanager
    def _watched(
        self, children: Sequence[nn.Module], record: ProbeRecord, *, is_strict: bool
    ) -> Iterator[None]:
        """Inside, the record knows which module runs, and what it was called with."""

        def enter(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            path = self._paths.get(id(layer), "?")
            record.running.append((layer, path, tensors_of_call(args, kwargs)))
            if isinstance(layer, _OPAQUE):
                is_packed = any(isinstance(each, nn.utils.rnn.PackedSequence) for each in args)
                _read_call(record, is_strict=is_strict and not is_packed)

        def leave(_layer: nn.Module, _args: object, _result: object) -> None:
            if record.running:
                record.running.pop()

        hooks = []
        for layer in children:
            # Compiled modules take no hooks.
            with suppress(RuntimeError, AttributeError):
                hooks.append(layer.register_forward_pre_hook(enter, with_kwargs=True))
                hooks.append(layer.register_forward_hook(leave))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _read_call(record: ProbeRecord, *, is_strict: bool) -> None:
    """Read what an opaque layer is called with, which it does not look at without data.

    Args:
        record: The layer is the innermost that runs.
        is_strict: Whether sequences have to have a batch.

    Raises:
        RefusedCallError: A sequence has no batch, or the input of a cell has another width.
    """
    running = record.innermost
    if running is None or not running.shapes:
        return
    layer, shape, sources = running.module, running.shapes[0], running.sources[0]
    if isinstance(layer, OVER_SEQUENCES) and sources:
        call = TorchCall(type(layer).__name__, running.path, 0, running.shapes, running.sources)
        for source in sources:
            record.first_uses.setdefault(source, call)
        if is_strict and len(shape) != _AXES_OF_SEQUENCES:
            raise RefusedCallError("wanted 3 axes with the batch")
    if isinstance(layer, nn.RNNCellBase) and shape and shape[-1] != layer.input_size:
        raise RefusedCallError(f"wanted a width of {layer.input_size}")


def _made_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters of a module that have a shape."""
    return {
        name: weight
        for name, weight in module.named_parameters()
        if not isinstance(weight, nn.parameter.UninitializedParameter)
    }
