"""Skeletons: graphs without norms and activations, which are exchanged most often.

People change a known design by another norm or another activation. Both stand between layers, so
every neighbourhood of a layer changes; without norms and activations, no neighbourhood does.
Arithmetic with one operand (a scale, a bias written out) is left out as well. A residual block, and
its skeleton:

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
    """Remove norms, activations and arithmetic with one operand; their readers read their operand.

    Args:
        wires: Canonical graphs, laid end to end.

    Returns:
        Shape (nodes,), which nodes are left; and the wiring of these nodes.
    """
    gone = _IS_EXCHANGED[wires.op_ids] & (np.diff(wires.in_start) == 1)
    # The node that stands for each removed node: every round doubles the steps taken upwards.
    stands_for = np.arange(len(gone))
    stands_for[gone] = wires.source[wires.in_start[:-1][gone]]
    while gone[stands_for].any():
        stands_for = stands_for[stands_for]
    number = np.cumsum(~gone) - 1
    edges = ~gone[wires.target]
    source = number[stands_for[wires.source[edges]]]
    return ~gone, wired(wires.op_ids[~gone], source, number[wires.target[edges]])
