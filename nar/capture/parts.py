"""Parts of one value, however they were taken, are one split of it."""

from collections.abc import Collection
from dataclasses import replace

from nar.capture.trace import Trace

PARTS = frozenset({"slice", "split"})


def merge_parts(trace: Trace, alive: Collection[int]) -> Trace:
    """Let all living slices of one value be one ``split``: qkv[0], qkv[1] and qkv.unbind() agree.

    Args:
        trace: Rewritten trace.
        alive: Values that reach an output; other slices are not counted.
    """
    operations = list(trace.operations)
    stands_for = list(range(len(operations)))
    first_part: dict[tuple[int, ...], int] = {}
    for value in sorted(alive):
        operation = operations[value]
        operands = tuple([stands_for[operand] for operand in operation.operands])
        if operands != operation.operands:
            operation = operations[value] = replace(operation, operands=operands)
        if operation.operator in PARTS:
            first = first_part.setdefault(operands, value)
            if first != value:
                operations[first] = replace(operations[first], operator="split")
                stands_for[value] = first
    outputs = tuple(dict.fromkeys(stands_for[value] for value in trace.outputs))
    return replace(trace, operations=tuple(operations), outputs=outputs)
