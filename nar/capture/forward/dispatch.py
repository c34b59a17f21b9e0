"""Capture by one forward pass of a module on tensors that have shapes and no memory.

A supernet that draws its path at random is as many designs as it has paths; noise that is drawn
changes no graph. So where a generator of random numbers moved during a pass, more passes are made
and their graphs compared. Other modules pay only for reading the states of three generators.
"""

import logging
import os
import random
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from inspect import signature as signature_of
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from nar.base.errors import CaptureError, RefusedError, one_line
from nar.capture.forward.machine import owners_machine, wants_another_machine
from nar.capture.forward.opaque import OpaqueFunctions
from nar.capture.forward.placement import Placement, flat_tensors, inference, placements, quiet
from nar.capture.forward.recorder import Recorder, failing_module
from nar.capture.forward.untouched import has_lazy, renew_lazy, silence, untouched
from nar.capture.graphs import to_capture
from nar.capture.record import Capture, CaptureInputs
from nar.capture.sizes import stated_of
from nar.capture.trace import Trace, TraceBuilder, TraceExtras, input_values
from nar.capture.values import TensorValues, by_storage, signature, tensor_inputs
from nar.graphs.canonical import exact_fingerprint
from nar.graphs.weights import Shape, Weights, weights_of

# Chosen: a fair choice between two paths is missed once in 2^7 captures, and each pass takes time.
MORE_PASSES = 7
_QUANTISED = frozenset({
    torch.int8, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
})  # fmt: skip
_MACHINES = 2  # the machine as it is, and a machine with what its owner's has


def _undrawn(run: Callable[[], Trace], *, name: str) -> Trace:
    """The trace of a forward pass whose graph does not depend on chance.

    Args:
        run: One forward pass.
        name: Name of the model, for errors.

    Raises:
        CaptureError: Python, numpy or torch drew random numbers, and another pass gave another
            graph.
    """
    before = _states()
    trace = run()
    if _states() == before:
        return trace
    restored = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        is_chance = any(not _is_same(trace, run(), name=name) for _ in range(MORE_PASSES))
    finally:
        random.setstate(restored[0])
        np.random.set_state(restored[1])  # noqa: NPY002
        torch.set_rng_state(restored[2])
    if is_chance:
        reason = (
            "wanted one graph, came a module that draws its path at random in every forward pass: "
            "choose one path before it is captured"
        )
        raise CaptureError(name, "-", reason)
    return trace


def _states() -> tuple[object, ...]:
    """States of the generators that a module may read: Python's, numpy's global one, torch's."""
    _, keys, *rest = np.random.get_state()  # noqa: NPY002
    return (
        random.getstate(),
        np.asarray(keys).tobytes(),
        rest,
        torch.get_rng_state().numpy().tobytes(),
    )


def _is_same(one: Trace, other: Trace, *, name: str) -> bool:
    if one == other:
        return True
    first, second = (to_capture(trace, name=name).graph for trace in (one, other))
    return exact_fingerprint(first) == exact_fingerprint(second)


_LOG = logging.getLogger(__name__)
# Users cannot mend frames of libraries, of this package and of code without a file.
_FOREIGN = (
    *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
    f"{Path(__file__).parents[2]}{os.sep}",
    "<",
)


def saved_shapes(module: nn.Module) -> dict[str, Shape]:
    """The shape of each weight that a module saves, by name; tied weights once, lazy ones not.

    Raises:
        Exception: Whatever the module's own code for saving raises.
    """
    saved = module.state_dict(keep_vars=True)
    tensors = {name: each for name, each in saved.items() if isinstance(each, torch.Tensor)}
    first = {id(each): name for name, each in reversed(tensors.items())}
    names = set(first.values())
    return {
        name: tuple(each.shape)
        for name, each in tensors.items()
        if name in names and not is_lazy(each)
    }


def weights_in(module: nn.Module) -> Weights | None:
    """Names and shapes of a module's weights; None where its own code saves something else."""
    # A module's own hooks may raise anything, and its graph is known all the same.
    try:
        return weights_of(saved_shapes(module))
    except Exception as error:
        _LOG.info("weights are not recorded: %s", one_line(error))
        return None


def capture_module(
    module: nn.Module, inputs: object, *, name: str = "module", run: bool = False
) -> Capture:
    """The graph of a module, by one forward pass in evaluation mode without gradients.

    The module runs on tensors that have shapes and no memory, whether or not its weights are real.
    Where that fails, as for control flow that reads values, it runs on real tensors, and the log
    says why. Then every intermediate result stays in memory until the end, so keep such modules
    narrow. Lazy layers learn their shapes on the way. Afterwards the module is as it was before,
    lazy layers included.

    Args:
        module: Module in any mode.
        inputs: One call: `CaptureInputs`, a tuple of positional arguments, a mapping of keyword
            arguments, or the only argument. Tensors move to the device of the weights.
        name: Name of the model, for errors.
        run: Use real weights right away, and let hooks fire that were put on the module from
            outside. Otherwise only hooks of torch and of the model's own classes fire.

    Raises:
        CaptureError: The forward failed, it draws its path at random, or no output depends on an
            input or a parameter.

    >>> import torch
    >>> capture_module(torch.nn.Linear(8, 2), torch.zeros(1, 8)).graph.nodes
    2
    """
    with untouched(module) as children:
        if not run:
            silence(children)
        trace = _trace_lent(module, children, CaptureInputs.of(inputs), name=name, run=run)
        weights = weights_in(module)
    return replace(to_capture(trace, name=name), weights=weights)


def trace_module(
    module: nn.Module, inputs: CaptureInputs, *, name: str, run: bool = False
) -> Trace:
    """The raw trace of one forward pass, with all hooks. The rest is as in `capture_module`."""
    with untouched(module) as children:
        return _trace_lent(module, children, inputs, name=name, run=run)


def _trace_lent(
    module: nn.Module,
    children: Sequence[nn.Module],
    inputs: CaptureInputs,
    *,
    name: str,
    run: bool,
) -> Trace:
    """The raw trace of a module inside `untouched`, which gives ``children``."""
    if has_lazy(children):
        renew_lazy(children, "meta")
        _give_shapes(module, inputs, name=name)
    failure: CaptureError | None = None
    around: Callable[[], AbstractContextManager[None]] = nullcontext
    for placement in placements(module, inputs, is_run=run):
        for _ in range(_MACHINES):
            if failure is not None:
                _LOG.info("%s: tried again, slower, since: %s", name, failure.reason)
            # What one run leaves in plain attributes must not be what the next one begins with.
            try:
                with untouched(module), around():
                    once = partial(_trace, module, inputs, placement, name=name)
                    return _undrawn(once, name=name)
            except CaptureError as error:
                failure = error
            if around is owners_machine or not wants_another_machine(failure.reason):
                break
            around = owners_machine
    raise failure or CaptureError(name, "-", "nowhere to run it")


def _give_shapes(module: nn.Module, inputs: CaptureInputs, *, name: str) -> None:
    """Let lazy layers see the input once, on tensors without memory where the pass bears them."""
    placement = next(placements(module, inputs))
    args, kwargs = placement.inputs(inputs)
    try:
        with ExitStack() as stack:
            for context in (quiet(), inference(module), *placement.contexts):
                stack.enter_context(context)
            placement.call(module, args, kwargs)
    except Exception as error:
        raise CaptureError(name, "-", reason_of(error)) from error


def _trace(module: nn.Module, inputs: CaptureInputs, placement: Placement, *, name: str) -> Trace:
    weights: dict[str, Tensor] = dict(module.named_parameters())
    weights |= {name: each for name, each in module.named_buffers() if _is_quantised(each)}
    learned = by_storage(weights.values())
    stand_ins = [placement.state[key] for key in weights if key in placement.state]
    builder = TraceBuilder()
    values = TensorValues(builder, {**learned, **by_storage(stand_ins)})
    paths = {id(child): path for path, child in reversed(list(module.named_modules()))}
    recorder = Recorder(builder, values, paths)
    # The forward of a model can raise anything; a job over thousands of models wants one error.
    try:
        result = _run(module, inputs, placement, recorder)
    except Exception as error:
        where = failing_module(error, paths)
        raise CaptureError(name, recorder.last_operator, reason_of(error), where) from error
    outputs = [values.read(tensor) for tensor in flat_tensors(result)]
    if not outputs:
        came = "None" if result is None else f"an object of {type(result).__name__}"
        reason = f"wanted a tensor somewhere in the output of forward, came {came}"
        raise CaptureError(name, "-", reason)
    beside = TraceExtras(
        signature(_named_inputs(module, inputs)),
        signature(named_tensors("", result)),
        stated_of(module.named_modules()),
    )
    return builder.trace(outputs, sum(tensor.numel() for tensor in learned.values()), beside)


def _named_inputs(module: nn.Module, inputs: CaptureInputs) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a call, each with the name of the parameter that takes it."""
    try:
        names = list(signature_of(module.forward).parameters)
    except (TypeError, ValueError):  # a forward that is written in C++ has no signature
        names = []
    for place, value in enumerate(inputs.args):
        yield from named_tensors(names[place] if place < len(names) else "", value)
    for name, value in inputs.kwargs.items():
        yield from named_tensors(name, value)


def named_tensors(name: str, value: object) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of a value, each with its key in a mapping, or with the name of the whole."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from named_tensors(str(key), each)
    else:
        yield from ((name, tensor) for tensor in flat_tensors(value))


def _is_quantised(buffer: Tensor) -> bool:
    """Whether a buffer is a weight in 8 bits: masks and indices have other types, or one axis."""
    return buffer.dtype in _QUANTISED and buffer.dim() > 1


def _run(
    module: nn.Module, inputs: CaptureInputs, placement: Placement, recorder: Recorder
) -> object:
    args, kwargs = placement.inputs(inputs)
    given = list(flat_tensors((args, kwargs)))
    for tensor, value in zip(
        given, input_values(recorder.builder, tensor_inputs(given)), strict=True
    ):
        recorder.values.bind(tensor, value)
    with ExitStack() as stack:
        for context in (quiet(), inference(module), *placement.contexts, recorder):
            stack.enter_context(context)
        stack.enter_context(OpaqueFunctions(recorder))
        return placement.call(module, args, kwargs)


def reason_of(error: BaseException) -> str:
    """The message of an error, after file and line of the user's own code if that was running."""
    if isinstance(error, RefusedError):  # it names the line that was refused
        return str(error)
    line = _own_line(error)
    return f"{line}: {one_line(error)}" if line else one_line(error)


def _own_line(error: BaseException) -> str:
    """File and line of the user's own code that was running, as ``model.py:17``, or nothing."""
    if isinstance(error, SyntaxError) and error.filename and is_own_code(error.filename):
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_own_code(frame.filename)]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


def is_own_code(path: str) -> bool:
    """Whether a file of Python is the user's: of no library, and not of NAR."""
    return not path.startswith(_FOREIGN) and "site-packages" not in path
