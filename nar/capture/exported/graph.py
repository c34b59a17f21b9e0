"""Runs the graph of an exported program on tensors without memory, operator by operator."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from nar.capture.exported.archive import (
    Json,
    dtype_of,
    empty_tensor,
    extent_of,
    memory_format_of,
)
from nar.capture.forward.recorder import Recorder, tensors_of
from nar.capture.torch_internals import OpOverload

_TARGET = re.compile(r"torch\.ops\.(\w+)\.(\w+)(?:\.(\w+))?")
# Recorded whole, as the forward pass of a module records them.
_WHOLE = frozenset({
    "scaled_dot_product_attention", "lstm", "gru", "rnn_tanh", "rnn_relu", "instance_norm",
})  # fmt: skip
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
        """Run every node; the graph's outputs."""
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
        args = [self._value(entry["arg"]) for entry in node["inputs"] if entry.get("kind") != 2]
        kwargs = {
            entry["name"]: self._value(entry["arg"])
            for entry in node["inputs"]
            if entry.get("kind") == 2
        }
        every = (*args, *kwargs.values())
        namespace, packet, _ = operator
        if namespace != "aten" or packet in _WHOLE or not list(tensors_of(every)):
            return self._record(graph, node, f"{namespace}::{packet}", every)
        overload = _overload(operator)
        return list(_flat(overload(*args, **kwargs)))

    def _record(self, graph: Json, node: Json, operator: str, args: tuple[Any, ...]) -> list[Any]:
        metadata = graph["tensor_values"]
        names = [name for name in _names(node["outputs"]) if name in metadata]

        def results() -> list[Tensor]:
            return [empty_tensor(metadata[name]) for name in names]

        return list(self._recorder.record(operator, args, results))

    def _value(self, argument: Json) -> Any:  # noqa: ANN401
        kind, content = next(iter(argument.items()))
        decode = _DECODERS.get(kind)
        if decode is None:
            raise ValueError(f"wanted a tensor, a number or a type, came {kind}")
        return decode(self._environment, content)


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
    # Infinity is a word in JSON.
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
