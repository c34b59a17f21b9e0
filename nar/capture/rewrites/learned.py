"""What is computed from parameters alone is a parameter.

A weight that is normalised, standardised, masked or put together from factors at every call is the
same design as one that is stored: spectral norm, weight norm, merged adapters, tables of biases
read through a buffer. Layers stay layers where they read learned tokens, and so does all that
follows them: the queries of a Perceiver are projected, however little that depends on the input.
"""

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import LEAVES, Operation

_LAYERS = frozenset({
    "linear", "conv", "conv_grouped", "conv_depthwise", "conv_transpose", "deform_conv", "bilinear",
    "embedding", "lstm", "gru", "rnn", "attention", "layer_norm", "rms_norm", "group_norm",
})  # fmt: skip


def is_learned(match: Matcher, operation: Operation) -> bool:
    """Whether an operation works on parameters and constants only, and is no layer."""
    return (
        not operation.reads_data
        and bool(operation.operands)
        and operation.operator not in _LAYERS
        and all(match[value].operator in LEAVES for value in operation.operands)
    )
