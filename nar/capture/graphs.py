"""From a trace to a canonical graph: it is rewritten, and its living operations are laid out."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import CaptureError, InvalidGraphError
from nar.capture.record import Capture
from nar.capture.rewrites import activations, layers
from nar.capture.rewrites.attention import (
    attention,
    complex_product,
    fused_attention,
    turned,
    turned_halves,
    turned_in_part,
)
from nar.capture.rewrites.match import Matcher
from nar.capture.rewrites.norms import (
    affine_batch_norm,
    frozen_norm,
    norm,
    norm_bias,
    norm_weight,
    shifted_norm,
)
from nar.capture.sizes import details_of
from nar.capture.trace import LEAVES, PARTS, Operation, Trace
from nar.graphs.assumed import DEPENDENCE
from nar.graphs.fingerprints import in_order
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, Trait, op_id, with_any

# Loops over time or chunks that ran unrolled are rolled back into one step.
#
# The steps of such a loop stand one after another in the trace, at a fixed distance. They do the
# same to different parts of the same values, with the same weights or none, and each may read the
# results of the step before. Layers of a stack look alike too, but each brings weights of its own.
# The first step often differs (it starts from zeros): it stays, and one more step stands for all
# other steps, so that the graph does not depend on the length of the example. Takes time linear in
# the trace.

MIN_STEPS = 4  # chosen: fewer equal steps are rather layers of a design than a loop over time
_WINDOW = 4  # chosen: as many operations are compared to find the distance between two steps
_MAX_PERIODS = 4  # chosen: as many distances are tried, the most frequent first
_FRESH = frozenset({"parameter", "input"})  # only the first step of a loop meets a new weight
_READS_A_PART = PARTS | {"index", "gather", "scatter"}


def fold_steps(trace: Trace) -> Trace:
    """The trace with every value of a repeated step replaced by that of the first repetition."""
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
    """(start, end) of the stretches without a new weight or an input."""
    start = 0
    for value, operation in enumerate(operations):
        if operation.operator in _FRESH:
            yield start, value
            start = value + 1
    yield start, len(operations)


def _fold_stretch(
    operations: Sequence[Operation], start: int, end: int, stands_for: list[int]
) -> None:
    """Note in ``stands_for`` which values of a stretch repeat an earlier value."""
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
    """Distances between equal windows of operations, the most frequent first."""
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


MAX_COUNT = 3  # chosen: further operands that are learned or constant say nothing of a design
_MAX_ATTRIBUTE = int(np.iinfo(np.int16).max)
_COLUMN = {name: column for column, name in enumerate(ATTRIBUTES)}
# Operators whose parameters, statistics, states and indices belong to the operator itself.
LAYERS = with_any(Trait.WEIGHTED | Trait.OWN_VECTORS)


def to_capture(trace: Trace, *, name: str) -> Capture:
    """Rewrite a raw trace to canonical classes and lay it out as a canonical graph.

    Args:
        trace: The trace that a front end wrote.
        name: Name of the model, for errors.

    Raises:
        CaptureError: No output depends on an input or a parameter, or the graph is too large.
    """
    rewritten = rewrite(fold_steps(trace))
    merged = _merge_parts(rewritten, alive_values(rewritten))
    nodes = visible_values(merged)
    graph = to_graph(merged, nodes)
    try:
        graph.validate()
    except InvalidGraphError as error:
        raise CaptureError(name, "-", str(error)) from error
    network, order = in_order(graph)
    lost = _lost(trace)
    return Capture(
        network,
        dict(trace.unknown_operators),
        {DEPENDENCE: 1} if lost and not trace.cut and not _depends(trace) else {},
        cut=dict(trace.cut),
        lost=lost,
        without=trace.without,
        details=details_of(merged, nodes, order),
    )


def _depends(trace: Trace) -> bool:
    """Whether an output depends on an input, where there are inputs."""
    has_inputs = any(each.reads_data for each in trace.operations)
    return not has_inputs or any(trace.operations[value].reads_data for value in trace.outputs)


def _lost(trace: Trace) -> int:
    """How many learned scalars no output depends on; tied weights are read under one name."""
    alive = (trace.operations[value] for value in alive_values(trace))
    reached = sum(each.elements for each in alive if each.operator == "parameter")
    return max(trace.parameters - reached, 0)


def visible_values(trace: Trace) -> list[int]:
    """The operations that reach an output and are operators, in the order of the trace."""
    alive = sorted(alive_values(trace))
    return [value for value in alive if trace.operations[value].operator not in _INVISIBLE]


def to_graph(trace: Trace, nodes: Sequence[int]) -> ComputationalGraph:
    """The graph of some operations, numbered as they stand.

    Args:
        trace: Rewritten trace.
        nodes: Its `visible_values`.
    """
    number = {value: node for node, value in enumerate(nodes)}
    edges: list[tuple[int, int]] = []
    attributes = np.zeros((len(nodes), len(ATTRIBUTES)), dtype=np.int16)
    for node, value in enumerate(nodes):
        operation = trace.operations[value]
        sources = dict.fromkeys(number[v] for v in operation.operands if v in number)
        edges.extend((source, node) for source in sources)
        _fill(attributes[node], trace, operation)
    return ComputationalGraph(
        np.array([op_id(trace.operations[value].operator) for value in nodes], dtype=np.uint16),
        attributes,
        np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
        trace.parameters,
        trace.flops,
    )


_INVISIBLE = LEAVES - {"input"}


def alive_values(trace: Trace) -> set[int]:
    """Values that an output depends on."""
    alive: set[int] = set()
    waiting = list(trace.outputs)
    while waiting:
        value = waiting.pop()
        if value not in alive:
            alive.add(value)
            waiting.extend(trace.operations[value].operands)
    return alive


def _fill(row: NDArray[np.int16], trace: Trace, operation: Operation) -> None:
    for name, number in operation.attributes.items():
        row[_COLUMN[name]] = min(max(number, -_MAX_ATTRIBUTE), _MAX_ATTRIBUTE)
    if operation.operator in LAYERS:
        return
    leaves = [trace.operations[value] for value in dict.fromkeys(operation.operands)]
    parameters = sum(leaf.operator == "parameter" for leaf in leaves)
    constants = sum(leaf.operator == "constant" and leaf.elements != 1 for leaf in leaves)
    row[_COLUMN["parameter_operands"]] = min(parameters, MAX_COUNT)
    if operation.operator != "attention":  # its masks come and go with the example's length
        row[_COLUMN["constant_operands"]] = min(constants, MAX_COUNT)


def _merge_parts(trace: Trace, alive: Collection[int]) -> Trace:
    """Merge all living slices of one value to one ``split``: qkv[0], qkv[1] and qkv.unbind() agree.

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


# Canonical rewrites: equal designs, written differently, become equal traces.
#
# One pass goes from the first to the last operation. A rule looks at an operation and the
# operations above it, and gives the one operation that stands for the group. Operations that
# nothing reads any more are dropped when the graph is laid out.
#
# A value that is computed from parameters alone is a parameter. A weight that is normalised,
# standardised, masked or multiplied from factors at every call is the same design as a stored
# weight: spectral norm, weight norm, merged adapters, tables of biases read through a buffer.
# Layers stay layers where they read learned tokens, and so do the operations after them: the
# queries of a Perceiver are projected, although they do not depend on the input.

_STAY_ON_LEARNED = with_any(Trait.WEIGHTED | Trait.ON_LEARNED)
Rule = Callable[[Matcher, Operation], Operation | None]

# Operator of the last operation of a pattern -> rules for the pattern; the first match wins.
RULES: dict[str, tuple[Rule, ...]] = {
    "conv": (layers.linear_of_pooled, layers.padded),
    "conv_grouped": (layers.padded,),
    "conv_depthwise": (layers.padded,),
    "max_pool": (layers.padded,),
    "avg_pool": (layers.padded,),
    "matmul": (attention, layers.linear),
    "index": (layers.embedding,),
    "slice": (layers.part_of_linear,),
    "split": (layers.part_of_linear,),
    "lstm": (layers.layer_of_cells,),
    "gru": (layers.layer_of_cells,),
    "rnn": (layers.layer_of_cells,),
    "concat": (
        layers.joined_cells,
        turned_halves,
        turned_in_part,
        layers.rearranged,
        layers.joined,
    ),
    "attention": (fused_attention,),
    "add": (
        layers.linear_bias,
        layers.conv_bias,
        norm_bias,
        affine_batch_norm,
        frozen_norm,
        shifted_norm,
        turned,
    ),
    "sub": (turned,),
    "complex_mul": (complex_product,),
    "mul": (
        activations.gated,
        activations.gelu,
        activations.hard_swish,
        activations.hard_sigmoid,
        activations.softmax,
        norm,
        norm_weight,
        affine_batch_norm,
    ),
    "div": (
        activations.gelu,
        activations.hard_swish,
        activations.hard_sigmoid,
        activations.softmax,
        norm,
    ),
    "clamp": (activations.relu6,),
}


def rewrite(trace: Trace) -> Trace:
    """The trace in canonical operator classes, its values numbered as before."""
    match = Matcher(trace.operations)
    # Where no output seems to depend on an input, the input came in a way that capture cannot see.
    hides_inputs = any(trace.operations[value].reads_data for value in trace.outputs)
    for value, operation in enumerate(trace.operations):
        if hides_inputs and _is_learned(match, operation):
            match.replace(value, Operation("parameter", shape=operation.shape))
            continue
        for rule in RULES.get(operation.operator, ()):
            rewritten = rule(match, operation)
            if rewritten is not None:
                match.replace(value, rewritten)
                break
    return replace(trace, operations=match.operations())


def _is_learned(match: Matcher, operation: Operation) -> bool:
    """Whether an operation reads parameters and constants only, and is no layer."""
    return (
        not operation.reads_data
        and bool(operation.operands)
        and operation.operator not in _STAY_ON_LEARNED
        and all(match[value].operator in LEAVES for value in operation.operands)
    )
