"""Small graphs that can be checked by hand."""

import numpy as np

from nar.graph import ComputationalGraph
from nar.ops import ATTRIBUTES, op_id


def graph_of(text: str) -> ComputationalGraph:
    """A graph from ``"input; conv 0; relu 1; add 1 2"``: an operator and its operands a node."""
    lines = [line.split() for line in text.split(";")]
    edges = [(int(source), node) for node, (_, *sources) in enumerate(lines) for source in sources]
    return ComputationalGraph(
        op_ids=np.array([op_id(operator) for operator, *_ in lines], dtype=np.uint16),
        attributes=np.zeros((len(lines), len(ATTRIBUTES)), dtype=np.int16),
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
    )
