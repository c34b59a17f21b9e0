"""Capture of a program saved by `torch.export.save`, without loading or running what it brings."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nar.base.errors import CaptureError
from nar.capture.exported.archive import Json, Program, empty_tensor, read_program
from nar.capture.exported.graph import GraphRunner
from nar.capture.forward.dispatch import input_value, one_line
from nar.capture.forward.placement import quiet
from nar.capture.forward.recorder import Recorder, tensors_of
from nar.capture.graphs import to_capture
from nar.capture.record import Capture
from nar.capture.torch_internals import FakeTensorMode, fake_mode
from nar.capture.trace import Trace, TraceBuilder
from nar.capture.values import TensorValues, by_storage


def capture_exported(path: Path, *, name: str) -> Capture:
    """The graph of an exported program (``.pt2``): the one its module gives, too.

    Args:
        path: File written by `torch.export.save`. Only its JSON is read, never its weights.
        name: Name of the model, for errors.

    Raises:
        CaptureError: No such file, no exported program, or one with control flow in its graph.
    """
    return to_capture(_trace(path, name), name=name)


def _trace(path: Path, name: str) -> Trace:
    operator = "-"
    # A file from outside can be wrong in any way; whatever follows from that is one error.
    try:
        program = read_program(path)
        mode = fake_mode()
        environment, weights = _graph_inputs(program, mode)
        parameters = by_storage(weights.values())
        builder = TraceBuilder()
        recorder = Recorder(builder, TensorValues(builder, parameters))
        try:
            outputs = _run(program, mode, recorder, environment)
        finally:
            operator = recorder.last_operator
    except Exception as error:
        raise CaptureError(name, operator, one_line(error)) from error
    return builder.trace(outputs, sum(tensor.numel() for tensor in parameters.values()))


def _run(
    program: Program, mode: FakeTensorMode, recorder: Recorder, environment: dict[str, Any]
) -> list[int]:
    for spec in program.inputs:
        entry = environment.get(_bound_name(spec))
        if "user_input" in spec and isinstance(entry, Tensor):
            recorder.values.bind(entry, input_value(recorder.builder, entry))
    with ExitStack() as stack:
        for context in (quiet(), torch.no_grad(), torch.device("meta"), mode, recorder):
            stack.enter_context(context)
        results = GraphRunner(recorder, environment).run(program.graph)
    return [recorder.values.read(tensor) for tensor in tensors_of(results)]


def _graph_inputs(
    program: Program, mode: FakeTensorMode
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Graph inputs by name, and the learned ones among them by the name they are stored under."""
    environment: dict[str, Any] = {}
    weights: dict[str, Tensor] = {}
    metadata = program.graph["tensor_values"]
    with mode:
        for spec in program.inputs:
            bound = _bound_name(spec)
            if bound not in metadata:
                environment[bound] = None
            elif "parameter" in spec:
                owner = spec["parameter"]["parameter_name"]
                stored = program.weights.get(owner, owner)
                if stored not in weights:
                    weights[stored] = empty_tensor(metadata[bound])
                environment[bound] = weights[stored]
            else:
                environment[bound] = empty_tensor(metadata[bound])
    return environment, weights


def _bound_name(spec: Json) -> str:
    argument = next(iter(spec.values()))["arg"]
    inner = argument.get("as_tensor", argument.get("as_sym_int", argument))
    return str(inner.get("name", inner.get("as_name", "")))
