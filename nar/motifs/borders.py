"""Borders: layers where a design meets what it is used for, its inputs, its words, its classes.

How wide these are depends on the data, not on the design, so that their ratios of widths tell
nothing of it. Layers inside the design keep theirs. Six nodes, and the layers at the borders:

      input ─> conv ─> relu ─> conv ─> mean ─> linear
               border          inside          border
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.ops import Trait, mask_of, op_id
from nar.graphs.ragged import Integers
from nar.motifs.neighbours import Wiring

# Operators without weights that may stand between a layer and the border, at most. Chosen: a
# norm, an activation and a pooling, and one more.
REACH: Final = 4

HAS_WEIGHTS: Final = mask_of(Trait.WEIGHTED)
INPUT: Final = op_id("input")
EMBEDDING: Final = op_id("embedding")


def at_border(wires: Wiring) -> NDArray[np.bool_]:
    """Layers with weights that read an input or words, or whose result nobody transforms further.

    Args:
        wires: Canonical graphs, laid end to end.

    Returns:
        Shape (nodes,).
    """
    weighted = HAS_WEIGHTS[wires.op_ids]
    is_read = np.zeros(len(weighted), dtype=np.bool_)
    is_read[wires.source] = True
    told = _spread(~is_read, wires.target, wires.source, weighted)
    return first_layers(wires) | (weighted & told)


def first_layers(wires: Wiring) -> NDArray[np.bool_]:
    """Of the layers at the borders those that read an input or words.

    Args:
        wires: Canonical graphs, laid end to end.

    Returns:
        Shape (nodes,).
    """
    weighted = HAS_WEIGHTS[wires.op_ids]
    given = _spread(wires.op_ids == INPUT, wires.source, wires.target, weighted)
    first: NDArray[np.bool_] = weighted & (given | (wires.op_ids == EMBEDDING))
    return first


def _spread(
    marked: NDArray[np.bool_], start: Integers, end: Integers, weighted: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Marks carried along edges, through operators without weights, to the first layers."""
    marked = marked.copy()
    for _ in range(REACH + 1):
        carries = marked[start] & ~weighted[start]
        marked[end[carries]] = True
    return marked
