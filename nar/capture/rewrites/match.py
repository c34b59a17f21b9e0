"""Matcher: the operations of a trace as the rewrite rules look at them."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from math import prod

from nar.capture.trace import PARTS, Operation

# Chosen: small expressions have fewer values; without a bound, each value of a long chain of
# products would be walked to its beginning.
_MAX_CONE = 16
_MAX_FACTORS = 4  # chosen: activations nest no deeper; long chains of products take linear time


class Matcher:
    """Operations by value, as far as they are rewritten.

    Args:
        operations: Operations of a trace; `replace` rewrites them one after another.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._captured = operations
        self._operations = list(operations)
        self._readers = Counter(v for operation in operations for v in operation.operands)
        self._part_readers = Counter(
            v for operation in operations if operation.operator in PARTS for v in operation.operands
        )

    def __getitem__(self, value: int) -> Operation:
        return self._operations[value]

    def replace(self, value: int, operation: Operation) -> None:
        """Let a value be made by another operation."""
        self._operations[value] = operation

    def operations(self) -> tuple[Operation, ...]:
        """All operations, rewritten."""
        return tuple(self._operations)

    def is_read_once(self, value: int) -> bool:
        """Whether exactly one operation reads a value."""
        return self._readers[value] == 1

    def is_read_in_parts(self, value: int) -> bool:
        """Whether nothing reads a value as a whole."""
        return self._readers[value] == self._part_readers[value]

    def captured(self, value: int) -> Operation:
        """The operation of a value before anything was rewritten."""
        return self._captured[value]

    def whole_of(self, value: int) -> int | None:
        """The value that a captured part was taken from, whatever the part is rewritten to."""
        operation = self._captured[value]
        is_part = operation.operator in PARTS and len(operation.operands) == 1
        return operation.operands[0] if is_part else None

    def is_parameter(self, value: int) -> bool:
        """Whether a value is a learned tensor of more than one element."""
        operation = self[value]
        return operation.operator == "parameter" and operation.elements > 1

    def is_literal(self, value: int) -> bool:
        """Whether a value is a constant of one element."""
        operation = self[value]
        return operation.operator == "constant" and operation.elements == 1

    def tensors(self, operation: Operation) -> list[int]:
        """Operands that are not literals."""
        return [value for value in operation.operands if not self.is_literal(value)]

    def numbers(self, operation: Operation) -> list[float]:
        """Numbers of the literal operands, where they are known."""
        literals = [self[value] for value in operation.operands if self.is_literal(value)]
        return [*operation.numbers, *(n for literal in literals for n in literal.numbers)]

    def only_operand(self, value: int, operators: Collection[str]) -> int | None:
        """The only tensor that an operation of these classes reads; None if it reads several."""
        operation = self[value]
        if operation.operator not in operators:
            return None
        tensors = self.tensors(operation)
        return tensors[0] if len(tensors) == 1 else None

    def skip(self, value: int, operators: Collection[str]) -> int:
        """Go up through operations of these classes while each reads only one tensor."""
        above = self.only_operand(value, operators)
        while above is not None:
            value, above = above, self.only_operand(above, operators)
        return value

    def pairs(self, operation: Operation) -> Iterator[tuple[int, int]]:
        """The two tensors of an operation in both orders; nothing if there are not two."""
        tensors = self.tensors(operation)
        if len(tensors) == 2:
            yield tensors[0], tensors[1]
            yield tensors[1], tensors[0]

    def quotients(
        self, operation: Operation, inverses: Collection[str] = ("reciprocal",)
    ) -> Iterator[tuple[int, int]]:
        """(numerator, denominator) of a division, or of a product with one of ``inverses``."""
        if operation.operator == "div" and len(operation.operands) == 2:
            yield operation.operands[0], operation.operands[1]
        if operation.operator == "mul":
            for value, inverse in self.pairs(operation):
                size = self.only_operand(inverse, inverses)
                if size is not None:
                    yield value, size

    def factors(
        self, operation: Operation, whole: Collection[int] = (), depth: int = _MAX_FACTORS
    ) -> tuple[list[int], float]:
        """A product laid flat: its tensors, and the product of its literals.

        Divisions by a literal count as products. Products nested deeper than ``depth`` stay one
        tensor, and so do the values of ``whole``.
        """
        tensors: list[int] = []
        scale = self._scale(operation)
        for value in self.tensors(operation):
            inner = self[value]
            is_product = inner.operator in ("mul", "div") and self._scale(inner) != 0
            if depth and is_product and value not in whole:
                deeper, factor = self.factors(inner, whole, depth - 1)
                tensors.extend(deeper)
                scale *= factor
            else:
                tensors.append(value)
        return tensors, scale

    def _scale(self, operation: Operation) -> float:
        """Product of the literals; 0 for a division by a tensor, which is no product."""
        scale = prod(self.numbers(operation))
        if operation.operator == "mul":
            return scale
        return 1 / scale if scale and len(self.tensors(operation)) == 1 else 0.0

    def cone(self, value: int, operators: Collection[str]) -> frozenset[int]:
        """The values of the small expression of these operators above a value, with its leaves."""
        waiting, seen = [value], set[int]()
        while waiting and len(seen) < _MAX_CONE:
            value = waiting.pop()
            if value not in seen and self[value].operator in operators:
                waiting.extend(self.tensors(self[value]))
            seen.add(value)
        return frozenset(seen)

    def cone_reads_only(self, value: int, leaf: int, operators: Collection[str]) -> bool:
        """Whether ``leaf`` is the only leaf of the small expression of these operators."""
        waiting, steps = [value], 0
        while waiting and steps < _MAX_CONE:
            value = waiting.pop()
            steps += 1
            if value == leaf:
                continue
            if self[value].operator not in operators:
                return False
            waiting.extend(self.tensors(self[value]))
        return not waiting
