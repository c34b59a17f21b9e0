"""Control flow and sequences of an ONNX graph in line: what remains is one graph of tensors.

A branch or a body is a graph of its own, which reads values of the graph around it. Of a choice
between two branches of one design, the larger branch stands for both; of other choices both
branches stay, under one ``Where``. A loop's body is there once, as every step that
`nar.capture.graphs.fold_steps` leaves; the states that it begins with are data. A search for the
best text is the model that it asks for the next word: an encoder and a decoder are there once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from math import prod
from typing import Any, Final

import numpy as np

from nar.capture.onnx.facts import MAX_NUMBERS, onnx
from nar.capture.onnx.ops import FOLDED, WEIGHTS

Nodes = list[Any]
# Operators of onnxruntime whose bodies give the scores of the next word of a text.
_SEARCHES: Final = frozenset({"BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"})
_RUNTIME: Final = "com.microsoft"
Weights = dict[str, Any]  # tensors of the file, by name

# Operators that no file has: the state that a step of a loop reads, the results of all steps on a
# new axis, and a cut into parts whose widths are to each other as shares.
STATE, STACKED, SHARED_OUT = "State", "Stacked", "SplitInShares"
_STRUCTURE: Final = frozenset({*FOLDED.split(), "Constant", "Where"})
# Chosen: a sequence that grows by an element at each of n nodes holds n * n / 2; real ones grow in
# loops, whose bodies are there once.
_MOST_ELEMENTS: Final = 1_000_000
_PASSED_ON: Final = frozenset({"Identity", STATE, "Optional", "OptionalGetElement"})


def node_of(operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> Any:  # noqa: ANN401
    """A standard node."""
    return onnx("helper").make_node(operator, list(inputs), [output], **attributes)


def constant_of(name: str, numbers: Any) -> Any:  # noqa: ANN401
    """A node that gives numbers."""
    tensor = onnx("numpy_helper").from_array(np.asarray(numbers), name)
    return node_of("Constant", [], name, value=tensor)


def weight_of(name: str, shape: Sequence[int]) -> Any:  # noqa: ANN401
    """A learned tensor of a shape, as if its numbers lay in another file."""
    proto = onnx().TensorProto
    return proto(
        name=name, dims=shape, data_type=proto.FLOAT, data_location=proto.DataLocation.EXTERNAL
    )


def attributes_of(node: Any) -> dict[str, Any]:  # noqa: ANN401
    """The attributes of a node by name; texts as such, which a file has as bytes."""
    value_of = onnx("helper").get_attribute_value
    stated = ((entry.name, value_of(entry)) for entry in node.attribute)
    return {
        name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        for name, value in stated
    }


def in_line(graph: Any) -> None:  # noqa: ANN401
    """Rewrite a ``GraphProto``: no bodies, no sequences, and every weight an initializer."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for entry in graph.sparse_initializer:
        weights[entry.values.name] = weight_of(entry.values.name, entry.dims)
    bodies = _Bodies(weights)
    nodes = bodies.in_line(graph)
    graph.input.extend(bodies.inputs)
    for entry in graph.output:
        if entry.name in bodies.scores:
            entry.CopyFrom(_value(entry.name))
    nodes = list(_without_sequences(nodes, weights, graph))
    nodes = list(_without_constant_weights(nodes, weights))
    for field, content in (("node", nodes), ("initializer", weights.values())):
        # The content is read from the field that is cleared.
        kept = list(content)
        del getattr(graph, field)[:]
        getattr(graph, field).extend(kept)
    del graph.sparse_initializer[:]


class _Bodies:
    """Puts the bodies of nodes in line.

    Args:
        weights: Tensors of the file; tensors of bodies are added.

    Attributes:
        inputs: What bodies read that no value of the graph gives.
        scores: Names of results that are scores of words, where the file has the words.
    """

    def __init__(self, weights: Weights) -> None:
        self.inputs: list[Any] = []
        self.scores: set[str] = set()
        self._weights = weights
        self._numbers = count()
        self._rules: Mapping[str, Callable[[Any], Iterator[Any]]] = {
            "If": self._choice,
            "Loop": self._loop,
            "Scan": self._scan,
            "SequenceMap": self._mapped,
        }

    def in_line(self, graph: Any) -> Nodes:  # noqa: ANN401
        """The nodes of a graph, with those of its bodies, in topological order."""
        nodes: Nodes = []
        for node in graph.node:
            rule = None if node.domain else self._rules.get(node.op_type)
            if node.domain == _RUNTIME and node.op_type in _SEARCHES:
                rule = self._search
            nodes.extend([node] if rule is None else rule(node))
        return nodes

    def _body(self, graph: Any) -> tuple[Nodes, list[str], list[str]]:  # noqa: ANN401
        """Nodes, inputs and outputs of a body, under names that nothing else has."""
        nodes, mark = self.in_line(graph), f"body{next(self._numbers)}"
        named = (entry.name for entry in (*graph.input, *graph.initializer))
        own = {*named, *(name for node in nodes for name in node.output if name)}
        new = {name: f"{mark}/{name}" for name in own}
        for tensor in graph.initializer:
            copy = type(tensor)()
            copy.CopyFrom(tensor)
            copy.name = new[tensor.name]
            self._weights[copy.name] = copy
        for node in nodes:
            for field in (node.input, node.output):
                for place, name in enumerate(field):
                    field[place] = new.get(name, name)
        inputs, outputs = (
            [new.get(entry.name, entry.name) for entry in entries]
            for entries in (graph.input, graph.output)
        )
        return nodes, inputs, outputs

    def _choice(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        graphs = attributes_of(node)
        branches = [self._body(graphs[name]) for name in ("then_branch", "else_branch")]
        (one, _, first), (other, _, second) = branches
        if self._design(one) == self._design(other):
            nodes, _, names = max(branches, key=lambda branch: self._size(branch[0]))
            yield from nodes
            yield from _passed(names, node.output)
            return
        yield from (*one, *other)
        for left, right, name in zip(first, second, node.output, strict=True):
            if name:
                yield node_of("Where", [node.input[0], left, right], name)

    def _design(self, nodes: Nodes) -> list[str]:
        """The layers of a branch, or its operators where it has no layer."""
        layers = [n.op_type for n in nodes if any(map(self._is_weight, n.input))]
        return layers or [n.op_type for n in nodes if n.op_type not in _STRUCTURE]

    def _is_weight(self, name: str) -> bool:
        return name in self._weights and prod(self._weights[name].dims) > MAX_NUMBERS

    def _size(self, nodes: Nodes) -> int:
        """How many numbers a branch has learned, and then how many operators."""
        read = {name for node in nodes for name in node.input if name in self._weights}
        learned: int = sum(prod(self._weights[name].dims) for name in read)
        return learned + len(nodes)

    def _loop(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        nodes, (step, go_on, *states), outputs = self._body(attributes_of(node)["body"])
        # A later step: in the first one, states are what they begin with.
        yield constant_of(step, np.int64(1))
        yield constant_of(go_on, np.bool_(True))
        yield from self._steps(node.output, nodes, states, node.input[2:], outputs[1:])

    def _scan(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        attributes = attributes_of(node)
        nodes, inputs, outputs = self._body(attributes["body"])
        read = list(node.input)[-len(inputs) :]  # before opset 9, the first one is of lengths
        is_batched = len(node.input) > len(inputs)
        states = len(inputs) - attributes["num_scan_inputs"]
        axes = attributes.get("scan_input_axes", [])
        for place, (name, source) in enumerate(zip(inputs[states:], read[states:], strict=True)):
            axis = axes[place] if place < len(axes) else int(is_batched)
            yield constant_of(f"{name}/step", np.int64(0))
            yield node_of("Gather", [source, f"{name}/step"], name, axis=axis)
        yield from self._steps(node.output, nodes, inputs[:states], read[:states], outputs)

    def _steps(
        self,
        results: Sequence[str],
        nodes: Nodes,
        states: Sequence[str],
        begins: Sequence[str],
        outputs: Sequence[str],
    ) -> Iterator[Any]:
        """One step: its states, its nodes, its last states, and what it gives at every step."""
        for state, begin in zip(states, begins, strict=True):
            yield node_of(STATE, [begin], state)
        yield from nodes
        yield from _passed(outputs[: len(states)], results[: len(states)])
        yield from _passed(outputs[len(states) :], results[len(states) :], STACKED)

    def _mapped(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        nodes, inputs, outputs = self._body(attributes_of(node)["body"])
        for name, source in zip(inputs, node.input, strict=True):
            yield constant_of(f"{name}/step", np.int64(0))
            yield node_of("SequenceAt", [source, f"{name}/step"], name)
        yield from nodes
        yield from _passed(outputs, node.output, "SequenceConstruct")

    def _search(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        """An encoder, where there is one, and a decoder, of which the first result is the scores.

        What an encoder gives, the decoder reads under the same name, or as what is past.
        """
        graphs, given = attributes_of(node), {}
        prompt: str | None = node.input[0]
        encoder = graphs.get("encoder")
        if encoder is not None:
            nodes, inputs, outputs = self._body(encoder)
            yield from self._given(encoder, inputs, {encoder.input[0].name: prompt})
            yield from nodes
            stated = (*encoder.input[1:], *encoder.output[1:])
            given = {
                entry.name.replace("present", "past"): name
                for entry, name in zip(stated, (*inputs[1:], *outputs[1:]), strict=True)
                if "self" not in entry.name  # of the words before, which are data
            }
            prompt = None
        decoder = graphs["decoder"]
        nodes, inputs, outputs = self._body(decoder)
        yield from self._given(decoder, inputs, {**given, decoder.input[0].name: prompt})
        yield from nodes
        yield from _passed(outputs[:1] * len(node.output), node.output)
        self.scores.update(node.output)

    def _given(
        self,
        graph: Any,  # noqa: ANN401
        inputs: Sequence[str],
        given: Mapping[str, str | None],
    ) -> Iterator[Any]:
        """Nodes for the inputs of a body that have a value; the others are inputs of the graph."""
        for entry, name in zip(graph.input, inputs, strict=True):
            value = given.get(entry.name)
            if value is not None:
                yield node_of("Identity", [value], name)
            else:
                added = type(entry)()
                added.CopyFrom(entry)
                added.name = name
                self.inputs.append(added)


def _passed(
    names: Sequence[str], results: Sequence[str], operator: str = "Identity"
) -> Iterator[Any]:
    return (
        node_of(operator, [name], result)
        for name, result in zip(names, results, strict=False)
        if result
    )


def _without_sequences(nodes: Nodes, weights: Weights, graph: Any) -> Iterator[Any]:  # noqa: ANN401
    """The nodes, with each element of a sequence as a tensor of its own.

    Args:
        nodes: All nodes.
        weights: Tensors of the file.
        graph: The graph, whose outputs that are sequences become their elements.
    """
    sequences = _Sequences(weights)
    for node in nodes:
        yield from sequences.passed(node)
    outputs = list(graph.output)
    del graph.output[:]
    for entry in outputs:
        elements = sequences.elements(entry.name)
        kept = [entry] if elements is None else map(_value, elements)
        graph.output.extend(kept)


def _value(name: str) -> Any:  # noqa: ANN401
    return onnx("helper").make_empty_tensor_value_info(name)


class _Sequences:
    """Follows sequences from node to node.

    Attributes:
        lists: The elements of each sequence that is put together.
    """

    def __init__(self, weights: Weights) -> None:
        self.lists: dict[str, list[str]] = {}
        self._splits: dict[str, Any] = {}
        self._kept = 0
        self._numbers: Weights = dict(weights)

    def elements(self, name: str) -> list[str] | None:
        """The tensors of a sequence: of a value that is cut into one, the value; None of others."""
        split = self._splits.get(name)
        return self.lists.get(name) if split is None else [split.input[0]]

    def passed(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        """A node, or the nodes on tensors that stand for it."""
        if node.op_type == "Constant":
            self._numbers[node.output[0]] = _tensor_of(node)
        rule = self._LISTED.get(node.op_type)
        if node.op_type == "SplitToSequence":
            self._splits[node.output[0]] = node
        elif rule is not None:
            elements = rule(self, node)
            self._kept += len(elements)
            if self._kept > _MOST_ELEMENTS:
                raise ValueError(
                    f"wanted at most {_MOST_ELEMENTS:,} elements in all sequences of a graph, "
                    f"came more"
                )
            self.lists[node.output[0]] = elements
        elif any(name in self.lists or name in self._splits for name in node.input):
            yield from self._reading(node)
        else:
            yield node

    def _inserted(self, node: Any) -> list[str]:  # noqa: ANN401
        return [*self.lists.get(node.input[0], []), node.input[1]]

    def _erased(self, node: Any) -> list[str]:  # noqa: ANN401
        elements = list(self.lists.get(node.input[0], []))
        at = self._number(node.input[1]) if len(node.input) > 1 else None
        if elements:
            elements.pop(-1 if at is None else at % len(elements))
        return elements

    _LISTED: Final[Mapping[str, Callable[["_Sequences", Any], list[str]]]] = {
        "SequenceConstruct": lambda self, node: list(node.input),
        "SequenceEmpty": lambda self, node: [],
        "SequenceInsert": _inserted,
        "SequenceErase": _erased,
    }

    def _number(self, name: str) -> int | None:
        """A whole number of the file, None where it is not one."""
        tensor = self._numbers.get(name)
        if tensor is None or prod(tensor.dims) != 1:
            return None
        return int(onnx("numpy_helper").to_array(tensor).item())

    def _reading(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        """Nodes for a node that reads a sequence."""
        result = node.output[0]
        name = next(each for each in node.input if each in self.lists or each in self._splits)
        if node.op_type in _PASSED_ON or node.op_type == "Where":
            for kind in (self.lists, self._splits):
                if name in kind:
                    kind[result] = kind[name]
        elif node.op_type == "SequenceAt":
            yield from self._element(node)
        elif node.op_type == "ConcatFromSequence":
            yield from self._joined(node)
        elif node.op_type == "SequenceLength" and name in self.lists:
            yield constant_of(result, np.int64(len(self.lists[name])))
        else:
            read = [name] if name in self.lists else self._splits[name].input[:1]
            elements = [each for key in read for each in self.lists.get(key, [key])]
            yield node_of(node.op_type, elements, result, **attributes_of(node))

    def _element(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        sequence, place = node.input
        at, result = self._number(place) or 0, node.output[0]
        if sequence in self.lists:
            elements = self.lists[sequence]
            if elements:
                yield node_of("Identity", [elements[at % len(elements)]], result)
            return
        split = self._splits[sequence]
        attributes = attributes_of(split)
        axis, source = attributes.get("axis", 0), split.input[0]
        if len(split.input) < 2 and not attributes.get("keepdims", 1):
            yield constant_of(f"{result}/at", np.int64(at))
            yield node_of("Gather", [source, f"{result}/at"], result, axis=axis)
            return
        width = (self._number(split.input[1]) if len(split.input) > 1 else 1) or 1
        bounds = {"start": at * width, "end": (at + 1) * width, "axis": axis}
        for name, bound in bounds.items():
            yield constant_of(f"{result}/{name}", np.array([bound]))
        yield node_of("Slice", [source, *(f"{result}/{name}" for name in bounds)], result)

    def _joined(self, node: Any) -> Iterator[Any]:  # noqa: ANN401
        sequence, result = node.input[0], node.output[0]
        if sequence in self._splits:
            yield node_of("Identity", self._splits[sequence].input[:1], result)
            return
        attributes, elements = attributes_of(node), self.lists[sequence]
        if attributes.get("new_axis", 0):
            for place, element in enumerate(elements):
                yield node_of(STACKED, [element], f"{result}/{place}")
            elements = [f"{result}/{place}" for place in range(len(elements))]
        yield node_of("Concat", elements, result, axis=attributes["axis"])


def _without_constant_weights(nodes: Nodes, weights: Weights) -> Iterator[Any]:
    """The nodes, without those that give a weight: the weight is added to the tensors of the file.

    Exporters write masks and positions as constants, too. So a constant is a weight where a layer
    reads it as one; in a file that has no weights elsewhere, every table of floats is.
    """
    read = {
        node.input[place]
        for node in nodes
        for place in WEIGHTS.get(node.op_type, ())
        if place < len(node.input)
    }
    has_others = any(prod(each.dims) > MAX_NUMBERS for each in weights.values())
    for node in nodes:
        tensor = _tensor_of(node) if node.op_type == "Constant" and not node.domain else None
        is_weight = node.output[0] in read or not has_others
        if tensor is not None and is_weight and _is_table(tensor):
            tensor.name = node.output[0]
            weights[tensor.name] = tensor
        else:
            yield node


def _is_table(tensor: Any) -> bool:  # noqa: ANN401
    """Whether a constant is a tensor of several floats."""
    if prod(tensor.dims) <= 1:
        return False
    kind = onnx("helper").tensor_dtype_to_np_dtype(tensor.data_type)
    return bool(np.issubdtype(kind, np.floating))


def _tensor_of(node: Any) -> Any:  # noqa: ANN401
    """The tensor of a constant; of a sparse one a tensor of its shape; None for texts."""
    ((name, value),) = attributes_of(node).items()
    if name == "sparse_value":
        return weight_of(node.output[0], value.dims)
    if name.startswith(("value_int", "value_float")):
        kind = np.int64 if name.startswith("value_int") else np.float32
        return onnx("numpy_helper").from_array(np.asarray(value, kind), node.output[0])
    return value if name == "value" else None
