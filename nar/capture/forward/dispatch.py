"""Capture by one forward pass of a module on tensors that have shapes and no memory."""

from contextlib import ExitStack
from functools import partial
from itertools import chain

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from nar.capture.forward.draws import undrawn
from nar.capture.forward.opaque import OpaqueFunctions
from nar.capture.forward.placement import Placement, flat_tensors, inference, placements, quiet
from nar.capture.forward.recorder import Recorder
from nar.capture.graphs import to_capture
from nar.capture.record import Capture, CaptureInputs
from nar.capture.trace import Trace, TraceBuilder
from nar.capture.values import TensorValues, by_storage, shape_of
from nar.errors import CaptureError

_REASON_LENGTH = 300


def capture_module(module: nn.Module, inputs: CaptureInputs, *, name: str) -> Capture:
    """The graph of a module, by one forward pass in evaluation mode without gradients.

    It runs on meta tensors where all weights are on ``meta``, and on fake ones where that fails, or
    where a part of the weights or the inputs is fake or on ``meta``. Where everything is real it
    runs for real, for control flow that reads values: then every intermediate result stays in
    memory until the end, so keep such modules narrow.

    Args:
        module: Module in any mode; the mode it was in is restored.
        inputs: One call. Its tensors move to where the weights live.
        name: Name of the model, for errors.

    Raises:
        CaptureError: The forward failed, it draws its path at random, or no output depends on an
            input or a parameter.
    """
    return to_capture(trace_module(module, inputs, name=name), name=name)


def trace_module(module: nn.Module, inputs: CaptureInputs, *, name: str) -> Trace:
    """The raw trace of one forward pass. Arguments and errors as in `capture_module`."""
    if any(is_lazy(tensor) for tensor in chain(module.parameters(), module.buffers())):
        reason = "wanted weights with shapes, came lazy ones: run the module once before"
        raise CaptureError(name, "-", reason)
    return undrawn(partial(_trace_somewhere, module, inputs, name=name), name=name)


def _trace_somewhere(module: nn.Module, inputs: CaptureInputs, *, name: str) -> Trace:
    failure = CaptureError(name, "-", "nowhere to run it")
    for place in placements(module, inputs):
        try:
            return _trace(module, inputs, place, name=name)
        except CaptureError as error:
            failure = error
    raise failure


def _trace(module: nn.Module, inputs: CaptureInputs, place: Placement, *, name: str) -> Trace:
    learned = by_storage(module.parameters())
    stand_ins = [place.state[key] for key, _ in module.named_parameters() if key in place.state]
    builder = TraceBuilder()
    values = TensorValues(builder, {**learned, **by_storage(stand_ins)})
    recorder = Recorder(builder, values)
    # A zoo's forward can raise anything; whoever captures thousands of models wants one error.
    try:
        outputs = _run(module, inputs, place, recorder)
    except Exception as error:
        raise CaptureError(name, recorder.last_operator, one_line(error)) from error
    return builder.trace(outputs, sum(tensor.numel() for tensor in learned.values()))


def _run(
    module: nn.Module, inputs: CaptureInputs, place: Placement, recorder: Recorder
) -> list[int]:
    args, kwargs = place.inputs(inputs)
    for tensor in flat_tensors((args, kwargs)):
        recorder.values.bind(tensor, input_value(recorder.builder, tensor))
    with ExitStack() as stack:
        for context in (quiet(), inference(module), *place.contexts, recorder):
            stack.enter_context(context)
        stack.enter_context(OpaqueFunctions(recorder))
        result = place.call(module, args, kwargs)
    return [recorder.values.read(tensor) for tensor in flat_tensors(result)]


def input_value(builder: TraceBuilder, tensor: Tensor) -> int:
    """The value of a model's input: integers and masks say where to read, not what."""
    if tensor.is_floating_point() or tensor.is_complex():
        return builder.input(shape_of(tensor))
    return builder.constant(shape_of(tensor), reads_data=True)


def one_line(error: BaseException) -> str:
    """The first line of an error's message that says something, with its type."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else '-'}"[:_REASON_LENGTH]
