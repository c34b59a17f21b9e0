"""From a rewritten trace to a canonical graph: what is alive, its edges, its attributes."""

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import CaptureError, InvalidGraphError
from nar.capture.loops import fold_steps
from nar.capture.parts import merge_parts
from nar.capture.record import Capture
from nar.capture.rewrites.rewrite import rewrite
from nar.capture.trace import LEAVES, Operation, Trace
from nar.graphs.fingerprints import fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, Trait, op_id, with_any

MAX_COUNT = 3  # chosen: further operands that are learned or constant say nothing of a design
_MAX_ATTRIBUTE = int(np.iinfo(np.int16).max)
_COLUMN = {name: column for column, name in enumerate(ATTRIBUTES)}
# Their parameters, statistics, states and indices belong to the operator itself.
LAYERS = with_any(Trait.WEIGHTED | Trait.OWN_VECTORS)


def to_capture(trace: Trace, *, name: str) -> Capture:
    """Rewrite a raw trace to canonical classes and lay it out as a canonical graph.

    Args:
        trace: What a front end wrote.
        name: Name of the model, for errors.

    Raises:
        CaptureError: No output depends on an input or a parameter, or the graph is too large.
    """
    rewritten = rewrite(fold_steps(trace))
    graph = to_graph(merge_parts(rewritten, alive_values(rewritten)))
    try:
        graph.validate()
    except InvalidGraphError as error:
        raise CaptureError(name, "-", str(error)) from error
    return Capture(fingerprinted(graph), dict(trace.unknown_operators))


def to_graph(trace: Trace) -> ComputationalGraph:
    """The operations that reach an output, numbered in the order of the trace."""
    alive = sorted(alive_values(trace))
    nodes = [value for value in alive if trace.operations[value].operator not in _INVISIBLE]
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
    if operation.operator != "attention":  # whose masks come and go with the length of the example
        row[_COLUMN["constant_operands"]] = min(constants, MAX_COUNT)
