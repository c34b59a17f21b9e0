"""Capture of an OpenVINO model: the layers of its XML, written as a standard model.

The XML states the shape of every value; numbers lie in a file beside it, of which only those are
read that say where to read. Compressed weights and quantised values stand for their floats.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from nar.capture.onnx.bodies import STATE
from nar.capture.onnx.facts import MAX_NUMBERS, Numbers
from nar.capture.onnx.file import capture_model
from nar.capture.onnx.writing import ModelWriter, few_numbers
from nar.capture.openvino_file import (
    FLOATS,
    PACKED,
    Link,
    Net,
    NetBody,
    NetLayer,
    Port,
    read_net,
    variable_of,
)
from nar.capture.record import Capture
from nar.capture.trace import Shape


def capture_openvino(path: Path, *, name: str) -> Capture:
    """The graph of an OpenVINO model. Float constants of several numbers are its parameters.

    Args:
        path: A ``.xml`` file. The ``.bin`` file beside it need not be there.
        name: Name of the model, for errors.

    Raises:
        CaptureError: The file is missing, or is at fault.
    """
    return capture_model(partial(_model, path), name=name)


def _model(path: Path) -> Any:  # noqa: ANN401
    return _Writing(read_net(path), path.with_suffix(".bin")).model()


_OF_FILE: Final = {
    "f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "boolean": "?",
}  # fmt: skip
_WIDEST: Final = 8  # bytes of a number
_FLOAT: Final = 1  # of the types of the standard


class _Writing:
    """Writes a net.

    Args:
        net: The net.
        weights: The file of its numbers, which need not be there.
        around: What writes the net of which a layer holds this one; None if none does.
        mark: What names begin with, so that nothing else has them.
    """

    def __init__(
        self, net: Net, weights: Path, around: "_Writing | None" = None, mark: str = ""
    ) -> None:
        self.writer: ModelWriter = around.writer if around else ModelWriter("openvino")
        self._net, self._weights, self.mark = net, weights, mark
        self._names: dict[Port, str] = {}
        self._few: dict[str, Numbers] = around._few if around else {}
        # Names of weights in whole numbers, and names of these weights as floats.
        self._stored: set[str] = around._stored if around else set()
        self._packed: set[str] = around._packed if around else set()
        self._varying = net.depending()
        self.changed = net.changed()
        self._readers: dict[Port, list[NetLayer]] = {}
        for (reader, _), source in net.sources.items():
            if reader in net.layers:
                self._readers.setdefault(source, []).append(net.layers[reader])

    def model(self) -> Any:  # noqa: ANN401
        """The model."""
        inputs, given = [], {}
        for layer in self._net.layers.values():
            if layer.kind == "Parameter":
                name = given[layer.number] = f"input {layer.number}"
                inputs.append((name, layer.shape(), self._is_float_input(layer)))
        return self.writer.model(inputs, self.written(given).values())

    def written(self, given: Mapping[str, str]) -> dict[str, str]:
        """Write all layers, and give the names of the results.

        Args:
            given: Names of the inputs, by the numbers of their layers.
        """
        results = {}
        ordered = list(self._net.in_order())  # every edge is checked before one is followed
        needed = self._net.needed()
        for layer in ordered:
            if layer.kind == "Parameter":
                self._names[(layer.number, layer.gives[0])] = given[layer.number]
            elif layer.kind == "Result":
                results[layer.number] = self.operand(layer, 0)
            elif layer.kind == "Const" and layer.number in needed:
                self._constant(layer)
            elif layer.number in needed:
                _RULES.get(layer.kind, _Writing.unread)(self, layer)
        return results

    def within(self, layer: NetLayer, body: str) -> "_Writing":
        """What writes a body of a layer."""
        net, mark = layer.bodies[body].net, f"{self.mark}{layer.number} {body} "
        return _Writing(net, self._weights, self, mark)

    def unread(self, layer: NetLayer) -> None:
        """Write a layer that has no rule: it reads the weights of its bodies."""
        names = self._named(layer)
        values = [*self.operands(layer), *self._weights_of_bodies(layer)]
        self.writer.unknown(layer.kind, values, names)

    def _named(self, layer: NetLayer) -> list[str]:
        names = [f"{self.mark}unknown {layer.number} {port}" for port in layer.gives]
        for place, name in enumerate(names):
            self.put(layer, name, place)
        return names

    def _weights_of_bodies(self, layer: NetLayer) -> list[str]:
        shapes = (shape for body in layer.bodies.values() for shape in body.weights())
        return [
            self.writer.weight(f"{self.mark}body {layer.number} {place}", shape)
            for place, shape in enumerate(shapes)
        ]

    def _is_float_input(self, layer: NetLayer) -> bool:
        """Whether an input is of floats, or of an image in whole numbers that become floats."""
        if layer.stated.get("element_type", "f32") in FLOATS:
            return True
        readers = self._readers.get((layer.number, layer.gives[0]), [])
        return bool(readers) and all(_makes_floats(reader) for reader in readers)

    def _constant(self, layer: NetLayer) -> None:
        kind, shape = layer.stated.get("element_type", "f32"), layer.shape()
        few = self._numbers(layer, kind, shape)
        name = f"{self.mark}{'packed' if kind in PACKED else 'constant'} {layer.number}"
        if kind in PACKED and prod(shape) > 1:
            self._stored.add(name)
        if kind in FLOATS and prod(shape) > 1:
            name = self.writer.weight(name, shape)
        elif few is not None:
            values = self.writer.numbers(few, np.float32 if kind in FLOATS else np.int64)
            # Equal numbers have one name; a weight keeps its own.
            name = self.writer.named(name, values) if name in self._stored else values
            self._few[name] = few
        else:
            name = self.writer.hidden(name, shape)
        self._names[(layer.number, layer.gives[0])] = name

    def _numbers(self, layer: NetLayer, kind: str, shape: Shape) -> Numbers | None:
        """A few numbers of the file beside; None where they are many, or not there."""
        offset, size = layer.whole("offset"), layer.whole("size")
        if prod(shape) > MAX_NUMBERS or kind not in _OF_FILE or size > _WIDEST * MAX_NUMBERS:
            return None
        try:
            with self._weights.open("rb") as file:
                file.seek(max(offset, 0))
                return few_numbers(file.read(max(size, 0)), _OF_FILE[kind], shape)
        except (OSError, ValueError):
            return None

    def operand(self, layer: NetLayer, place: int) -> str:
        """The name of a value that a layer reads; empty where it reads none that is needed."""
        if place >= len(layer.reads):
            return ""
        source = self._source(layer, place)
        if source is None:
            raise ValueError(f"wanted a source for each port, came none for layer {layer.number}")
        return self._names.get(source, "")

    def _source(self, layer: NetLayer, place: int) -> Port | None:
        return self._net.sources.get((layer.number, layer.reads[place]))

    def operands(self, layer: NetLayer, most: int | None = None) -> list[str]:
        """The names of the values that a layer reads."""
        names = [self.operand(layer, place) for place in range(len(layer.reads))[:most]]
        return [name for name in names if name]

    def few(self, layer: NetLayer, place: int) -> list[int] | None:
        """Whole numbers that a layer reads, where they are known."""
        numbers = self._few.get(self.operand(layer, place))
        return None if numbers is None else [int(each) for each in numbers.flatten()]

    def reader(self, layer: NetLayer) -> NetLayer | None:
        """A layer that reads the result of a layer."""
        readers = self._readers.get((layer.number, layer.gives[0]))
        return readers[-1] if readers else None

    def put(self, layer: NetLayer, name: str, place: int = 0) -> None:
        """Note the name of a result."""
        port = layer.gives[place]
        self._names[(layer.number, port)] = name
        self.writer.state(name, layer.shape(place), is_float=_is_float_kind(layer.kinds[port]))

    def write(self, layer: NetLayer, operator: str, inputs: Iterable[str], **stated: Any) -> None:  # noqa: ANN401
        """Write a node that is the whole layer."""
        self.put(layer, self.writer.node(operator, inputs, **stated))

    def same(self, layer: NetLayer, name: str, place: int = 0) -> None:
        """Note that a result holds the numbers of a value, in its own shape."""
        shape = layer.shape(place)
        if sum(extent < 1 for extent in shape) > 1:
            self.put(layer, self.writer.node("Identity", [name]), place)
        else:
            self.put(layer, self.writer.reshaped(name, shape), place)

    def unpack(self, layer: NetLayer, operands: int = 1) -> bool:
        """Pass on a weight that is stored in whole numbers; its scale and zero are no weights.

        Args:
            layer: What reads it.
            operands: Which of its first operands may be the weight. The others are no data, and
                have no more numbers than the weight.
        """
        places = range(min(operands, len(layer.reads)))
        held = [place for place in places if self.operand(layer, place) in self._packed]
        if not held or any(self._is_varying(layer, place) for place in places):
            return False
        sizes = [abs(prod(layer.given(place))) for place in places]
        weight = max(held, key=sizes.__getitem__)
        if sizes[weight] < max(sizes):
            return False
        self.same(layer, self.operand(layer, weight))
        self._packed.add(self._names[(layer.number, layer.gives[0])])
        return True

    def _is_varying(self, layer: NetLayer, place: int) -> bool:
        source = self._source(layer, place)
        return source is not None and source[0] in self._varying

    def pass_on(self, layer: NetLayer) -> None:
        """Pass on a value in another shape."""
        name = self.operand(layer, 0)
        if self.unpack(layer):
            return
        self.same(layer, name)
        if name in self._stored:
            self._stored.add(self._names[(layer.number, layer.gives[0])])

    def convert(self, layer: NetLayer) -> None:
        """Numbers in another type; whole numbers that become floats are a compressed weight."""
        name = self.operand(layer, 0)
        if self.unpack(layer):
            return
        is_float = _makes_floats(layer)
        if name in self._stored and is_float:
            name = self.writer.weight(f"{name} as floats", layer.shape())
            self._packed.add(name)
        elif is_float:
            source, name = name, self.writer.node("Cast", [name], to=_FLOAT)
            if source in self._few:
                self._few[name] = self._few[source]
        self._names[(layer.number, layer.gives[0])] = name


def _is_float_kind(precision: str) -> bool:
    """Whether the type of a port is a float: FP32, FP16, BF16."""
    return precision.startswith(("FP", "BF", "F8", "NF"))


def _makes_floats(layer: NetLayer) -> bool:
    """Whether a layer makes floats of numbers of another type."""
    return layer.kind == "Convert" and _is_float_kind(layer.kinds[layer.gives[0]])


Rule: TypeAlias = Callable[[_Writing, NetLayer], None]


def _window(layer: NetLayer, spatial: int) -> dict[str, Any]:
    """The attributes of a window."""
    ones, zeros = [1] * spatial, [0] * spatial
    padding = layer.stated.get("auto_pad", "explicit").lower()
    stated: dict[str, Any] = {"strides": layer.numbers("strides", ones)}
    if padding in ("same_upper", "same_lower", "valid"):
        return stated | {"auto_pad": padding.upper()}
    pads = [*layer.numbers("pads_begin", zeros), *layer.numbers("pads_end", zeros)]
    return stated | {"pads": pads}


def _conv(operator: str, *, is_grouped: bool = False) -> Rule:
    """A convolution: weights (groups, out / groups, in / groups, ...) or (out, in, ...)."""

    def rule(net: _Writing, layer: NetLayer) -> None:
        value, weights = net.operands(layer, 2)
        shape, groups = layer.given(1), 1
        if is_grouped:
            groups, first, second, *kernel = shape
            weights = net.writer.reshaped(weights, (groups * first, second, *kernel))
        spatial = len(layer.shape()) - 2
        stated = _window(layer, spatial) | {"group": groups}
        stated["dilations"] = layer.numbers("dilations", [1] * spatial)
        net.write(layer, operator, [value, weights], **stated)

    return rule


def _pool(operator: str) -> Rule:
    def rule(net: _Writing, layer: NetLayer) -> None:
        kernel = layer.numbers("kernel")
        stated = _window(layer, len(kernel)) | {"kernel_shape": kernel}
        stated["ceil_mode"] = int(layer.stated.get("rounding_type", "floor") != "floor")
        net.write(layer, operator, net.operands(layer, 1), **stated)

    return rule


def _product(net: _Writing, layer: NetLayer) -> None:
    factors = []
    for place, name in enumerate(("transpose_a", "transpose_b")):
        value, rank = net.operand(layer, place), len(layer.given(place))
        if layer.whole(name) and rank > 1:
            value = net.writer.transposed(value, (*range(rank - 2), rank - 1, rank - 2))
        factors.append(value)
    net.write(layer, "MatMul", factors)


def _plain(operator: str, operands: int | None = None, **stated: Any) -> Rule:  # noqa: ANN401
    """An operator of the standard that reads its first operands, or all."""

    def rule(net: _Writing, layer: NetLayer) -> None:
        name = net.writer.node(operator, net.operands(layer, operands), **stated)
        for place in range(len(layer.gives)):
            net.put(layer, name, place)

    return rule


def _arithmetic(operator: str) -> Rule:
    """Arithmetic, which is none where it makes floats of a compressed weight."""

    def rule(net: _Writing, layer: NetLayer) -> None:
        if not net.unpack(layer, 2):
            net.write(layer, operator, net.operands(layer))

    return rule


def _negated(operator: str) -> Rule:
    def rule(net: _Writing, layer: NetLayer) -> None:
        net.write(layer, "Not", [net.writer.node(operator, net.operands(layer))])

    return rule


def _squared_difference(net: _Writing, layer: NetLayer) -> None:
    net.write(layer, "Mul", [net.writer.node("Sub", net.operands(layer))] * 2)


def _clamp(net: _Writing, layer: NetLayer) -> None:
    """A cut; at zero and above alone it is a ReLU."""
    bounds = [float(layer.stated.get(name, "inf")) for name in ("min", "max")]
    if bounds[0] == 0 and bounds[1] > 1e30:  # a bound that no number reaches
        net.write(layer, "Relu", net.operands(layer, 1))
        return
    limits = [net.writer.numbers(bound, np.float32) for bound in bounds]
    net.write(layer, "Clip", [*net.operands(layer, 1), *limits])


def _axis(operator: str, name: str = "axis", operands: int | None = None, default: int = 1) -> Rule:
    """An operator that works along an axis that the layer states."""

    def rule(net: _Writing, layer: NetLayer) -> None:
        axis = layer.whole(name, default)
        net.write(layer, operator, net.operands(layer, operands), axis=axis)

    return rule


def _norm(net: _Writing, layer: NetLayer) -> None:
    """A norm without weights, over the axes of the second operand."""
    rank, places = len(layer.shape()), net.few(layer, 1)
    is_by_channel = _is_scaled_by_channel(net, layer)
    if places is None:
        places = list(range(2, rank)) if is_by_channel else [rank - 1]
    axes = sorted(axis % rank for axis in places)
    # Of a sequence, the last axis may be that of features or that of places.
    if axes == list(range(2, rank)) and (rank >= _IMAGE or is_by_channel):
        net.write(layer, "InstanceNormalization", net.operands(layer, 1))
    else:
        net.write(layer, "LayerNormalization", net.operands(layer, 1), axis=axes[0])


_IMAGE: Final = 4  # axes: batch, channels, height, width


def _is_scaled_by_channel(net: _Writing, layer: NetLayer) -> bool:
    """Whether the scale that follows a norm has a number for each channel."""
    following, rank = net.reader(layer), len(layer.shape())
    shapes = [following.given(place) for place in range(2)] if following else []
    return any(
        len(shape) == rank > 2 and shape[1] > 1 and set(shape[2:]) == {1} for shape in shapes
    )


def _grouped_norm(net: _Writing, layer: NetLayer) -> None:
    net.write(
        layer, "GroupNormalization", net.operands(layer, 3), num_groups=layer.whole("num_groups")
    )


def _batch_norm(net: _Writing, layer: NetLayer) -> None:
    """``(input, scale, shift, mean, variance)``; in its first version the input was third."""
    names = net.operands(layer)
    if len(layer.given(0)) < len(layer.given(2)):
        names = [names[2], *names[:2], *names[3:]]
    net.write(layer, "BatchNormalization", names)


def _response_norm(net: _Writing, layer: NetLayer) -> None:
    size = layer.whole("size")
    if size < 1:
        raise ValueError(f"wanted LRN layers that state a size, came {size} of {layer.number}")
    net.write(layer, "LRN", net.operands(layer, 1), size=size)


def _reduced(operator: str) -> Rule:
    def rule(net: _Writing, layer: NetLayer) -> None:
        axes, keeps = net.few(layer, 1), layer.whole("keep_dims")
        if axes is None:
            axes = _axes_by_shape(layer.given(0), layer.shape(), keeps=bool(keeps))
        if operator == "ReduceMean" and _is_pooled(net, layer, axes):
            net.write(layer, "GlobalAveragePool", net.operands(layer, 1))
            return
        net.write(
            layer,
            operator,
            [net.operand(layer, 0), net.writer.numbers(axes)],
            keepdims=keeps,
        )

    return rule


def _is_pooled(net: _Writing, layer: NetLayer, axes: Sequence[int]) -> bool:
    """Whether a mean is over all places of a map, whose axes are then left out."""
    rank, following = len(layer.given(0)), net.reader(layer)
    are_places = rank > 2 and sorted(axis % rank for axis in axes) == list(range(2, rank))
    is_flattened = following is not None and following.kind in ("Reshape", "Squeeze")
    return are_places and bool(layer.whole("keep_dims")) and is_flattened


def _axes_by_shape(source: Shape, result: Shape, *, keeps: bool) -> list[int]:
    """The axes of a reduction whose numbers are not there: those that are gone, the last first."""
    if keeps:
        gone = [at for at, (one, two) in enumerate(zip(source, result, strict=False)) if one != two]
        return gone or [len(source) - 1]
    left, axes = list(result), []
    for at, extent in enumerate(source):
        if left[:1] == [extent]:
            left.pop(0)
        else:
            axes.append(at)
    return axes or [len(source) - 1]


def _padded(net: _Writing, layer: NetLayer) -> None:
    value, before, after, *fill = net.operands(layer)
    amounts = [net.few(layer, place) for place in (1, 2)]
    mode = layer.stated.get("pad_mode", "constant")
    stated = {} if mode == "constant" else {"mode": "edge" if mode == "edge" else "reflect"}
    if amounts[0] is None or amounts[1] is None:
        whole = net.writer.node("Concat", [before, after], axis=0)
    else:
        whole = net.writer.numbers([*amounts[0], *amounts[1]])
    net.write(layer, "Pad", [value, whole, *fill], **stated)


def _split(net: _Writing, layer: NetLayer) -> None:
    """A cut into parts along the axis of the second operand."""
    axes, source = net.few(layer, 1), layer.given(0)
    axis = axes[0] if axes else _cut_axis(source, layer.shape())
    widths = [layer.shape(place)[axis] for place in range(len(layer.gives))]
    names = [f"{net.mark}part {layer.number} {place}" for place in range(len(widths))]
    net.writer.node("Split", [net.operand(layer, 0), net.writer.numbers(widths)], *names, axis=axis)
    for place, name in enumerate(names):
        net.put(layer, name, place)


def _cut_axis(source: Shape, part: Shape) -> int:
    return next((at for at, (a, b) in enumerate(zip(source, part, strict=False)) if a != b), 0)


def _sliced(net: _Writing, layer: NetLayer) -> None:
    """A part of a value; what is left out of its axes is no operation."""
    value, shape = net.operand(layer, 0), layer.given(0)
    starts, ends, steps = (net.few(layer, place) for place in (1, 2, 3))
    if starts is None or ends is None or prod(shape) < 1:
        net.write(layer, "Slice", net.operands(layer, 3))
        return
    names = [net.writer.numbers(each) for each in (starts, ends)]
    if "begin_mask" in layer.stated:
        masks = [layer.numbers(name) for name in ("begin_mask", "end_mask")]
        starts = [0 if masks[0][at : at + 1] == [1] else each for at, each in enumerate(starts)]
        ends = [
            shape[at] if masks[1][at : at + 1] == [1] and at < len(shape) else each
            for at, each in enumerate(ends)
        ]
        names = [net.writer.numbers(each) for each in (starts, ends)]
        names += [net.writer.numbers(list(range(len(starts))))]
        names += [net.writer.numbers(steps or [1] * len(starts))]
    else:
        axes = net.few(layer, 4) if len(layer.reads) > 4 else list(range(len(starts)))
        names += [net.writer.numbers(axes or [0]), net.writer.numbers(steps or [1] * len(starts))]
    net.same(layer, net.writer.node("Slice", [value, *names]))


def _gathered(net: _Writing, layer: NetLayer) -> None:
    axes = net.few(layer, 2)
    table, index = net.operands(layer, 2)
    net.write(layer, "Gather", [table, index], axis=axes[0] if axes else 0)


def _resized(net: _Writing, layer: NetLayer) -> None:
    net.write(layer, "Resize", [net.operand(layer, 0), "", "", net.writer.numbers(layer.shape())])


def _shuffled(operator: str) -> Rule:
    def rule(net: _Writing, layer: NetLayer) -> None:
        net.write(layer, operator, net.operands(layer, 1), blocksize=layer.whole("block_size", 1))

    return rule


def _filled(net: _Writing, layer: NetLayer) -> None:
    """A value that holds nothing of what the layer reads."""
    for place in range(len(layer.gives)):
        net.put(layer, net.writer.blank(layer.shape(place)), place)


def _shape_of(net: _Writing, layer: NetLayer) -> None:
    """The shape of a value, where all of it is known."""
    shape = layer.given(0)
    if min(shape, default=1) < 1:
        _filled(net, layer)
    else:
        net.put(layer, net.writer.numbers(shape))


def _kept(net: _Writing, layer: NetLayer) -> None:
    """What was kept from the run before: data, or weights that no run changes."""
    held = net.operand(layer, 0)
    if held and variable_of(layer) not in net.changed:
        net.put(layer, held)
    else:
        net.write(layer, STATE, [net.writer.blank(layer.shape())])


def _none(_net: _Writing, _layer: NetLayer) -> None:
    """A layer that gives nothing."""


def _attention(net: _Writing, layer: NetLayer) -> None:
    """``(query, key, value, mask, scale)``; a mask of one number is none."""
    names = net.operands(layer, 3)
    if prod(layer.given(3)) != 1:
        names += [each for each in [net.operand(layer, 3)] if each]
    net.write(layer, "Attention", names, is_causal=layer.whole("causal"))


def _cells(operator: str, states: int) -> Rule:
    """A layer of recurrent cells: ``(input, states, lengths, weights of input and state, bias)``.

    Args:
        operator: The operator of the standard.
        states: How many states a cell has.
    """

    def rule(net: _Writing, layer: NetLayer) -> None:
        is_sequence = layer.kind.endswith("Sequence")
        value, first = net.operand(layer, 0), 1 + states + is_sequence
        places = [*range(first, len(layer.reads)), *range(1, 1 + states)]
        weights = [name for place in places if (name := net.operand(layer, place))]
        shape = layer.given(0)
        order = (2, 1, 0, 3)  # batch, directions, time, states
        if is_sequence:
            value = net.writer.transposed(value, (1, 0, 2))
        else:
            value = net.writer.reshaped(value, (1, *(max(extent, 1) for extent in shape)))
        result = net.writer.node(
            operator,
            [value, *weights],
            hidden_size=layer.whole("hidden_size"),
            direction=layer.stated.get("direction", "forward"),
        )
        net.same(layer, net.writer.transposed(result, order) if is_sequence else result)
        for place in range(1, len(layer.gives)):
            net.put(layer, net.writer.node("Identity", [result]), place)

    return rule


def _looped(net: _Writing, layer: NetLayer) -> None:
    """A loop, whose body is there once: a later step, whose states are data."""
    body = layer.bodies.get("body")
    if body is None or not body.outputs:
        net.unread(layer)
        return
    links = {link.number: link for link in body.inputs}
    given = {
        each.number: _of_step(net, layer, each, links, is_state=each.number in body.states)
        for each in body.net.layers.values()
        if each.kind == "Parameter"
    }
    results = net.within(layer, "body").written(given)
    for place, name in enumerate(_outside(layer, body, results)):
        net.same(layer, name, place)


def _of_step(
    net: _Writing, layer: NetLayer, inner: NetLayer, links: Mapping[str, Link], *, is_state: bool
) -> str:
    """What an input of a loop's body is in one step."""
    link = _link_of(layer, inner, links)
    if link.port not in layer.reads:
        return net.writer.numbers(np.ones(inner.shape(), np.int64))  # how many steps there were
    value = net.operand(layer, layer.reads.index(link.port))
    if is_state:
        return net.writer.node(STATE, [value or net.writer.blank(inner.shape())])
    if link.axis is None:
        return value
    if link.size == 1:
        part = net.writer.node("Gather", [value, net.writer.numbers(0)], axis=link.axis)
        return net.writer.node("Unsqueeze", [part, net.writer.numbers([link.axis])])
    bounds = [net.writer.numbers([each]) for each in (0, link.size, link.axis)]
    return net.writer.node("Slice", [value, *bounds])


def _link_of(layer: NetLayer, inner: NetLayer, links: Mapping[str, Link]) -> Link:
    if inner.number not in links:
        raise ValueError(
            f"wanted a port for each input of a body, came none for layer {inner.number} in "
            f"layer {layer.number}"
        )
    return links[inner.number]


def _outside(layer: NetLayer, body: NetBody, results: Mapping[str, str]) -> list[str]:
    """The names of what a body gives for each result of its layer."""
    inside = {link.port: results.get(link.number, "") for link in body.outputs}
    names = [inside.get(port, "") for port in layer.gives]
    if not all(names):
        raise ValueError(f"wanted a value for each result of layer {layer.number}, came fewer")
    return names


def _chosen(net: _Writing, layer: NetLayer) -> None:
    """A choice of two bodies, as that of the standard."""
    branches = {}
    for name, branch in (("then_body", "then_branch"), ("else_body", "else_branch")):
        body = layer.bodies.get(name)
        if body is None or not body.outputs:
            net.unread(layer)
            return
        branches[branch] = _branch(net, layer, name)
    names = [f"{net.mark}choice {layer.number} {place}" for place in range(len(layer.gives))]
    net.writer.node("If", [net.operand(layer, 0)], *names, **branches)
    for place, name in enumerate(names):
        net.put(layer, name, place)


def _branch(net: _Writing, layer: NetLayer, name: str) -> Any:  # noqa: ANN401
    body = layer.bodies[name]
    links = {link.number: link for link in body.inputs}
    given = {}
    for inner in body.net.layers.values():
        if inner.kind == "Parameter":
            port = _link_of(layer, inner, links).port
            given[inner.number] = net.operand(layer, layer.reads.index(port))
    net.writer.begin_body()
    results = net.within(layer, name).written(given)
    names = [net.writer.node("Identity", [each]) for each in _outside(layer, body, results)]
    return net.writer.end_body([], names)


_RULES: Final[Mapping[str, Rule]] = {
    "TensorIterator": _looped, "Loop": _looped, "If": _chosen,
    "Convolution": _conv("Conv"), "GroupConvolution": _conv("Conv", is_grouped=True),
    "ConvolutionBackpropData": _conv("ConvTranspose"),
    "GroupConvolutionBackpropData": _conv("ConvTranspose", is_grouped=True),
    "MatMul": _product, "MaxPool": _pool("MaxPool"), "AvgPool": _pool("AveragePool"),
    "AdaptiveAvgPool": _plain("GlobalAveragePool", 1),
    "AdaptiveMaxPool": _plain("GlobalMaxPool", 1),
    "Subtract": _arithmetic("Sub"), "Multiply": _arithmetic("Mul"),
    **{name: _plain(standard) for name, standard in {
        "Add": "Add", "Divide": "Div", "Power": "Pow", "Maximum": "Max", "Minimum": "Min",
        "Mod": "Mod", "FloorMod": "Mod", "ReLU": "Relu", "PReLU": "PRelu", "Sigmoid": "Sigmoid",
        "Tanh": "Tanh", "Exp": "Exp", "Log": "Log", "Sqrt": "Sqrt", "Abs": "Abs",
        "Negative": "Neg", "Erf": "Erf", "Floor": "Floor", "Ceiling": "Ceil", "Round": "Round",
        "Sin": "Sin", "Cos": "Cos", "Tan": "Tan", "Sign": "Sign", "HSwish": "HardSwish",
        "HSigmoid": "HardSigmoid", "Mish": "Mish", "SoftPlus": "Softplus", "SoftSign": "Softsign",
        "Select": "Where", "Equal": "Equal", "Less": "Less", "LessEqual": "LessOrEqual",
        "Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "LogicalAnd": "And",
        "LogicalOr": "Or", "LogicalNot": "Not", "LogicalXor": "Xor", "GatherND": "GatherND",
        "GatherElements": "GatherElements", "ScatterNDUpdate": "ScatterND",
        "ScatterUpdate": "Scatter", "ScatterElementsUpdate": "ScatterElements", "Tile": "Tile",
        "CumSum": "CumSum", "OneHot": "Compare", "Einsum": "Einsum", "NonZero": "NonZero",
        "GridSample": "GridSample", "Atan": "Atan", "RoPE": "RotaryEmbedding",
    }.items()},
    **{name: _plain(standard, 1) for name, standard in {
        "Gelu": "Gelu", "Swish": "Swish", "Elu": "Elu", "HardSigmoid": "HardSigmoid",
        "Selu": "Selu", "NormalizeL2": "LpNormalization", "ReverseSequence": "ReverseSequence",
        "TopK": "TopK", "RDFT": "DFT", "DFT": "DFT", "IDFT": "InverseDFT", "IRDFT": "InverseDFT",
    }.items()},
    "NotEqual": _negated("Equal"), "SquaredDifference": _squared_difference, "Clamp": _clamp,
    **dict.fromkeys((
        "Reshape", "Squeeze", "Unsqueeze", "Transpose", "ConvertLike", "FakeQuantize",
        "FakeConvert", "Identity",
    ), _Writing.pass_on),
    "Convert": _Writing.convert, "Broadcast": _plain("Expand", 1),
    "SoftMax": _axis("Softmax"), "Softmax": _axis("Softmax"), "LogSoftmax": _axis("LogSoftmax"),
    "Concat": _axis("Concat"), "MVN": _norm, "GroupNormalization": _grouped_norm,
    "RMS": _plain("RMSNormalization"), "RMSNorm": _plain("RMSNormalization"),
    "BatchNormInference": _batch_norm, "LRN": _response_norm,
    **{f"Reduce{name}": _reduced(f"Reduce{name}") for name in (
        "Mean", "Sum", "Max", "Min", "Prod", "L1", "L2",
    )},
    "ReduceLogicalOr": _reduced("ReduceMax"), "ReduceLogicalAnd": _reduced("ReduceMin"),
    "Pad": _padded, "Split": _split, "VariadicSplit": _split, "Slice": _sliced,
    "StridedSlice": _sliced, "Gather": _gathered, "Interpolate": _resized,
    "DepthToSpace": _shuffled("DepthToSpace"), "SpaceToDepth": _shuffled("SpaceToDepth"),
    **dict.fromkeys((
        "Range", "RandomUniform", "PriorBox", "PriorBoxClustered", "Eye",
    ), _filled),
    "ShapeOf": _shape_of, "ReadValue": _kept, "Assign": _none,
    "ScaledDotProductAttention": _attention,
    "LSTMSequence": _cells("LSTM", 2), "GRUSequence": _cells("GRU", 1),
    "RNNSequence": _cells("RNN", 1), "LSTMCell": _cells("LSTM", 2), "GRUCell": _cells("GRU", 1),
    "RNNCell": _cells("RNN", 1),
    **dict.fromkeys((
        "NonMaxSuppression", "DetectionOutput", "MulticlassNms", "MatrixNms", "NMSRotated",
    ), _plain("NonMaxSuppression", 2)),
    **dict.fromkeys(("ROIPooling", "ROIAlign", "PSROIPooling"), _plain("RoiAlign")),
}  # fmt: skip
