"""Capture of a model that Keras saves: its layers, written as a standard model.

The file states layers and sizes, and no code: what a `Lambda` or a class of somebody's own does is
not known, and stays an operator by its name. Keras keeps channels last, the standard first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from math import prod
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from nar.capture.keras_file import (
    KerasFile,
    KerasLayer,
    Reference,
    SmallError,
    check_library,
    checked,
    layer_of,
)
from nar.capture.onnx.file import capture_model
from nar.capture.onnx.writing import ModelWriter
from nar.capture.record import Capture
from nar.capture.trace import Shape

# Chosen: what an open extent is: the first that no layer shrinks below 1.
_EXTENTS: Final = (16, 64, 256, 1024, 16384)
# Chosen: models in models; those that people hold have two.
_MOST_DEPTH: Final = 16
# Chosen: layers that give parts of a value give tens.
_MOST_RESULTS: Final = 4096


def capture_keras(path: Path, *, name: str) -> Capture:
    """The graph of a model of Keras.

    Args:
        path: A ``.keras`` or ``.h5`` file, or a JSON file with its configuration.
        name: Name of the model, for errors.

    Raises:
        CaptureError: No such file, or one that is wrong.
        MissingLibraryError: It is an HDF5 file, and h5py is not installed.
    """
    if path.is_file():
        check_library(path)
    return capture_model(partial(_model, path), name=name)


def _model(path: Path) -> Any:  # noqa: ANN401
    file = KerasFile(path)
    for extent in _EXTENTS[:-1]:
        try:
            return _Writing(file, extent).model()
        except SmallError:
            continue
    return _Writing(file, _EXTENTS[-1]).model()


@dataclass(frozen=True, slots=True)
class Value:
    """A value.

    Attributes:
        name: Its name in the model that is written.
        shape: Its shape as Keras has it.
        is_first: Whether what has the name has its channels first.
    """

    name: str
    shape: Shape
    is_first: bool = False


Given: TypeAlias = list[Any]  # values and plain arguments of a call
Rule: TypeAlias = "Callable[[_Writing, KerasLayer, Given, Mapping[str, Any]], Value | list[Value]]"


class _Writing:
    """Writes a model.

    Args:
        file: The file.
        extent: What an open extent is.
    """

    def __init__(self, file: KerasFile, extent: int) -> None:
        self.writer = ModelWriter("keras")
        self._file, self._extent = file, extent
        self.path: list[str] = []
        self._named = 0

    def model(self) -> Any:  # noqa: ANN401
        """The model."""
        model = self._file.model
        inputs = [
            (f"input {place}", self._opened(shape), is_float)
            for place, (shape, is_float) in enumerate(_inputs(model))
        ]
        given = [Value(name, shape) for name, shape, _ in inputs]
        outputs = self.run(model, given)
        names = [self.last(each) for each in outputs]
        for name, value in zip(names, outputs, strict=True):
            self.writer.state(name, value.shape)
        return self.writer.model(inputs, names)

    def _opened(self, shape: Sequence[int | None]) -> Shape:
        extents = [self._extent if each is None else int(each) for each in shape[1:]]
        return checked((1, *extents))

    def run(self, model: KerasLayer, given: Sequence[Value]) -> list[Value]:
        """Run a model: the values of its results."""
        if len(self.path) >= _MOST_DEPTH:
            raise ValueError(f"wanted at most {_MOST_DEPTH} models in each other, came more")
        if self.path:  # a model in a model is read anew at each of its calls, uncalled layers too
            self.writer.count(len(model.stated["layers"]))
        self.path.append(model.name)
        try:
            in_order = model.ends("output_layers")
            return self._graph(model, given) if in_order else [self._sequence(model, given)]
        finally:
            self.path.pop()

    def _sequence(self, model: KerasLayer, given: Sequence[Value]) -> Value:
        value = given[0]
        for layer in model.layers():
            if layer.kind != "InputLayer":
                value = self.call(layer, [value], {})[0]
        return value

    def _graph(self, model: KerasLayer, given: Sequence[Value]) -> list[Value]:
        layers = {layer.name: layer for layer in model.layers()}
        calls = _Calls(layers, model.ends("output_layers"))
        values = {
            calls.key(end): [value]
            for end, value in zip(model.ends("input_layers"), given, strict=True)
        }
        for key in calls.in_order():
            if key in values:
                continue
            layer, call = layers[key[0]], layers[key[0]].calls[key[1]]
            known = partial(calls.value, values)
            arguments = [_filled(each, known) for each in call.given]
            named = {name: _filled(each, known) for name, each in call.named.items()}
            values[key] = self.call(layer, arguments, named, calls.results(key))
        return [calls.value(values, end) for end in model.ends("output_layers")]

    def call(
        self,
        layer: KerasLayer,
        given: Given,
        named: Mapping[str, Any],
        results: Sequence[Any] = (None,),
    ) -> list[Value]:
        """Call a layer: the values of its results, whose shapes may be stated."""
        self.writer.count()
        if layer.is_model:
            return self.run(layer, values_of([given, named]))
        rule = _RULES.get(layer.kind) or _RULES.get(_operation(layer))
        made = rule(self, layer, given, named) if rule else None
        if made is None:
            made = self.unknown(layer, given, named, results)
        values = made if isinstance(made, list) else [made]
        for value in values:
            checked(value.shape)
        return values

    def unknown(
        self,
        layer: KerasLayer,
        given: Given,
        named: Mapping[str, Any],
        results: Sequence[Any] = (None,),
    ) -> list[Value]:
        """A layer that is not known, with its weights."""
        read = values_of([given, named])
        weights = [
            self.weight(layer, f"unknown {place}", shape)
            for place, shape in enumerate(self._file.weights_of(layer))
        ]
        path = "/".join([*self.path, layer.name])
        same = read[0].shape if read else (1,)
        made = [
            Value(self.fresh(path), self._opened(shape) if shape else same) for shape in results
        ]
        names = [value.name for value in made]
        self.writer.unknown(layer.kind, [*map(self.last, read), *weights], names)
        for value in made:
            self.writer.state(value.name, value.shape)
        return made

    def fresh(self, name: str) -> str:
        """A name for a result that nothing else has."""
        self._named += 1
        return f"{name} result {self._named}"

    def weight(self, layer: KerasLayer, name: str, shape: Shape) -> str:
        """A weight of a layer; called again, a layer has the same weights."""
        return self.writer.weight("/".join([*self.path, layer.name, name]), checked(shape))

    def last(self, value: Value) -> str:
        """The name of a value as Keras lays it out."""
        rank = len(value.shape)
        order = (0, *range(2, rank), 1)
        return self.writer.transposed(value.name, order) if value.is_first else value.name

    def first(self, value: Value) -> str:
        """The name of a value with channels first."""
        rank = len(value.shape)
        order = (0, rank - 1, *range(1, rank - 1))
        return value.name if value.is_first else self.writer.transposed(value.name, order)

    def map_of(self, layer: KerasLayer, value: Value) -> tuple[str, int, Shape]:
        """A map of features with channels first: its name, its channels, its places."""
        if len(value.shape) < 3:
            raise ValueError(f"wanted places before {layer.name}, came the shape {value.shape}")
        if _is_first(layer):
            return self.last(value), value.shape[1], value.shape[2:]
        return self.first(value), value.shape[-1], value.shape[1:-1]

    def numbers(self, numbers: Any) -> str:  # noqa: ANN401
        """A float."""
        return self.writer.numbers(numbers, np.float32)

    def each(
        self,
        operator: str,
        value: Value,
        *others: str,
        domain: str = "",
        **stated: Any,  # noqa: ANN401
    ) -> Value:
        """An operator that works on each number."""
        name = self.writer.node(operator, [value.name, *others], domain=domain, **stated)
        return replace(value, name=name)

    def same(self, value: Value, shape: Shape) -> Value:
        """The same numbers in another shape."""
        return Value(self.writer.reshaped(self.last(value), checked(shape)), shape)

    def both(self, operator: str, one: Value, other: Value) -> Value:
        """An operator that works on each pair of numbers."""
        shape = tuple(int(each) for each in np.broadcast_shapes(one.shape, other.shape))
        is_map = (one.is_first or other.is_first) and len(one.shape) == len(other.shape)
        laid = self.first if is_map else self.last
        return Value(self.writer.node(operator, [laid(one), laid(other)]), shape, is_map)

    def activated(self, value: Value, stated: Any) -> Value:  # noqa: ANN401
        """A value behind an activation."""
        if isinstance(stated, Mapping):
            inner = stated.get("config")
            if isinstance(inner, Mapping) and stated.get("class_name") in _RULES:
                return self.call(layer_of(stated), [value], {})[0]
            stated = inner if isinstance(inner, str) else stated.get("class_name")
        name = str(stated or "linear").rpartition(">")[2]
        if name == "linear":
            return value
        if name in ("softmax", "log_softmax"):
            axis = 1 if value.is_first else len(value.shape) - 1
            operator = "Softmax" if name == "softmax" else "LogSoftmax"
            return self.each(operator, value, axis=axis)
        if name not in _ACTIVATIONS:
            return self.each(name, value, domain="keras")
        operator, *bounds = _ACTIVATIONS[name]
        return self.each(operator, value, *map(self.numbers, bounds))


class _Calls:
    """The calls in a model, and which reads which.

    Args:
        layers: Its layers by name.
        ends: Its results.
    """

    def __init__(self, layers: Mapping[str, KerasLayer], ends: Sequence[Reference]) -> None:
        self._layers = layers
        self._read = {
            (layer.name, at): tuple(call.references())
            for layer in layers.values()
            for at, call in enumerate(layer.calls)
        }
        self._most: dict[str, int] = {}
        self._results: dict[tuple[str, int], dict[int, Any]] = {}
        every = [*ends, *(each for read in self._read.values() for each in read)]
        for each in every:
            self._most[each.layer] = max(self._most.get(each.layer, 0), each.call)
        for each in every:
            shapes = self._results.setdefault(self.key(each), {})
            shapes[each.place] = each.shape or shapes.get(each.place)

    def key(self, end: Reference) -> tuple[str, int]:
        """The call that a reference means; old files count the calls of a model from 1 on."""
        layer = self._layers.get(end.layer)
        if layer is None:
            raise ValueError(f"wanted calls of layers, came one of {end.layer}, which is not there")
        before = max(self._most.get(end.layer, 0) - max(len(layer.calls), 1) + 1, 0)
        return end.layer, end.call - before

    def results(self, key: tuple[str, int]) -> list[Any]:
        """The results of a call, as far as they are read: their shapes, where these are stated."""
        shapes = self._results.get(key, {})
        most = max(shapes, default=0)
        if not 0 <= most < _MOST_RESULTS:
            raise ValueError(f"wanted at most {_MOST_RESULTS} results of a call, came {most}")
        return [shapes.get(place) for place in range(most + 1)]

    def in_order(self) -> Iterator[tuple[str, int]]:
        """The calls, each after those that it reads.

        Raises:
            ValueError: They wait for each other, or read what is not there.
        """
        needs = {key: [self.key(each) for each in read] for key, read in self._read.items()}
        try:
            order = [*TopologicalSorter(needs).static_order()]
        except CycleError:
            raise ValueError("wanted layers without circles, came some that wait") from None
        return iter(order)

    def value(self, values: Mapping[tuple[str, int], Sequence[Value]], end: Reference) -> Value:
        """The value of a reference.

        Raises:
            ValueError: The call has no such result.
        """
        found = values.get(self.key(end), ())
        if not 0 <= end.place < len(found):
            raise ValueError(f"wanted results of calls, came one that {end.layer} does not give")
        return found[end.place]


def _filled(tree: Any, known: Callable[[Reference], Value]) -> Any:  # noqa: ANN401
    """A tree of arguments with the values in place of the references."""
    if isinstance(tree, Reference):
        return known(tree)
    if isinstance(tree, Mapping):
        return {name: _filled(each, known) for name, each in tree.items()}
    return [_filled(each, known) for each in tree] if isinstance(tree, list) else tree


def values_of(tree: Any) -> list[Value]:  # noqa: ANN401
    """The values in a tree of arguments."""
    if isinstance(tree, Value):
        return [tree]
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    return [found for each in tree for found in values_of(each)] if isinstance(tree, list) else []


_WHOLE: Final = ("int", "uint", "bool")


def _inputs(model: KerasLayer) -> Iterator[tuple[Sequence[int | None], bool]]:
    """Shape of each input of a model, and whether it is of floats."""
    layers = model.layers()
    by_name = {layer.name: layer for layer in layers}
    ends = model.ends("input_layers")
    for layer in [by_name[end.layer] for end in ends] if ends else layers[:1]:
        stated = layer.stated
        shape = stated.get("batch_shape") or stated.get("batch_input_shape")
        shape = shape or (None if ends else model.built or layer.built)
        if not isinstance(shape, list):
            raise ValueError(
                "wanted the shape of each input, came a model without: call it once before it is "
                "saved, or begin it with keras.Input"
            )
        kind = stated.get("dtype")
        readers = _readers(layers, layer, is_graph=bool(ends))
        is_whole = isinstance(kind, str) and kind.startswith(_WHOLE)
        looked_up = bool(readers) and all(each in _LOOKED_UP for each in readers)
        yield shape, not (looked_up or (is_whole and not set(readers) & _FLOAT_READERS))


def _readers(layers: Sequence[KerasLayer], source: KerasLayer, *, is_graph: bool) -> list[str]:
    """The classes of the layers that read an input."""
    if not is_graph:
        return [each.kind for each in layers if each.kind != "InputLayer"][:1]
    return [
        each.kind
        for each in layers
        if any(read.layer == source.name for call in each.calls for read in call.references())
    ]


_LOOKED_UP: Final = frozenset({"Embedding", "ReversibleEmbedding"})
_FLOAT_READERS: Final = frozenset({"Rescaling", "Normalization", "Conv2D", "Resizing"})


def _is_first(layer: KerasLayer) -> bool:
    return layer.stated.get("data_format") == "channels_first"


def _made(layer: KerasLayer, name: str, channels: int, places: Shape) -> Value:
    """A map of features that has the name with channels first."""
    if _is_first(layer):
        return Value(name, (1, channels, *places))
    return Value(name, (1, *places, channels), is_first=True)


def _sizes(stated: Any, rank: int) -> list[int]:  # noqa: ANN401
    """A size for each axis, of which one may stand for all."""
    sizes = stated if isinstance(stated, list) else [stated] * rank
    if len(sizes) != rank or min(map(int, sizes), default=1) < 1:
        raise ValueError(f"wanted {rank} sizes of at least 1, came {stated}")
    return [int(each) for each in sizes]


def _window(
    layer: KerasLayer, places: Shape, kernel: Sequence[int], strides: Sequence[int]
) -> tuple[dict[str, Any], Shape]:
    """The attributes of a window, and the places of its result."""
    dilations = _sizes(layer.stated.get("dilation_rate", 1), len(kernel))
    spans = [dilation * (size - 1) for dilation, size in zip(dilations, kernel, strict=True)]
    padding = str(layer.stated.get("padding", "valid")).lower()
    stated: dict[str, Any] = {"strides": list(strides), "kernel_shape": list(kernel)}
    if max(dilations) > 1:
        stated["dilations"] = dilations
    if padding == "same":
        stated["auto_pad"] = "SAME_UPPER"
        spans = [0] * len(spans)
    elif padding == "causal":
        stated["pads"] = [*spans, *[0] * len(spans)]
        spans = [0] * len(spans)
    cut = zip(places, spans, strides, strict=True)
    return stated, tuple((extent - span - 1) // stride + 1 for extent, span, stride in cut)


def _convolved(
    net: _Writing,
    layer: KerasLayer,
    value: Value,
    name: str,
    weight: tuple[Shape, int],
    *,
    is_biased: bool,
    is_point: bool = False,
) -> Value:
    """A convolution with weights of a shape, in groups."""
    shape, groups = weight
    source, _, places = net.map_of(layer, value)
    kernel = shape[2:]
    ones = [1] * len(kernel)
    strides = ones if is_point else _sizes(layer.stated.get("strides", 1), len(kernel))
    stated, made = _window(layer, places, kernel, strides)
    operands = [source, net.weight(layer, name, shape)]
    if is_biased:
        operands.append(net.weight(layer, f"bias of {name}", shape[:1]))
    return _made(layer, net.writer.node("Conv", operands, group=groups, **stated), shape[0], made)


def _conv(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    stated = layer.stated
    channels, places = net.map_of(layer, given[0])[1:]
    groups, kernel = int(stated.get("groups", 1)), _sizes(stated["kernel_size"], len(places))
    shape = (int(stated["filters"]), channels // groups, *kernel)
    biased = bool(stated.get("use_bias", True))
    value = _convolved(net, layer, given[0], "kernel", (shape, groups), is_biased=biased)
    return net.activated(value, stated.get("activation"))


def _depthwise(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    """A convolution of each channel; a separable one mixes them after it."""
    stated = layer.stated
    channels, places = net.map_of(layer, given[0])[1:]
    kernel = _sizes(stated["kernel_size"], len(places))
    shape = (channels * int(stated.get("depth_multiplier", 1)), 1, *kernel)
    is_separable, biased = "filters" in stated, bool(stated.get("use_bias", True))
    deep = (shape, channels)
    value = _convolved(
        net, layer, given[0], "depthwise", deep, is_biased=biased and not is_separable
    )
    if is_separable:
        point = ((int(stated["filters"]), shape[0], *[1] * len(kernel)), 1)
        value = _convolved(net, layer, value, "pointwise", point, is_biased=biased, is_point=True)
    return net.activated(value, stated.get("activation"))


def _transposed_conv(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    stated = layer.stated
    source, channels, places = net.map_of(layer, given[0])
    kernel = _sizes(stated["kernel_size"], len(places))
    strides = _sizes(stated.get("strides", 1), len(places))
    dilations = _sizes(stated.get("dilation_rate", 1), len(places))
    filters, is_same = int(stated["filters"]), stated.get("padding", "valid") == "same"
    spans = [dilation * (size - 1) + 1 for dilation, size in zip(dilations, kernel, strict=True)]
    made = tuple(
        extent * stride + (0 if is_same else max(span - stride, 0))
        for extent, span, stride in zip(places, spans, strides, strict=True)
    )
    more: dict[str, Any] = {"dilations": dilations} if max(dilations) > 1 else {}
    operands = [source, net.weight(layer, "kernel", (channels, filters, *kernel))]
    if stated.get("use_bias", True):
        operands.append(net.weight(layer, "bias", (filters,)))
    name = net.writer.node(
        "ConvTranspose",
        operands,
        strides=strides,
        kernel_shape=kernel,
        output_shape=list(made),
        **more,
    )
    return net.activated(_made(layer, name, filters, made), stated.get("activation"))


def _pool(operator: str) -> Rule:
    def rule(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
        source, channels, places = net.map_of(layer, given[0])
        size = _sizes(layer.stated.get("pool_size", 2), len(places))
        strides = _sizes(layer.stated.get("strides") or size, len(places))
        stated, made = _window(layer, places, size, strides)
        return _made(layer, net.writer.node(operator, [source], **stated), channels, made)

    return rule


def _global_pool(operator: str) -> Rule:
    def rule(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
        source, channels, places = net.map_of(layer, given[0])
        name = net.writer.node(operator, [source])
        value = _made(layer, name, channels, (1,) * len(places))
        keeps = layer.stated.get("keepdims", False)
        return value if keeps else net.same(value, (1, channels))

    return rule


def _linear(
    net: _Writing, layer: KerasLayer, value: Value, name: str, units: int, *, is_biased: bool
) -> Value:
    """A linear layer over the last axis."""
    weight = net.weight(layer, name, (value.shape[-1], units))
    made = net.writer.node("MatMul", [net.last(value), weight])
    if is_biased:
        made = net.writer.node("Add", [made, net.weight(layer, f"bias of {name}", (units,))])
    return Value(made, (*value.shape[:-1], units))


def _dense(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    stated = layer.stated
    biased = bool(stated.get("use_bias", True))
    value = _linear(net, layer, given[0], "kernel", int(stated["units"]), is_biased=biased)
    return net.activated(value, stated.get("activation"))


def _einsum_dense(
    net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]
) -> Value | list[Value]:
    """A contraction with a weight; over the last axes, it is a linear layer."""
    stated, value = layer.stated, given[0]
    read, made = str(stated["equation"]).replace("...", "").split("->")
    source, learned = read.split(",")
    rank = len(value.shape)
    sizes = stated["output_shape"]
    sizes = sizes if isinstance(sizes, list) else [sizes]
    labels = dict(zip(source[::-1], value.shape[::-1], strict=False))
    for label, extent in zip(made[::-1], sizes[::-1], strict=False):
        labels.setdefault(label, int(extent or 1))
    shape = tuple(labels[label] for label in learned)
    weight = net.weight(layer, "kernel", shape)
    gone = [label for label in learned if label not in made]
    new = [label for label in learned if label not in source]
    kept = rank - len(gone)
    is_linear = source.endswith("".join(gone)) and made.endswith("".join(new))
    if (
        is_linear
        and learned == "".join([*gone, *new])
        and made[: -len(new) or None] == source[: len(source) - len(gone)]
    ):
        inner, outer = prod(labels[each] for each in gone), prod(labels[each] for each in new)
        flat = net.same(value, (*value.shape[:kept], inner))
        matrix = net.writer.reshaped(weight, (inner, outer)) if len(shape) > 2 else weight
        name = net.writer.node("MatMul", [flat.name, matrix])
        if stated.get("bias_axes"):
            name = net.writer.node("Add", [name, net.weight(layer, "bias", (outer,))])
        result = net.same(
            Value(name, (*value.shape[:kept], outer)),
            (*value.shape[:kept], *(labels[each] for each in new)),
        )
    else:
        name = net.writer.node(
            "Einsum", [net.last(value), weight], equation=f"{source},{learned}->{made}"
        )
        result = Value(name, tuple(labels[each] for each in made))
        if axes := stated.get("bias_axes"):
            whole = [labels[each] if each in axes else 1 for each in made]
            while whole[:1] == [1]:
                whole = whole[1:]
            result = replace(
                result,
                name=net.writer.node("Add", [name, net.weight(layer, "bias", tuple(whole))]),
            )
    return net.activated(result, stated.get("activation"))


def _embedding(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    width = int(layer.stated["output_dim"])
    table = net.weight(layer, "table", (int(layer.stated["input_dim"]), width))
    name = net.writer.node("Gather", [table, net.last(given[0])], axis=0)
    return Value(name, (*given[0].shape, width))


def _axes(stated: Any, rank: int) -> list[int]:  # noqa: ANN401
    axes = stated if isinstance(stated, list) else [stated]
    return sorted(int(axis) % rank for axis in axes)


def _scales(net: _Writing, layer: KerasLayer, names: tuple[str, str], width: int) -> list[str]:
    """The scale and the shift of a norm; a scale of ones where it has a shift alone."""
    has_scale = layer.stated.get(names[0], True)
    has_shift = layer.stated.get(names[1], True)
    ones = partial(net.writer.node, "Expand")
    if has_scale:
        scale = net.weight(layer, "scale", (width,))
    else:
        scale = ones([net.numbers(1.0), net.writer.numbers([width])])
    if has_shift:
        return [scale, net.weight(layer, "shift", (width,))]
    return [scale]


def _batch_norm(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    value, rank = given[0], len(given[0].shape)
    (axis,) = _axes(layer.stated.get("axis", -1), rank)
    width = value.shape[axis]
    operands = _scales(net, layer, ("scale", "center"), width)
    ones = [net.numbers(1.0), net.writer.numbers([width])]
    while len(operands) < 4:
        operands.append(net.writer.node("Expand", ones))
    if axis == 1 and rank > 2:
        name = net.writer.node("BatchNormalization", [net.last(value), *operands])
        return Value(name, value.shape)
    if rank == 2:
        return net.each("BatchNormalization", value, *operands)
    name = net.writer.node("BatchNormalization", [net.first(value), *operands])
    return Value(name, value.shape, is_first=True)


def _layer_norm(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    """A norm over axes; where they are not the last, they are brought there and back."""
    value, rank = given[0], len(given[0].shape)
    axes = _axes(layer.stated.get("axis", -1), rank)
    is_root = layer.kind == "RMSNormalization" or layer.stated.get("rms_scaling")
    others = [axis for axis in range(rank) if axis not in axes]
    order = [*others, *axes]
    width = prod(value.shape[axis] for axis in axes)
    name = net.last(value)
    moved = name if order == list(range(rank)) else net.writer.transposed(name, order)
    names = ("scale", "center")
    if is_root:
        operands = [net.weight(layer, "scale", (width,))]
    else:
        operands = _scales(net, layer, names, width)
        if not layer.stated.get("scale", True) and len(operands) < 2:
            operands = []
    if len(axes) > 1:
        shape = [value.shape[axis] for axis in axes]
        operands = [net.writer.reshaped(each, tuple(shape)) for each in operands]
    operator = "RMSNormalization" if is_root else "LayerNormalization"
    name = net.writer.node(operator, [moved, *operands], axis=len(others))
    if order != list(range(rank)):
        name = net.writer.transposed(name, [order.index(axis) for axis in range(rank)])
    return Value(name, value.shape)


def _group_norm(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    value, rank = given[0], len(given[0].shape)
    (axis,) = _axes(layer.stated.get("axis", -1), rank)
    width, groups = value.shape[axis], int(layer.stated.get("groups", 32))
    operands = _scales(net, layer, ("scale", "center"), width)
    if len(operands) < 2:
        ones = [net.numbers(0.0), net.writer.numbers([width])]
        operands.append(net.writer.node("Expand", ones))
    is_first = axis == rank - 1
    source = net.first(value) if is_first else net.last(value)
    groups = width if groups == -1 else groups
    name = net.writer.node("GroupNormalization", [source, *operands], num_groups=groups)
    return Value(name, value.shape, is_first=is_first)


def _relu(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    most, slope = layer.stated.get("max_value"), layer.stated.get("negative_slope") or 0.0
    slope = slope or layer.stated.get("alpha") or 0.0
    if isinstance(slope, Mapping):
        slope = slope.get("config", {}).get("value", 0.3)
    if slope:
        return net.each("LeakyRelu", given[0], alpha=float(slope))
    if layer.stated.get("threshold"):
        return net.each("ThresholdedRelu", given[0], alpha=float(layer.stated["threshold"]))
    if most is None:
        return net.each("Relu", given[0])
    return net.each("Clip", given[0], net.numbers(0.0), net.numbers(float(most)))


def _leaky(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
    stated = {"negative_slope": 0.3, **layer.stated}  # the default of Keras
    return _relu(net, replace(layer, stated=stated), given, named)


def _prelu(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    value = given[0]
    shared = set(layer.stated.get("shared_axes") or ())
    shape = tuple(1 if at in shared else extent for at, extent in enumerate(value.shape) if at)
    if value.is_first:
        slope = net.weight(layer, "slope", (shape[-1], *shape[:-1]))
    else:
        slope = net.weight(layer, "slope", shape)
    return net.each("PRelu", value, slope)


def _softmax(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
    axis = named.get("axis", layer.stated.get("axis", -1))
    value, shape = net.last(given[0]), given[0].shape
    axes = _axes(axis, len(shape))
    if len(axes) == 1:
        return Value(net.writer.node("Softmax", [value], axis=axes[0]), shape)
    # Over several axes at once: they are one axis, the last.
    order = [*(at for at in range(len(shape)) if at not in axes), *axes]
    turned = [shape[at] for at in order]
    joined = (*turned[: -len(axes)], prod(turned[-len(axes) :]))
    value = net.writer.reshaped(net.writer.transposed(value, order), joined)
    value = net.writer.reshaped(net.writer.node("Softmax", [value], axis=-1), tuple(turned))
    back = sorted(range(len(order)), key=order.__getitem__)
    return Value(net.writer.transposed(value, back), shape)


def _activation(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    return net.activated(given[0], layer.stated.get("activation"))


def _passed(_net: _Writing, _layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    """A layer that does nothing outside training."""
    value: Value = values_of(given)[0]
    return value


def _flattened(net: _Writing, _layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    return net.same(given[0], (1, prod(given[0].shape[1:])))


def _reshaped(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    shape = [int(each or -1) for each in layer.stated["target_shape"]]
    known = prod(each for each in shape if each > 0)
    shape = [each if each > 0 else prod(given[0].shape[1:]) // known for each in shape]
    return net.same(given[0], (1, *shape))


def _permuted(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    order = (0, *(int(each) for each in layer.stated["dims"]))
    shape = tuple(given[0].shape[axis] for axis in order)
    return Value(net.writer.transposed(net.last(given[0]), order), shape)


def _repeated(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    shape = (1, int(layer.stated["n"]), given[0].shape[-1])
    lifted = net.same(given[0], (1, 1, shape[-1]))
    return Value(net.writer.node("Expand", [lifted.name, net.writer.numbers(shape)]), shape)


def _sides(stated: Any, rank: int) -> list[tuple[int, int]]:  # noqa: ANN401
    """The numbers before and after each axis: of one, of each axis, or of both sides."""
    sides = stated if isinstance(stated, list) else [stated] * rank
    if rank == 1 and len(sides) == 2 and not isinstance(sides[0], list):
        sides = [sides]
    found = [each if isinstance(each, list) else [each, each] for each in sides]
    if len(found) != rank or any(len(each) != 2 for each in found):
        raise ValueError(f"wanted two numbers for each of {rank} axes, came {stated}")
    return [(int(before), int(after)) for before, after in found]


def _padded(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    source, channels, places = net.map_of(layer, given[0])
    sides = _sides(layer.stated.get("padding", 1), len(places))
    amounts = [0, 0, *(one for one, _ in sides), 0, 0, *(other for _, other in sides)]
    name = net.writer.node("Pad", [source, net.writer.numbers(amounts)])
    made = tuple(extent + sum(side) for extent, side in zip(places, sides, strict=True))
    return _made(layer, name, channels, made)


def _cropped(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    source, channels, places = net.map_of(layer, given[0])
    sides = _sides(layer.stated.get("cropping", 1), len(places))
    ends = [extent - after for extent, (_, after) in zip(places, sides, strict=True)]
    bounds = [[before for before, _ in sides], ends, list(range(2, 2 + len(places)))]
    name = net.writer.node("Slice", [source, *map(net.writer.numbers, bounds)])
    made = tuple(end - before for end, (before, _) in zip(ends, sides, strict=True))
    return _made(layer, name, channels, made)


def _resized(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    source, channels, places = net.map_of(layer, given[0])
    if "height" in layer.stated:
        made: Shape = (int(layer.stated["height"]), int(layer.stated["width"]))
    else:
        times = _sizes(layer.stated.get("size", 2), len(places))
        made = tuple(extent * each for extent, each in zip(places, times, strict=True))
    sizes = net.writer.numbers([1, channels, *made])
    name = net.writer.node("Resize", [source, "", "", sizes])
    return _made(layer, name, channels, made)


def _merged(operator: str) -> Rule:
    """An operator over a list of values, or over two."""

    def rule(net: _Writing, _layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
        flat = [each for part in given for each in (part if isinstance(part, list) else [part])]
        operands = [*flat, *(named[key] for key in ("x2", "y") if key in named)]
        if len(operands) < 2:
            return _passed(net, _layer, given, named)
        value: Value | None = None
        for operand in operands:
            value = operand if value is None else _pair(net, operator, value, operand)
        assert value is not None
        return value

    return rule


def _pair(net: _Writing, operator: str, one: Any, other: Any) -> Value:  # noqa: ANN401
    """An operator over two values, or a value and a number."""
    if isinstance(one, Value) and isinstance(other, Value):
        return net.both(operator, one, other)
    shape = one.shape if isinstance(one, Value) else other.shape
    names = [each.name if isinstance(each, Value) else net.numbers(each) for each in (one, other)]
    is_first = one.is_first if isinstance(one, Value) else other.is_first
    return Value(net.writer.node(operator, names), shape, is_first)


def _average(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
    total = _merged("Add")(net, layer, given, named)
    assert isinstance(total, Value)
    return net.each("Div", total, net.numbers(float(len(values_of(given)))))


def _joined(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
    values = values_of(given)
    rank = len(values[0].shape)
    (axis,) = _axes(named.get("axis", layer.stated.get("axis", -1)), rank)
    if any(len(each.shape) != rank for each in values):
        raise ValueError(f"wanted values of {rank} axes before {layer.name}, came others")
    shape = list(values[0].shape)
    shape[axis] = sum(each.shape[axis] for each in values)
    is_map = rank > 2 and any(each.is_first for each in values)
    names = [(net.first if is_map else net.last)(each) for each in values]
    moved = (0, *range(2, rank), 1)[axis] if is_map else axis
    return Value(net.writer.node("Concat", names, axis=moved), tuple(shape), is_map)


def _product(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
    """A product of matrices; `Dot` states over which axes."""
    one, other = values_of([given, named])[:2]
    names, shapes = [net.last(one), net.last(other)], [one.shape, other.shape]
    axes = layer.stated.get("axes")
    if axes is not None:
        pair = axes if isinstance(axes, list) else [axes, axes]
        for place, axis in enumerate(pair):
            rank = len(shapes[place])
            order = [at for at in range(rank) if at != int(axis) % rank]
            order.insert(rank - 1 if place == 0 else 1, int(axis) % rank)
            if order != list(range(rank)):
                names[place] = net.writer.transposed(names[place], order)
            shapes[place] = tuple(shapes[place][at] for at in order)
            if rank == 2:  # one number for each of the batch
                shapes[place] = (1, 1, shapes[place][1]) if place == 0 else (1, shapes[place][1], 1)
                names[place] = net.writer.reshaped(names[place], shapes[place])
    shape = (*shapes[0][:-1], shapes[1][-1])
    value = Value(net.writer.node("MatMul", names), shape)
    if axes is not None and len(one.shape) == len(other.shape) == 2:
        return net.same(value, (1, 1))
    return value


def _heads(net: _Writing, value: Value, heads: int) -> str:
    """A sequence cut into heads: (batch, heads, length, width)."""
    length, width = value.shape[-2], value.shape[-1] // heads
    cut = net.writer.reshaped(value.name, (1, length, heads, width))
    return net.writer.transposed(cut, (0, 2, 1, 3))


def _attended(
    net: _Writing,
    layer: KerasLayer,
    parts: tuple[Value, Value, Value],
    heads: tuple[int, int],
    named: Mapping[str, Any],
) -> Value:
    """Attention of values (batch, length, heads x width)."""
    query, _, value = parts
    counts = (heads[0], heads[1], heads[1])
    operands = [_heads(net, each, count) for each, count in zip(parts, counts, strict=True)]
    mask = named.get("attention_mask")
    if isinstance(mask, Value):
        operands.append(net.last(mask))
    is_causal = bool(named.get("use_causal_mask") or layer.stated.get("causal"))
    made = net.writer.node("Attention", operands, is_causal=int(is_causal))
    width = value.shape[-1] // heads[1] * heads[0]
    name = net.writer.reshaped(
        net.writer.transposed(made, (0, 2, 1, 3)), (1, query.shape[-2], width)
    )
    return Value(name, (1, query.shape[-2], width))


def _multi_head(
    net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]
) -> Value | list[Value]:
    """Attention with its four linear layers, over the middle axes."""
    stated = layer.stated
    place = dict(zip(("query", "value", "key"), values_of(given), strict=False))
    place |= {name: each for name, each in named.items() if name in ("query", "value", "key")}
    query, value = place["query"], place.get("value", place["query"])
    if stated.get("use_gate"):
        return net.unknown(layer, given, named)
    parts = [query, place.get("key", value), value]
    flat = [net.same(each, (1, prod(each.shape[1:-1]), each.shape[-1])) for each in parts]
    if "num_query_heads" in stated:
        heads = (int(stated["num_query_heads"]), int(stated["num_key_value_heads"]))
        width = wide = int(stated["head_dim"])
    else:
        heads = (int(stated["num_heads"]),) * 2
        width = int(stated["key_dim"])
        wide = int(stated.get("value_dim") or width)
    biased = bool(stated.get("use_bias", True))
    widths = (heads[0] * width, heads[1] * width, heads[1] * wide)
    cut = [
        _linear(net, layer, each, name, units, is_biased=biased)
        for each, name, units in zip(flat, ("query", "key", "value"), widths, strict=True)
    ]
    made = _attended(net, layer, (cut[0], cut[1], cut[2]), heads, named)
    out = stated.get("output_shape") or query.shape[-1]
    units = prod(out) if isinstance(out, list) else int(out)
    result = _linear(net, layer, made, "output", units, is_biased=biased)
    return net.same(result, (*query.shape[:-1], units))


def _plain_attention(
    net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]
) -> Value:
    """Attention without linear layers: ``(query, value, key)``."""
    read = values_of(given)
    query, value, key = (*read, read[1])[:3]
    parts = tuple(Value(net.last(each), each.shape) for each in (query, key, value))
    return _attended(net, layer, (parts[0], parts[1], parts[2]), (1, 1), named)


# Classes of recurrent layers -> operator of the standard, gates, biases of a gate.
_CELLS: Final[Mapping[str, tuple[str, int, int]]] = {
    "LSTM": ("LSTM", 4, 1), "CuDNNLSTM": ("LSTM", 4, 2), "LSTMCell": ("LSTM", 4, 1),
    "GRU": ("GRU", 3, 1), "CuDNNGRU": ("GRU", 3, 2), "GRUCell": ("GRU", 3, 1),
    "SimpleRNN": ("RNN", 1, 1), "SimpleRNNCell": ("RNN", 1, 1),
}  # fmt: skip


def _recurrent(
    net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]
) -> Value | list[Value]:
    return _cells(net, layer, layer, given, named, "forward")


def _both_ways(
    net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]
) -> Value | list[Value]:
    """A recurrent layer in both directions."""
    inner = layer_of(layer.stated["layer"])
    merge = layer.stated.get("merge_mode", "concat")
    if inner.kind not in _CELLS or merge != "concat":
        return net.unknown(layer, given, named)
    return _cells(net, layer, inner, given, named, "bidirectional")


def _cells(
    net: _Writing,
    owner: KerasLayer,
    layer: KerasLayer,
    given: Given,
    named: Mapping[str, Any],
    direction: str,
) -> Value | list[Value]:
    """A layer of recurrent cells: ``(input, states...)``."""
    stated, read = layer.stated, values_of([given, named])
    operator, gates, biases = _CELLS[layer.kind]
    value, units = read[0], int(stated["units"])
    if operator == "GRU" and stated.get("reset_after", "implementation" not in stated):
        biases = 2
    ways = 2 if direction == "bidirectional" else 1
    inner, rows = value.shape[-1], gates * units
    operands = [
        net.writer.transposed(net.last(value), (1, 0, 2)),
        net.weight(owner, "kernel", (ways, rows, inner)),
        net.weight(owner, "recurrent", (ways, rows, units)),
    ]
    if stated.get("use_bias", True):
        operands.append(net.weight(owner, "bias", (ways, biases * rows)))
    states = [net.last(each) for each in read[1:]]
    if states:
        operands += [*[""] * (5 - len(operands)), *states]
    more: dict[str, Any] = {}
    if operator == "RNN":
        more["activations"] = [_CELL_ACTIVATIONS.get(stated.get("activation"), "Tanh")] * ways
    path = "/".join([*net.path, owner.name])
    names = [net.fresh(path) for _ in range(3 if operator == "LSTM" else 2)]
    net.writer.node(operator, operands, *names, hidden_size=units, direction=direction, **more)
    length, width = value.shape[1], ways * units
    if stated.get("return_sequences", False):
        turned = net.writer.transposed(names[0], (2, 0, 1, 3))
        result = Value(net.writer.reshaped(turned, (1, length, width)), (1, length, width))
    else:
        result = Value(net.writer.reshaped(names[1], (1, width)), (1, width))
    if not stated.get("return_state", False):
        return result
    kept = [part for name in names[1:] for part in _ways(net, name, ways)]
    return [result, *(Value(net.writer.reshaped(name, (1, units)), (1, units)) for name in kept)]


def _ways(net: _Writing, name: str, ways: int) -> list[str]:
    """The states of each direction."""
    if ways == 1:
        return [name]
    return [net.writer.node("Gather", [name, net.writer.numbers(at)], axis=0) for at in range(ways)]


_CELL_ACTIVATIONS: Final[Mapping[Any, str]] = {"relu": "Relu", "sigmoid": "Sigmoid"}


def _of_cell(
    net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]
) -> Value | list[Value]:
    """A loop over a cell, or over cells on each other."""
    cell = layer_of(layer.stated["cell"])
    cells = cell.stated.get("cells", [layer.stated["cell"]])
    found = [layer_of(each) for each in cells]
    if any(each.kind not in _CELLS for each in found):
        return net.unknown(layer, given, named)
    value: Value | list[Value] = []
    for at, each in enumerate(found):
        keeps = at + 1 < len(found) or layer.stated.get("return_sequences", False)
        inner = replace(each, stated={**each.stated, "return_sequences": keeps})
        owner = replace(layer, name=f"{layer.name}/{at}")
        value = _cells(net, owner, inner, given if at == 0 else [value], {}, "forward")
    return value


def _at_each_time(
    net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]
) -> Value | list[Value]:
    """A layer at each place of the second axis, which lies with the batch meanwhile."""
    inner, value = layer_of(layer.stated["layer"]), given[0]
    kept = (1, *value.shape[2:])
    if inner.kind == "Dense":
        return _dense(net, replace(inner, name=layer.name), given, named)
    # The batch of one step stands for all: a layer is the same for each of a batch.
    step = Value(net.writer.reshaped(net.last(value), (-1, *kept[1:])), kept)
    net.writer.state(step.name, (value.shape[1], *kept[1:]))
    inner = replace(inner, name=f"{layer.name}/{inner.name}", key=f"{layer.key}layer/")
    (made,) = net.call(inner, [step], named)
    shape = (1, value.shape[1], *made.shape[1:])
    return Value(net.writer.reshaped(net.last(made), shape), shape)


def _wrapped(
    net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]
) -> Value | list[Value]:
    """A layer whose weights are normed: the layer."""
    inner = replace(layer_of(layer.stated["layer"]), name=layer.name, key=layer.key)
    return net.call(inner, given, named)


def _rescaled(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    value = given[0]
    scale, offset = layer.stated.get("scale", 1.0), layer.stated.get("offset", 0.0)
    value = net.each("Mul", value, _constant(net, value, scale))
    return net.each("Add", value, _constant(net, value, offset)) if offset else value


def _constant(net: _Writing, value: Value, numbers: Any) -> str:  # noqa: ANN401
    """A number, or one for each channel, that nobody learns."""
    if not isinstance(numbers, list):
        return net.numbers(float(numbers))
    axes = (1,) * (len(value.shape) - 2)
    shape = (1, len(numbers), *axes) if value.is_first else (len(numbers),)
    return net.writer.blank(shape)


def _normalised(net: _Writing, _layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    """A mean is taken off, and a deviation divides: statistics that were measured."""
    value = net.each("Sub", given[0], _constant(net, given[0], [0.0] * given[0].shape[-1]))
    return net.each("Div", value, _constant(net, value, [0.0] * value.shape[-1]))


def _scaled(net: _Writing, layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    """A learned scale of each channel."""
    value = given[0]
    width = value.shape[-1]
    scale = net.weight(layer, "gamma", (width,))
    return Value(net.writer.node("Mul", [net.last(value), scale]), value.shape)


def _plain(operator: str, **stated: Any) -> Rule:  # noqa: ANN401
    def rule(net: _Writing, _layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
        return net.each(operator, values_of([given, named])[0], **stated)

    return rule


def _squared(net: _Writing, _layer: KerasLayer, given: Given, _: Mapping[str, Any]) -> Value:
    return net.each("Mul", given[0], given[0].name)


def _reduced(operator: str) -> Rule:
    def rule(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
        value, stated = given[0], {**layer.stated, **named}
        rank = len(value.shape)
        axis = stated.get("axis", given[1] if len(given) > 1 else None)
        axes = list(range(rank)) if axis is None else _axes(axis, rank)
        keeps = bool(stated.get("keepdims", False))
        if axes == list(range(1, rank - 1)) and rank > 3 and operator == "ReduceMean":
            pooled = net.writer.node("GlobalAveragePool", [net.first(value)])
            made = Value(pooled, (1, *[1] * (rank - 2), value.shape[-1]), is_first=True)
            return made if keeps else net.same(made, (1, value.shape[-1]))
        shape = tuple(
            1 if at in axes else extent
            for at, extent in enumerate(value.shape)
            if keeps or at not in axes
        )
        name = net.writer.node(
            operator, [net.last(value), net.writer.numbers(axes)], keepdims=int(keeps)
        )
        return Value(name, shape)

    return rule


def _in_shape(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
    stated = {**layer.stated, **named}
    shape = stated.get("newshape", stated.get("shape", given[1] if len(given) > 1 else None))
    if not isinstance(shape, list) or any(not isinstance(each, int) for each in shape):
        return net.unknown(layer, given, named)[0]
    known = prod(each for each in shape if each > 0)
    whole = prod(given[0].shape)
    return net.same(given[0], tuple(each if each > 0 else whole // known for each in shape))


def _in_order(net: _Writing, layer: KerasLayer, given: Given, named: Mapping[str, Any]) -> Value:
    stated = {**layer.stated, **named}
    axes = stated.get("axes", stated.get("perm", given[1] if len(given) > 1 else None))
    rank = len(given[0].shape)
    order = [int(each) for each in axes] if isinstance(axes, list) else list(range(rank))[::-1]
    shape = tuple(given[0].shape[axis] for axis in order)
    return Value(net.writer.transposed(net.last(given[0]), order), shape)


def _operation(layer: KerasLayer) -> str:
    """The name of an operation, as Keras 3 has it, or as a function of TensorFlow."""
    name = str(layer.stated.get("function", layer.kind) if _is_function(layer) else layer.kind)
    return "ops." + name.rpartition(".")[2].replace("_", "").lower()


def _is_function(layer: KerasLayer) -> bool:
    return layer.kind == "TFOpLambda"


# Names of activations -> the operator of the standard, and its bounds.
_ACTIVATIONS: Final[Mapping[str, tuple[Any, ...]]] = {
    "relu": ("Relu",), "relu6": ("Clip", 0.0, 6.0), "sigmoid": ("Sigmoid",), "tanh": ("Tanh",),
    "gelu": ("Gelu",), "silu": ("Swish",), "swish": ("Swish",), "elu": ("Elu",),
    "selu": ("Selu",), "softplus": ("Softplus",), "softsign": ("Softsign",),
    "exponential": ("Exp",), "hard_sigmoid": ("HardSigmoid",), "hard_swish": ("HardSwish",),
    "hard_silu": ("HardSwish",), "mish": ("Mish",), "leaky_relu": ("LeakyRelu",),
    "celu": ("Celu",), "hard_tanh": ("Clip", -1.0, 1.0), "log_sigmoid": ("LogSigmoid",),
}  # fmt: skip
_DIMENSIONS: Final = ("1D", "2D", "3D")


def _each_of(*starts: str, ends: Sequence[str] = _DIMENSIONS) -> list[str]:
    return [f"{start}{end}" for start in starts for end in ends]


_RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(_each_of("Conv", "Convolution"), _conv),
    **dict.fromkeys(_each_of("DepthwiseConv", "SeparableConv"), _depthwise),
    **{f"Conv{end}Transpose": _transposed_conv for end in _DIMENSIONS},
    **dict.fromkeys(_each_of("MaxPooling", "MaxPool"), _pool("MaxPool")),
    **dict.fromkeys(_each_of("AveragePooling", "AvgPool"), _pool("AveragePool")),
    **dict.fromkeys(
        _each_of("GlobalAveragePooling", "GlobalAvgPool"), _global_pool("GlobalAveragePool")
    ),
    **dict.fromkeys(_each_of("GlobalMaxPooling", "GlobalMaxPool"), _global_pool("GlobalMaxPool")),
    "Dense": _dense, "EinsumDense": _einsum_dense, "Embedding": _embedding,
    "BatchNormalization": _batch_norm, "SyncBatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm, "RMSNormalization": _layer_norm,
    "GroupNormalization": _group_norm, "UnitNormalization": _plain("LpNormalization"),
    "ReLU": _relu, "ThresholdedReLU": _relu, "LeakyReLU": _leaky, "PReLU": _prelu,
    "ELU": _plain("Elu"), "Softmax": _softmax, "Activation": _activation,
    **dict.fromkeys((
        "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout",
        "GaussianDropout", "GaussianNoise", "ActivityRegularization", "Identity", "Masking",
        "StochasticDepth", "RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation",
        "RandomContrast", "RandomBrightness", "RandomHeight", "RandomWidth", "RandomCrop",
    ), _passed),
    "Flatten": _flattened, "Reshape": _reshaped, "Permute": _permuted, "RepeatVector": _repeated,
    **dict.fromkeys(_each_of("ZeroPadding"), _padded),
    **dict.fromkeys(_each_of("Cropping"), _cropped),
    **dict.fromkeys((*_each_of("UpSampling"), "Resizing"), _resized),
    "Add": _merged("Add"), "Subtract": _merged("Sub"), "Multiply": _merged("Mul"),
    "Maximum": _merged("Max"), "Minimum": _merged("Min"), "Average": _average,
    "Concatenate": _joined, "Dot": _product, "Rescaling": _rescaled, "Normalization": _normalised,
    "LayerScale": _scaled, "MultiHeadAttention": _multi_head,
    "GroupQueryAttention": _multi_head, "GroupedQueryAttention": _multi_head,
    "Attention": _plain_attention, **dict.fromkeys((
        "LSTM", "GRU", "SimpleRNN", "CuDNNLSTM", "CuDNNGRU",
    ), _recurrent), "RNN": _of_cell, "Bidirectional": _both_ways, "TimeDistributed": _at_each_time,
    "SpectralNormalization": _wrapped, "WeightNormalization": _wrapped,
    # Operations between layers.
    **{f"ops.{name}": _merged(operator) for name, operator in {
        "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "truediv": "Div",
        "truedivide": "Div", "power": "Pow", "maximum": "Max", "minimum": "Min", "mul": "Mul",
        "sub": "Sub",
    }.items()},
    **{f"ops.{name}": _plain(operator) for name, operator in {
        "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "abs": "Abs", "absolute": "Abs",
        "negative": "Neg", "sin": "Sin", "cos": "Cos", "erf": "Erf", "cast": "Identity",
        "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "gelu": "Gelu", "silu": "Swish",
        "softplus": "Softplus", "elu": "Elu", "selu": "Selu", "hardswish": "HardSwish",
        "hardsigmoid": "HardSigmoid", "stopgradient": "Identity", "identity": "Identity",
    }.items()},
    "ops.square": _squared, "ops.matmul": _product, "ops.reshape": _in_shape,
    "ops.transpose": _in_order, "ops.concatenate": _joined, "ops.concat": _joined,
    "ops.softmax": _softmax, "ops.mean": _reduced("ReduceMean"), "ops.sum": _reduced("ReduceSum"),
    "ops.max": _reduced("ReduceMax"), "ops.min": _reduced("ReduceMin"),
    "ops.reducemean": _reduced("ReduceMean"), "ops.reducesum": _reduced("ReduceSum"),
}  # fmt: skip
