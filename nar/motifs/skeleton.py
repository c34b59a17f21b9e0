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

from nar.graphs.ops import MAX_OP_ID, op_id
from nar.motifs.neighbours import Wiring, wired

_EXCHANGED: Final = (
    "batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm", "response_norm",
    "l2_norm",
    "relu", "relu6", "leaky_relu", "prelu", "elu", "selu", "celu", "gelu", "silu", "mish",
    "sigmoid", "log_sigmoid", "tanh", "hard_swish", "hard_sigmoid", "hard_tanh", "softplus",
    "softsign", "threshold", "erf",
    "add", "sub", "mul", "div", "neg", "reciprocal", "pow", "sqrt", "rsqrt", "exp", "log", "abs",
    "sign", "round", "clamp", "maximum", "minimum",
)  # fmt: skip
_IS_EXCHANGED: Final = np.isin(np.arange(MAX_OP_ID + 1), [op_id(name) for name in _EXCHANGED])


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
