"""Skeletons: graphs without what is exchanged most often in them, norms and activations.

Who changes a known design puts another norm or another activation into it. Both stand between its
layers, so every neighbourhood of a layer changes; without them, nothing has. What computes with one
value alone (a scale, a bias written out) goes as well. A residual block, and its skeleton:

      input ─> conv ─> batch_norm ─> relu ─> conv ─> add          input ─> conv ─> conv ─> add
                 └───────────────────────────────────^                       └────────────^
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.ops import Trait, mask_of
from nar.motifs.neighbours import Wiring, wired

_IS_EXCHANGED: Final = mask_of(Trait.NORM | Trait.ACTIVATION | Trait.ARITHMETIC)


def skeleton(wires: Wiring) -> tuple[NDArray[np.bool_], Wiring]:
    """Take norms, activations and arithmetic with one operand out; who read them reads their own.

    Args:
        wires: Canonical graphs, laid end to end.

    Returns:
        Shape (nodes,), which nodes are left; and how these are wired.
    """
    gone = _IS_EXCHANGED[wires.op_ids] & (np.diff(wires.in_start) == 1)
    # The nearest node before each that is left, or itself: every round doubles the steps taken.
    stands_for = np.arange(len(gone))
    stands_for[gone] = wires.source[wires.in_start[:-1][gone]]
    while gone[stands_for].any():
        stands_for = stands_for[stands_for]
    number = np.cumsum(~gone) - 1
    edges = ~gone[wires.target]
    source = number[stands_for[wires.source[edges]]]
    return ~gone, wired(wires.op_ids[~gone], source, number[wires.target[edges]])
