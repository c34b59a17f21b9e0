"""The raw trace that every front end writes and every rewrite reads: operations over values.

A value is the position of the operation that made it. Leaves are operations too: ``input``,
``parameter`` and ``constant``. Structural operators never enter a trace: their result is the value
that they read. The values of inputs are made here, too.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import Final

LEAVES = frozenset({"input", "parameter", "constant"})
PARTS = frozenset({"slice", "split"})
NO_ATTRIBUTES: Mapping[str, int] = MappingProxyType({})
# The sizes of attention, and of a constant, that lets no query read what comes after it.
CAUSAL: Mapping[str, int] = MappingProxyType({"causal": 1})
_TRIANGLES = frozenset({"tril", "triu"})
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a trace.

    Attributes:
        operator: Class of `nar.graphs.ops`, the name of an unknown operator, or a leaf.
        operands: Values it reads, in order. Weights of a layer come last.
        shape: Shape of its (first) result; 0 where an extent is not known.
        numbers: What rewrites look at: the literal operands of arithmetic, the reduced axes counted
            from the end, (rows, inner, columns) of a product, the value of a one-element constant.
        attributes: Entries of `nar.graphs.ops.ATTRIBUTES` that are set.
        reads_data: Whether it depends on an input, integer inputs included.
        sizes: What the call says for `nar.graphs.details`: widths, heads, whether a mask is causal.
            Of a constant that is taken out of bits, the value that has them packed, as ``packed``.
        path: The module that ran it; None where that is not known.
    """

    operator: str
    operands: tuple[int, ...] = ()
    shape: Shape = ()
    numbers: tuple[float, ...] = ()
    attributes: Mapping[str, int] = field(default_factory=lambda: NO_ATTRIBUTES)
    reads_data: bool = False
    sizes: Mapping[str, int] = field(default_factory=lambda: NO_ATTRIBUTES)
    path: str | None = None

    @property
    def elements(self) -> int:
        """Number of elements of the (first) result."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class TraceExtras:
    """What is known of a model beside its operations.

    Attributes:
        inputs: Its inputs, in the form of `nar.graphs.details.Details`.
        outputs: Its results, in the same form.
        stated: By the path of a module, what its attributes state of the attention that it runs:
            ``causal`` and ``window``.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    stated: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """All operations of one forward pass, each after its operands.

    Attributes:
        operations: In the order of execution, leaves where they were first read.
        outputs: Values the model returns.
        parameters: Number of learned scalars of the model.
        flops: Floating-point operations of layers with weights, products and attention, a
            multiply-add counted as 2; everything elementwise counts 0.
        unknown_operators: How often each operator without a class was met.
        cut: How often each function took values out of tensors.
        without: What was left out, each with what was captured instead.
        beside: What is known beside the operations.
    """

    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]
    parameters: int
    flops: int
    unknown_operators: Mapping[str, int]
    cut: Mapping[str, int] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    beside: TraceExtras = field(default_factory=TraceExtras)


class TraceBuilder:
    """Collects operations; a result that is computed from constants alone becomes a constant.

    Attributes:
        operations: Operations so far, by value.
        flops: Floating-point operations so far; see `Trace`.
        path: The module that runs now; None where that is not known.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.flops = 0
        self.path: str | None = None
        self._parameters: dict[Hashable, int] = {}
        self._packed = 0
        self._held: list[object] = []
        self._unknown: Counter[str] = Counter()
        self._cut: Counter[str] = Counter()
        self._without: dict[str, None] = {}

    def input(self, shape: Shape) -> int:
        """A new float input."""
        return self._append(Operation("input", shape=shape, reads_data=True))

    def parameter(self, key: Hashable, shape: Shape) -> int:
        """The parameter of that key, entered at its first use."""
        value = self._parameters.get(key)
        if value is None:
            value = self._append(Operation("parameter", shape=shape))
            self._parameters[key] = value
        return value

    def packed(self, key: Hashable, shape: Shape, held: object = None) -> int:
        """A parameter that is no tensor of the model: it is counted where it is first read.

        Args:
            key: The same for the same numbers.
            shape: Their shape.
            held: What the key is the identity of; it is kept, so that nothing else gets that one.
        """
        if key not in self._parameters:
            self._packed += prod(shape)
            self._held.append(held)
        return self.parameter(key, shape)

    def constant(
        self,
        shape: Shape,
        *,
        reads_data: bool = False,
        number: float | None = None,
        sizes: Mapping[str, int] = NO_ATTRIBUTES,
    ) -> int:
        """A buffer, a mask, an integer input, or a value computed from such values only."""
        numbers = () if number is None else (number,)
        return self._append(
            Operation("constant", (), shape, numbers, NO_ATTRIBUTES, reads_data, sizes)
        )

    def emit(
        self,
        operator: str,
        operands: Sequence[int],
        shape: Shape,
        *,
        numbers: tuple[float, ...] = (),
        attributes: Mapping[str, int] = NO_ATTRIBUTES,
        sizes: Mapping[str, int] = NO_ATTRIBUTES,
    ) -> int:
        """Append an operation, or the constant that it computes.

        Returns:
            The value.
        """
        is_constant, reads_data = True, False
        for value in operands:
            operand = self.operations[value]
            is_constant = is_constant and operand.operator == "constant"
            reads_data = reads_data or operand.reads_data
        if is_constant:
            known = sizes or (CAUSAL if operator in _TRIANGLES else NO_ATTRIBUTES)
            inherited = (self.operations[value].sizes for value in operands)
            known = known or next((each for each in inherited if each), NO_ATTRIBUTES)
            return self.constant(shape, reads_data=reads_data, sizes=known)
        return self._append(
            Operation(
                operator, tuple(operands), shape, numbers, attributes, reads_data, sizes, self.path
            )
        )

    def count_unknown(self, operator: str) -> None:
        """Note an operator that has no class."""
        self._unknown[operator] += 1

    def count_cut(self, function: str, value: int) -> None:
        """Note a function that takes a value out of its tensor; numbers beside data are no loss."""
        if self.operations[value].operator != "constant":
            self._cut[function] += 1

    def leave_out(self, what: str) -> None:
        """Note what was left out, and what stands for it."""
        self._without[what] = None

    def trace(self, outputs: Iterable[int], parameters: int, beside: TraceExtras) -> Trace:
        """Everything collected."""
        return Trace(
            tuple(self.operations),
            tuple(dict.fromkeys(outputs)),
            parameters + self._packed,
            self.flops,
            dict(self._unknown),
            dict(self._cut),
            tuple(self._without),
            beside,
        )

    def _append(self, operation: Operation) -> int:
        self.operations.append(operation)
        return len(self.operations) - 1


# From three axes on the first one is the batch; two may as well be those of nodes.
_WITH_BATCH: Final = 3


def input_values(builder: TraceBuilder, inputs: Sequence[tuple[Shape, bool]]) -> list[int]:
    """One value for each input.

    Integers and masks are constants: they say where to read. So is one number for each sample, such
    as the step of a diffusion: the same model takes it as an integer or as a float.

    Args:
        builder: Receives the values.
        inputs: The shape of each input, and whether its numbers are floats.
    """
    batches = {shape[0] for shape, is_float in inputs if is_float and len(shape) >= _WITH_BATCH}
    return [
        builder.input(shape)
        if is_float and not (len(shape) == 1 and shape[0] in batches)
        else builder.constant(shape, reads_data=True)
        for shape, is_float in inputs
    ]


def port(name: str, kind: str, shape: Shape) -> str:
    """One input or result: its name, if it has one, its kind and its shape."""
    return " ".join([*name.split(), kind, "x".join(map(str, shape)) or "scalar"])
