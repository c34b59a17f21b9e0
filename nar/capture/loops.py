"""Loops over time or chunks that ran unrolled are folded back to one step.

The steps of such a loop stand one after another in the trace, at a fixed distance. They do the same
to different parts of the same values, with the same weights or none, and each may read what the one
before it made. Layers of a stack look alike too, but each brings weights of its own. The first step
often differs (it starts from zeros): it stays, and one more step stands for all the others, so that
the graph does not depend on how long the example was. Linear in the trace.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nar.capture.parts import PARTS
from nar.capture.trace import Operation, Trace

MIN_STEPS = 4
_WINDOW = 4  # operations that are compared to find out how far apart two steps stand
_MAX_PERIODS = 4  # distances that are tried: the most frequent ones
_FRESH = frozenset({"parameter", "input"})  # no step but the first meets a weight anew
_READS_A_PART = PARTS | {"index", "gather", "scatter"}


def fold_steps(trace: Trace) -> Trace:
    """The trace with every value of a repeated step replaced by that of its first repetition."""
    stands_for = list(range(len(trace.operations)))
    for start, end in _stretches(trace.operations):
        if end - start >= MIN_STEPS * _WINDOW:
            _fold_stretch(trace.operations, start, end, stands_for)
    if all(image == value for value, image in enumerate(stands_for)):
        return trace
    operations = tuple(
        replace(operation, operands=tuple([stands_for[v] for v in operation.operands]))
        for operation in trace.operations
    )
    outputs = tuple(dict.fromkeys(stands_for[value] for value in trace.outputs))
    return replace(trace, operations=operations, outputs=outputs)


def _stretches(operations: Sequence[Operation]) -> Iterator[tuple[int, int]]:
    """(start, end) of the stretches in which no new weight and no input is met."""
    start = 0
    for value, operation in enumerate(operations):
        if operation.operator in _FRESH:
            yield start, value
            start = value + 1
    yield start, len(operations)


def _fold_stretch(
    operations: Sequence[Operation], start: int, end: int, stands_for: list[int]
) -> None:
    """Note in ``stands_for`` which values of a stretch repeat an earlier one."""
    for period in _periods(operations, start, end):
        first = start
        while first + period < end:
            last = first
            while last + period < end and _repeats(operations, last, period):
                last += 1
            if last - first >= (MIN_STEPS - 1) * period and _takes_parts(
                operations[first : first + period]
            ):
                _note(stands_for, first, last + period, period)
            first = last + 1


def _periods(operations: Sequence[Operation], start: int, end: int) -> list[int]:
    """How far apart alike operations stand, the most frequent distances first."""
    words = [(operation.operator, len(operation.operands)) for operation in operations[start:end]]
    seen: dict[tuple[tuple[str, int], ...], int] = {}
    distances: Counter[int] = Counter()
    for position in range(len(words) - _WINDOW + 1):
        window = tuple(words[position : position + _WINDOW])
        if window in seen:
            distances[position - seen[window]] += 1
        seen[window] = position
    return [period for period, _ in distances.most_common(_MAX_PERIODS)]


def _repeats(operations: Sequence[Operation], value: int, period: int) -> bool:
    """Whether the operation one period later does the same in the next step."""
    one, other = operations[value], operations[value + period]
    return (
        one.operator == other.operator
        and len(one.operands) == len(other.operands)
        and one.attributes == other.attributes
        and all(
            _continues(operations, before, after, period)
            for before, after in zip(one.operands, other.operands, strict=True)
        )
    )


def _continues(operations: Sequence[Operation], before: int, after: int, period: int) -> bool:
    """Whether two steps read the same value, parts of the same value, or each its own result."""
    if before == after:
        return True
    one, other = operations[before], operations[after]
    if one.operator != other.operator or one.operator in _FRESH:
        return False
    if after - before == period or one.operator == "constant":
        return True
    return one.operator in PARTS and one.operands == other.operands


def _takes_parts(step: Sequence[Operation]) -> bool:
    return any(operation.operator in _READS_A_PART for operation in step)


def _note(stands_for: list[int], first: int, end: int, period: int) -> None:
    for value in range(first + period, end):
        stands_for[value] = stands_for[first + (value - first) % period]
