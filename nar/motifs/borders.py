"""Borders: the layers of a design at its inputs, its words and its classes.

The widths of inputs, words and classes depend on the data, not on the design, so ratios of widths
at borders say nothing about the design. Layers inside the design keep their ratios. Six nodes, and
the layers at the borders:

      input ─> conv ─> relu ─> conv ─> mean ─> linear
               border          inside          border
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs import kernel
from nar.graphs.ops import MAX_OP_ID, Trait, mask_of, op_id
from nar.graphs.ragged import Integers
from nar.motifs.neighbours import IS_COMMUTATIVE, IS_EXCHANGED, Wiring

# Chosen: at most so many operators without weights may stand between a layer and the border: a
# norm, an activation, a pooling, and one more.
REACH: Final = 4

HAS_WEIGHTS: Final = mask_of(Trait.WEIGHTED)
INPUT: Final = op_id("input")
EMBEDDING: Final = op_id("embedding")

_IDS: Final = np.arange(MAX_OP_ID + 1)


@cache
def kernel_properties() -> NDArray[np.uint8]:
    """What the compiled kernel gets of operators; see `nar.graphs.kernel.properties`."""
    return kernel.properties(
        IS_COMMUTATIVE, IS_EXCHANGED, HAS_WEIGHTS, _IDS == INPUT, _IDS == EMBEDDING
    )


def at_border(wires: Wiring) -> NDArray[np.bool_]:
    """Layers with weights that read an input or words, or after which no layer stands.

    Args:
        wires: Canonical graphs, laid end to end.

    Returns:
        Shape (nodes,).
    """
    weighted = HAS_WEIGHTS[wires.op_ids]
    is_read = np.zeros(len(weighted), dtype=np.bool_)
    is_read[wires.source] = True
    near_output = _spread(~is_read, wires.target, wires.source, weighted)
    return first_layers(wires) | (weighted & near_output)


def first_layers(wires: Wiring) -> NDArray[np.bool_]:
    """The layers at the borders that read an input or words.

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
    """Carry marks along edges, through operators without weights, to the first layers."""
    marked = marked.copy()
    for _ in range(REACH + 1):
        carries = marked[start] & ~weighted[start]
        marked[end[carries]] = True
    return marked
