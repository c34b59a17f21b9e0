"""The XML of an OpenVINO model: its layers and edges, of which nothing is believed.

No document type and no entity is read, so that nothing grows and nothing is fetched. Elements, and
what a layer holds, are bounded. A layer may hold nets of its own: the bodies of loops and choices.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Final, TypeAlias
from xml.parsers import expat

from nar.capture.onnx.writing import MOST_OPERATORS
from nar.capture.trace import Shape

# Chosen: a layer takes about 800 bytes of XML, and this many bytes hold more layers than are read.
_MOST_BYTES: Final = 512 << 20
_CHUNK: Final = 1 << 16  # bytes that the parser gets at a time; chosen: little memory, few calls
# Chosen: net, layers, layer, input, port, dim, and bodies in bodies.
_MOST_DEPTH: Final = 64
_DEPTH_OF_PORT: Final = 4  # layers, layer, input, port
_MOST_RANK: Final = 16  # chosen: more axes than any layer has
# Chosen: more numbers than any tensor has, and few enough that the sum of all fits in 64 bits.
_MOST_ELEMENTS: Final = 1 << 40
# Chosen: a layer has two or three; those that have hundreds are few.
_MOST_PORTS: Final = 8 * MOST_OPERATORS
# Chosen: the digits of an extent, with the spaces around them that an indented file may have.
_MOST_DIGITS: Final = 64


def read_net(path: Path) -> "Net":
    """The net that a file holds.

    Raises:
        ValueError: It is no XML of a net, or what it says does not fit.
        OSError: It cannot be read.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"wanted at most {_MOST_BYTES:,} bytes of XML, came more")
    with path.open("rb") as file:
        return NetReader().read(iter(partial(file.read, _CHUNK), b""))


# Types of constants: floats, and those in which weights are compressed.
FLOATS: Final = frozenset({"f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2", "f4e2m1", "nf4"})
PACKED: Final = frozenset({"i8", "u8", "i4", "u4", "u3", "u2", "i2", "u6", "u1"})
# What nothing reads: results, and layers that keep a value for the next run.
_LAST: Final = frozenset({"Result", "Assign"})
# What holds other numbers in each run.
_VARYING: Final = frozenset({"Parameter", "ReadValue", "RandomUniform"})
# Places of operands that are bounds, shapes and lengths, which say nothing of a design.
_UNREAD: Final[Mapping[str, frozenset[int]]] = {
    "FakeQuantize": frozenset(range(1, 5)), "FakeConvert": frozenset(range(1, 3)),
    "Broadcast": frozenset({1, 2}), "Reshape": frozenset({1}), "Swish": frozenset({1}),
    "LSTMSequence": frozenset({3}), "GRUSequence": frozenset({2}), "RNNSequence": frozenset({2}),
    "ShapeOf": frozenset({0}),
}  # fmt: skip
# Places of the states that cells begin with: zeros, where no data is in them.
_STATES: Final[Mapping[str, frozenset[int]]] = {
    "LSTMSequence": frozenset({1, 2}), "GRUSequence": frozenset({1}), "RNNSequence": frozenset({1}),
    "LSTMCell": frozenset({1, 2}), "GRUCell": frozenset({1}), "RNNCell": frozenset({1}),
    "ReadValue": frozenset({0}),
}  # fmt: skip
# Where bodies and their ports stand: those of a loop, and of both sides of a choice.
_BODIES: Final = tuple(f"layers/layer/{name}body" for name in ("", "then_", "else_"))
_LINKS: Final = tuple(
    f"{path.removesuffix('body')}port_map/{side}"
    for path in _BODIES
    for side in ("input", "output")
)
Port: TypeAlias = tuple[str, str]  # a layer and one of its ports


@dataclass(slots=True)
class NetLayer:
    """A layer of the XML.

    Attributes:
        number: Its number.
        kind: Its operator.
        stated: What it states.
        inputs: The ports that it reads, each with its shape, -1 for an open extent.
        outputs: The ports of its results.
        kinds: The types of the results.
        bodies: Its bodies, by what they are to it: ``body``, ``then_body``, ``else_body``.
        reads: The ports that it reads, in their order.
        gives: The ports of its results, in their order.
    """

    number: str
    kind: str
    stated: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, list[int]] = field(default_factory=dict)
    outputs: dict[str, list[int]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    bodies: dict[str, "NetBody"] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()

    def close(self) -> None:
        """Note the order of its ports, of which no more come."""
        self.reads, self.gives = tuple(self.inputs), tuple(self.outputs)

    def shape(self, place: int = 0) -> Shape:
        """The shape of a result."""
        return tuple(self.outputs[self.gives[place]]) if self.gives else ()

    def given(self, place: int) -> Shape:
        """The shape of an operand."""
        return tuple(self.inputs[self.reads[place]]) if place < len(self.reads) else ()

    def states(self) -> frozenset[int]:
        """The places of the operands that the states of its body begin with."""
        return frozenset(
            self.reads.index(link.port)
            for body in self.bodies.values()
            for link in body.inputs
            if link.number in body.states and link.port in self.reads
        )

    def numbers(self, name: str, default: Iterable[int] = ()) -> list[int]:
        """Whole numbers that it states."""
        text = self.stated.get(name, "")
        return [int(part) for part in text.split(",")] if text.strip() else list(default)

    def whole(self, name: str, default: int = 0) -> int:
        """A whole number, or whether something is so."""
        text = self.stated.get(name, str(default)).strip().lower()
        return int(text == "true") if text in ("true", "false") else int(text)


@dataclass(frozen=True, slots=True)
class Link:
    """What a port of a layer is inside its body.

    Attributes:
        port: The port; none of the layer's where the layer itself gives or takes the value.
        number: The input or the result of the body.
        axis: The axis of which each step has a part; None where it has the whole value.
        size: How much of that axis a step has.
    """

    port: str
    number: str
    axis: int | None
    size: int


@dataclass(slots=True)
class NetBody:
    """A net inside a layer.

    Attributes:
        net: The net.
        inputs: Its inputs, and what they are outside.
        outputs: Its results, and what they are outside.
        states: The inputs that hold what the step before gave.
    """

    net: "Net" = field(default_factory=lambda: Net())
    inputs: list[Link] = field(default_factory=list)
    outputs: list[Link] = field(default_factory=list)
    states: set[str] = field(default_factory=set)

    def weights(self) -> Iterator[Shape]:
        """The shapes of its weights, and of those of bodies inside it."""
        for layer in self.net.layers.values():
            shape = tuple(layer.numbers("shape"))
            is_held = layer.stated.get("element_type") in FLOATS | PACKED and prod(shape) > 1
            if layer.kind == "Const" and is_held:
                yield shape
            for body in layer.bodies.values():
                yield from body.weights()


class NetReader:
    """Reads the layers and the edges of a net, and of the nets inside its layers."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._nets: list[_OpenNet] = []
        self._dims: list[int] | None = None
        self._text = ""
        self._layers = self._ports = 0

    def read(self, chunks: Iterable[bytes]) -> "Net":
        """Read a file.

        Raises:
            ValueError: It is no XML, has a document type, or is no net.
        """
        net = Net()
        self._nets.append(_OpenNet(net, 1))
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = _refuse
        parser.EntityDeclHandler = _refuse
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._say
        try:
            for chunk in chunks:
                parser.Parse(chunk, False)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise ValueError(f"wanted an XML file of OpenVINO, came {error}") from error
        if not net.layers:
            raise ValueError("wanted a net with layers, came none")
        return net

    def _begin(self, tag: str, stated: dict[str, str]) -> None:
        self._open.append(tag)
        if len(self._open) == 1 and tag != "net":
            raise ValueError(f"wanted a net of OpenVINO, came an XML file with {tag[:40]}")
        if len(self._open) > _MOST_DEPTH:
            raise ValueError(f"wanted at most {_MOST_DEPTH} elements in each other, came more")
        path = self._open[self._nets[-1].depth :]
        begin = self._BEGIN.get("/".join(path)) if len(path) <= _DEPTH_OF_PORT else None
        if begin is not None:
            begin(self, stated)

    @property
    def _layer(self) -> NetLayer:
        """The layer that is open."""
        layer = self._nets[-1].layer
        assert layer is not None
        return layer

    def _begin_layer(self, stated: dict[str, str]) -> None:
        layers = self._nets[-1].net.layers
        if stated["id"] in layers:
            raise ValueError(f"wanted a number for each layer, came {stated['id']} twice")
        layers[stated["id"]] = self._nets[-1].layer = NetLayer(stated["id"], stated["type"])
        self._layers += 1
        if self._layers > MOST_OPERATORS:
            raise ValueError(f"wanted at most {MOST_OPERATORS:,} layers, came more")

    def _state(self, stated: dict[str, str]) -> None:
        self._layer.stated.update(stated)
        if self._layer.kind == "Const":
            _check_shape(self._layer.numbers("shape"))

    def _begin_input(self, stated: dict[str, str]) -> None:
        self._dims = self._layer.inputs.setdefault(stated["id"], [])
        self._count_port()

    def _begin_output(self, stated: dict[str, str]) -> None:
        self._dims = self._layer.outputs.setdefault(stated["id"], [])
        self._layer.kinds[stated["id"]] = stated.get("precision", "FP32")
        self._count_port()

    def _count_port(self) -> None:
        self._ports += 1
        if self._ports > _MOST_PORTS:
            raise ValueError(f"wanted at most {_MOST_PORTS:,} ports, came more")

    def _begin_edge(self, stated: dict[str, str]) -> None:
        target = (stated["to-layer"], stated["to-port"])
        sources = self._nets[-1].net.sources
        if target in sources:
            raise ValueError(f"wanted one source for each port, came two for {target}")
        sources[target] = (stated["from-layer"], stated["from-port"])

    def _begin_body(self, _stated: dict[str, str]) -> None:
        body = self._layer.bodies.setdefault(self._open[-1], NetBody())
        self._nets.append(_OpenNet(body.net, len(self._open)))

    def _begin_link(self, stated: dict[str, str]) -> None:
        """A port of a layer, and the input or the result of a body that it stands for."""
        name = self._open[-2].replace("port_map", "body")
        body = self._layer.bodies.setdefault(name, NetBody())
        axis = stated.get("axis")
        link = Link(
            stated["external_port_id"],
            stated["internal_layer_id"],
            None if axis is None else int(axis),
            int(stated.get("part_size", 1)),
        )
        (body.inputs if self._open[-1] == "input" else body.outputs).append(link)
        self._count_port()

    def _begin_back_edge(self, stated: dict[str, str]) -> None:
        body = self._layer.bodies.setdefault("body", NetBody())
        body.states.add(stated["to-layer"])

    _BEGIN: Final[Mapping[str, Callable[["NetReader", dict[str, str]], None]]] = {
        "layers/layer": _begin_layer,
        "layers/layer/data": _state,
        "layers/layer/input/port": _begin_input,
        "layers/layer/output/port": _begin_output,
        "edges/edge": _begin_edge,
        **dict.fromkeys(_BODIES, _begin_body),
        **dict.fromkeys(_LINKS, _begin_link),
        "layers/layer/back_edges/edge": _begin_back_edge,
    }

    def _say(self, text: str) -> None:
        if self._dims is None or self._open[-1] != "dim":
            return
        self._text += text
        if len(self._text) > _MOST_DIGITS:
            raise ValueError(f"wanted extents of at most {_MOST_DIGITS} characters, came more")

    def _end(self, tag: str) -> None:
        depth = len(self._open) - self._nets[-1].depth
        if tag == "dim" and self._dims is not None:
            self._dims.append(int(self._text))
            _check_shape(self._dims)
        elif tag == "port":
            self._dims = None
        elif self._open[-depth:] == ["layers", "layer"] and depth:
            self._layer.close()
            self._nets[-1].layer = None
        elif not depth and len(self._nets) > 1:
            self._nets.pop()
        self._open.pop()
        self._text = ""


@dataclass(slots=True)
class _OpenNet:
    """A net of which the file has more: how deep it stands, and its layer that is open."""

    net: "Net"
    depth: int
    layer: NetLayer | None = None


@dataclass(slots=True)
class Net:
    """Layers and edges.

    Attributes:
        layers: Layers by their numbers, in the order of the file.
        sources: The port that gives what a port reads.
    """

    layers: dict[str, NetLayer] = field(default_factory=dict)
    sources: dict[Port, Port] = field(default_factory=dict)

    def needed(self) -> set[str]:
        """The layers that a result needs, without those that say nothing of a design."""
        data, changed = self.depending(frozenset({"Parameter"})), self.changed()
        waiting = [each.number for each in self.layers.values() if each.kind in _LAST]
        found = set(waiting)
        while waiting:
            layer = self.layers[waiting.pop()]
            states = _STATES.get(layer.kind, layer.states())
            if layer.kind == "ReadValue" and variable_of(layer) not in changed:
                states = frozenset()  # what it begins with is what it holds
            for place, port in self._read(layer):
                source = self.sources.get((layer.number, port))
                if source is None or (place in states and source[0] not in data):
                    continue
                if source[0] not in found:
                    found.add(source[0])
                    waiting.append(source[0])
        return found

    def changed(self) -> set[str]:
        """The variables that a run gives data."""
        data = self.depending(frozenset({"Parameter"}))
        kept = (each for each in self.layers.values() if each.kind == "Assign")
        return {variable_of(each) for each in kept if each.number in data}

    def depending(self, kinds: frozenset[str] = _VARYING) -> set[str]:
        """The layers whose results depend on layers of some kinds, and these."""
        readers: dict[str, list[str]] = {}
        for layer in self.layers.values():
            for _, port in self._read(layer):
                source = self.sources.get((layer.number, port))
                readers.setdefault(source[0] if source else "", []).append(layer.number)
        waiting = [each.number for each in self.layers.values() if each.kind in kinds]
        found = set(waiting)
        while waiting:
            for reader in readers.get(waiting.pop(), ()):
                if reader not in found:
                    found.add(reader)
                    waiting.append(reader)
        return found

    def _read(self, layer: NetLayer) -> Iterator[tuple[int, str]]:
        left_out = _UNREAD.get(layer.kind, frozenset())
        return ((at, port) for at, port in enumerate(layer.reads) if at not in left_out)

    def in_order(self) -> Iterator[NetLayer]:
        """The layers, each after those that it reads.

        Raises:
            ValueError: An edge leads from a port that is not there, or layers wait for each other.
        """
        waits: dict[str, int] = dict.fromkeys(self.layers, 0)
        readers: dict[str, list[str]] = {number: [] for number in self.layers}
        for (reader, _), (source, port) in self.sources.items():
            if reader not in waits or port not in self.layers.get(source, NetLayer("", "")).outputs:
                raise ValueError(f"wanted edges between layers, came one from {source} to {reader}")
            waits[reader] += 1
            readers[source].append(reader)
        ready = deque(number for number, count in waits.items() if not count)
        left = len(waits)
        while ready:
            number = ready.popleft()
            left -= 1
            yield self.layers[number]
            for reader in readers[number]:
                waits[reader] -= 1
                if not waits[reader]:
                    ready.append(reader)
        if left:
            raise ValueError(f"wanted layers without circles, came {left} that wait for each other")


def variable_of(layer: NetLayer) -> str:
    """The name of the variable that a layer reads or assigns."""
    return layer.stated.get("variable_id", "")


def _check_shape(shape: Sequence[int]) -> None:
    if len(shape) > _MOST_RANK or prod(map(abs, shape)) > _MOST_ELEMENTS:
        raise ValueError(
            f"wanted at most {_MOST_RANK} axes and {_MOST_ELEMENTS:,} numbers, came the "
            f"shape {list(shape[: _MOST_RANK + 1])}"
        )


def _refuse(*_declared: object) -> None:
    raise ValueError("wanted XML without a document type and entities, came one with them")
