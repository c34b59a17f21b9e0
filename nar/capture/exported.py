"""Capture of a program saved by `torch.export.save`, without loading or running its code.

`torch.export.load` evaluates expressions and runs guard code that the file brings along, and may
unpickle weights. Nothing of that is touched here: the file is read as plain JSON, and a hostile one
can only describe a graph, which is run on tensors without memory, operator by operator.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch
from torch import Tensor

from nar.base.errors import CaptureError, one_line
from nar.capture.forward.placement import quiet
from nar.capture.forward.recorder import Recorder, tensors_of
from nar.capture.graphs import to_capture
from nar.capture.record import Capture
from nar.capture.torch_internals import FakeTensorMode, OpOverload, fake_mode
from nar.capture.trace import Trace, TraceBuilder, TraceExtras, input_values
from nar.capture.values import TensorValues, by_storage, signature, tensor_inputs

# Chosen: the JSON is read into memory whole, and a hostile file may be of any size.
_MOST_PROGRAM_BYTES = 512 << 20
Json = Mapping[str, Any]

_DTYPES = {
    1: torch.uint8, 2: torch.int8, 3: torch.int16, 4: torch.int32, 5: torch.int64,
    6: torch.float16, 7: torch.float32, 8: torch.float64, 9: torch.complex32,
    10: torch.complex64, 11: torch.complex128, 12: torch.bool, 13: torch.bfloat16,
    28: torch.uint16, 29: torch.float8_e4m3fn, 30: torch.float8_e5m2, 31: torch.float8_e4m3fnuz,
    32: torch.float8_e5m2fnuz, 33: torch.float8_e8m0fnu, 34: torch.uint32, 35: torch.uint64,
}  # fmt: skip
_MEMORY_FORMATS = {
    1: torch.contiguous_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
    4: torch.preserve_format,
}
_FREE_EXTENT = 2  # chosen: stands for an extent that the file leaves open; 1 would broadcast


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """An exported program as its file describes it.

    Attributes:
        graph: Nodes, inputs, outputs and the metadata of every tensor.
        inputs: One entry for each graph input: what kind it is.
        weights: Parameter name -> name of the stored tensor, the same for tied parameters.
    """

    graph: Json
    inputs: tuple[Json, ...]
    weights: Mapping[str, str]


def read_program(path: Path) -> ProgramFile:
    """Read the one program of an archive.

    Raises:
        ValueError: No archive of `torch.export.save`, or not one program in it.
        OSError: It cannot be read.
    """
    try:
        with ZipFile(path) as archive:
            models = _members(archive, "/models/", ".json")
            if len(models) != 1:
                raise ValueError(
                    f"wanted an archive of torch.export.save (torch 2.9 or later) with one "
                    f"program, came one with {len(models)}"
                )
            model = _load(archive, models[0])
            configs = _members(archive, "/data/weights/", "_weights_config.json")
            config = _load(archive, configs[0])["config"] if configs else {}
    except BadZipFile as error:
        raise ValueError(f"wanted an archive of torch.export.save, came {error}") from error
    module = model["graph_module"]
    weights = {name: entry["path_name"] for name, entry in config.items() if not _is_meta(entry)}
    return ProgramFile(module["graph"], tuple(module["signature"]["input_specs"]), weights)


def _is_meta(weight: Json) -> bool:
    """Whether a weight had no memory when it was saved: then torch stores all under one name."""
    return bool(weight["tensor_meta"]["device"]["type"] == "meta")


def _members(archive: ZipFile, folder: str, suffix: str) -> list[str]:
    names = archive.namelist()
    return [name for name in names if folder in f"/{name}" and name.endswith(suffix)]


def _load(archive: ZipFile, member: str) -> Json:
    size = archive.getinfo(member).file_size
    if size > _MOST_PROGRAM_BYTES:
        raise ValueError(f"{member}: wanted at most {_MOST_PROGRAM_BYTES} bytes, came {size}")
    loaded: Json = json.loads(archive.read(member))
    return loaded


def dtype_of(code: int) -> torch.dtype:
    """The type behind a serialised code."""
    return _DTYPES[code]


def memory_format_of(code: int) -> torch.memory_format:
    """The memory format behind a serialised code."""
    return _MEMORY_FORMATS[code]


def extent_of(size: Json) -> int:
    """An extent; a symbolic extent has the value it had when the program was exported."""
    if "as_int" in size:
        return int(size["as_int"])
    hint = size["as_expr"].get("hint")
    return int(hint["as_int"]) if hint else _FREE_EXTENT


def empty_tensor(meta: Json) -> torch.Tensor:
    """A tensor without memory, laid out as a tensor's metadata describe it.

    The strides matter: export leaves out a copy that would not change them, and a view that follows
    fits these strides only.
    """
    shape = [extent_of(size) for size in meta["sizes"]]
    strides = [extent_of(stride) for stride in meta["strides"]]
    return torch.empty_strided(shape, strides, dtype=dtype_of(meta["dtype"]), device="meta")


_TARGET = re.compile(r"torch\.ops\.(\w+)\.(\w+)(?:\.(\w+))?")
# Operators that are recorded whole, as the forward pass of a module records them.
_WHOLE = frozenset({
    "scaled_dot_product_attention", "lstm", "gru", "rnn_tanh", "rnn_relu", "instance_norm",
})  # fmt: skip
# A class may have commas in its name, a path has none.
_INNERMOST = re.compile(r"(?:^|;)[^,;]*,([^,;]*),[^;]*$")
_REGIONS = frozenset({"wrap_with_set_grad_enabled", "wrap_with_autocast"})


class GraphRunner:
    """Interprets serialised graphs under a recorder.

    Only ATen operators with tensor operands are executed, on tensors that hold nothing. Any other
    operator is recorded by name, its results made from the metadata in the file.

    Args:
        recorder: Active recorder.
        environment: Tensors and numbers by name, graph inputs to begin with.
    """

    def __init__(self, recorder: Recorder, environment: dict[str, Any]) -> None:
        self._recorder = recorder
        self._environment = environment

    def run(self, graph: Json) -> list[Any]:
        """Run every node, and return the outputs of the graph."""
        for name, number in graph["sym_int_values"].items():
            if "as_int" in number or number["as_expr"].get("hint"):
                self._environment[name] = extent_of(number)
        for node in graph["nodes"]:
            self._step(graph, node)
        return [self._value(output) for output in graph["outputs"]]

    def _step(self, graph: Json, node: Json) -> None:
        names = list(_names(node["outputs"]))
        if all(name in self._environment for name in names):
            return
        target = _TARGET.fullmatch(node["target"])
        if target is None:
            raise ValueError(f"wanted an operator with tensor results, came {node['target']}")
        namespace, packet, overload = target.groups()
        if namespace == "higher_order":
            results = self._region(packet, node)
        else:
            results = self._call(graph, node, (namespace, packet, overload or "default"))
        self._environment.update(zip(names, results, strict=False))

    def _region(self, kind: str, node: Json) -> list[Any]:
        """A part of the graph under another autograd or autocast mode runs in line."""
        if kind not in _REGIONS:
            raise ValueError(f"wanted a graph without control flow, came {kind}")
        arguments = [entry["arg"] for entry in node["inputs"]]
        at = next(i for i, argument in enumerate(arguments) if "as_graph" in argument)
        inner = arguments[at]["as_graph"]["graph"]
        operands = [self._value(argument) for argument in arguments[at + 1 :]]
        scope = dict(zip(_names(inner["inputs"]), operands, strict=True))
        return list(_flat(GraphRunner(self._recorder, scope).run(inner)))

    def _call(self, graph: Json, node: Json, operator: tuple[str, str, str]) -> list[Any]:
        self._recorder.last_operator = "::".join(operator[:2])
        self._recorder.module = _module_of(node)
        args = [self._value(entry["arg"]) for entry in node["inputs"] if entry.get("kind") != 2]
        kwargs = {
            entry["name"]: self._value(entry["arg"])
            for entry in node["inputs"]
            if entry.get("kind") == 2
        }
        every = (*args, *kwargs.values())
        namespace, packet, _ = operator
        if namespace != "aten" or packet in _WHOLE or not list(tensors_of(every)):
            return self._record(graph, node, f"{namespace}::{packet}", every, kwargs)
        overload = _overload(operator)
        return list(_flat(overload(*args, **kwargs)))

    def _record(
        self, graph: Json, node: Json, operator: str, args: tuple[Any, ...], named: Json
    ) -> list[Any]:
        metadata = graph["tensor_values"]
        names = [name for name in _names(node["outputs"]) if name in metadata]

        def results() -> list[Tensor]:
            return [empty_tensor(metadata[name]) for name in names]

        return list(self._recorder.record(operator, args, results, named))

    def _value(self, argument: Json) -> Any:  # noqa: ANN401
        kind, content = next(iter(argument.items()))
        decode = _DECODERS.get(kind)
        if decode is None:
            raise ValueError(f"wanted a tensor, a number or a type, came {kind}")
        return decode(self._environment, content)


def _module_of(node: Json) -> str | None:
    """The module that ran a node: the last of ``key,path,class;key,path,class``."""
    stack = node.get("metadata", {}).get("nn_module_stack", "")
    entry = _INNERMOST.search(stack) if isinstance(stack, str) else None
    return entry[1] if entry else None


def _overload(operator: tuple[str, str, str]) -> OpOverload:
    namespace, packet, overload = operator
    resolved: OpOverload = getattr(getattr(getattr(torch.ops, namespace), packet), overload)
    return resolved


def _names(arguments: list[Json]) -> Iterator[str]:
    """Names that outputs or inputs bind, lists of tensors laid flat."""
    for argument in arguments:
        for content in argument.values():
            entries = content if isinstance(content, list) else [content]
            yield from (_name(entry) for entry in entries if isinstance(entry, Mapping))


def _name(entry: Json) -> str:
    if "as_tensor" in entry:
        return str(entry["as_tensor"]["name"])
    return str(entry.get("name", entry.get("as_name", "")))


def _flat(result: object) -> Iterator[Any]:
    if isinstance(result, list | tuple):
        for part in result:
            yield from _flat(part)
    else:
        yield result


Environment = Mapping[str, Any]


def _literal(_environment: Environment, content: Any) -> Any:  # noqa: ANN401
    return content


def _named(environment: Environment, content: Json) -> Any:  # noqa: ANN401
    if content.get("as_none"):
        return None
    literal = content.get("as_int", content.get("as_float", content.get("as_bool")))
    return environment[_name(content)] if literal is None else literal


def _all_named(environment: Environment, content: list[Json]) -> list[Any]:
    return [_named(environment, entry) for entry in content]


_DECODERS: Mapping[str, Callable[[Environment, Any], Any]] = {
    **dict.fromkeys(("as_int", "as_ints", "as_bool", "as_bools", "as_string"), _literal),
    # JSON has no number for infinity: the file holds it as a string.
    "as_float": lambda _environment, content: float(content),
    "as_floats": lambda _environment, content: [float(number) for number in content],
    **dict.fromkeys(
        ("as_tensor", "as_optional_tensor", "as_sym_int", "as_sym_float", "as_sym_bool"), _named
    ),
    **dict.fromkeys(
        ("as_tensors", "as_optional_tensors", "as_sym_ints", "as_sym_floats", "as_sym_bools"),
        _all_named,
    ),
    "as_none": lambda _environment, _content: None,
    "as_layout": lambda _environment, _content: None,
    "as_device": lambda _environment, _content: torch.device("meta"),
    "as_scalar_type": lambda _environment, content: dtype_of(content),
    "as_memory_format": lambda _environment, content: memory_format_of(content),
}


def capture_exported(path: Path, *, name: str) -> Capture:
    """The graph of an exported program (``.pt2``), equal to the graph of its module.

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
            outputs, beside = _run(program, mode, recorder, environment)
        finally:
            operator = recorder.last_operator
    except Exception as error:
        raise CaptureError(name, operator, one_line(error)) from error
    return builder.trace(outputs, sum(tensor.numel() for tensor in parameters.values()), beside)


def _run(
    program: ProgramFile, mode: FakeTensorMode, recorder: Recorder, environment: dict[str, Any]
) -> tuple[list[int], TraceExtras]:
    """The values of the results, and what is known beside the operations."""
    named = [_bound_name(spec) for spec in program.inputs if "user_input" in spec]
    bound = [(name, environment.get(name)) for name in named]
    inputs = [(name, each) for name, each in bound if isinstance(each, Tensor)]
    given = [tensor for _, tensor in inputs]
    for entry, value in zip(
        given, input_values(recorder.builder, tensor_inputs(given)), strict=True
    ):
        recorder.values.bind(entry, value)
    with ExitStack() as stack:
        for context in (quiet(), torch.no_grad(), torch.device("meta"), mode, recorder):
            stack.enter_context(context)
        results = GraphRunner(recorder, environment).run(program.graph)
    tensors = list(tensors_of(results))
    values = [recorder.values.read(tensor) for tensor in tensors]
    return values, TraceExtras(signature(inputs), signature(("", tensor) for tensor in tensors))


def _graph_inputs(
    program: ProgramFile, mode: FakeTensorMode
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Graph inputs by name, and the learned inputs by the name they are stored under."""
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
