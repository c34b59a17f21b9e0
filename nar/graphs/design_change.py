"""In what two networks of one design differ: in widths, in settings, or in their weights alone."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id

# ``sharing``: all operators are the same, and a language model shares its table with its head or
# does not. ``weights``: all operators are the same, and some weight has another size or is shared
# otherwise. ``settings``: kernels, strides, heads and the like differ, widths may as well.
DesignChange = Literal["sharing", "weights", "widths", "settings"]

_RATIO = ATTRIBUTES.index("channel_ratio")


def design_change(one: ComputationalGraph, other: ComputationalGraph) -> DesignChange:
    """What differs between two networks of equal topology that are not the same network.

    Widths are not in a graph, only ratios of widths: networks whose operators have equal attributes
    and cost the same have equal widths.

    Args:
        one: A graph.
        other: A graph of the same topology, in any numbering, captured with inputs of one size.
    """
    if one.flops == other.flops and np.array_equal(_operators(one), _operators(other)):
        return "sharing" if _has_vocabulary_head(one) else "weights"
    same = np.array_equal(_operators(one, ratios=False), _operators(other, ratios=False))
    return "widths" if same else "settings"


def _operators(graph: ComputationalGraph, *, ratios: bool = True) -> NDArray[np.int64]:
    """Operators with their attributes, sorted. Shape (nodes, 1 + attributes)."""
    rows = np.column_stack([graph.op_ids, graph.attributes]).astype(np.int64)
    if not ratios:
        rows[:, 1 + _RATIO] = 0
    order: NDArray[np.int64] = rows[np.lexsort(rows.T)]
    return order


def _has_vocabulary_head(graph: ComputationalGraph) -> bool:
    """Whether a network reads tokens from a table and gives one score for each token it knows.

    Its head costs as much as the vocabulary is large, so that networks of equal cost have equal
    vocabularies, and their tables have one size.
    """
    ends = np.setdiff1d(np.arange(graph.nodes), graph.edge_index[0])
    is_linear = graph.op_ids[ends] == op_id("linear")
    widens = graph.attributes[ends, _RATIO] > 0
    return bool((graph.op_ids == op_id("embedding")).any() and (is_linear & widens).any())
