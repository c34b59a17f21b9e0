"""Canonical rewrites: equal designs, written differently, become equal traces.

One pass from first to last operation. A rule looks at an operation and what is above it, and gives
the operation that stands for all of it; what nobody reads any more dies when the graph is laid out.
"""

from collections.abc import Callable
from dataclasses import replace

from nar.capture.match import Matcher
from nar.capture.rewrite_activations import gated, gelu, hard_sigmoid, hard_swish
from nar.capture.rewrite_norms import frozen_norm, norm, norm_bias, norm_weight
from nar.capture.rewrite_parts import part_of_linear, rearranged
from nar.capture.rewrite_products import (
    attention,
    embedding,
    fused_attention,
    learned_part,
    linear,
    linear_bias,
)
from nar.capture.trace import Operation, Trace

Rule = Callable[[Matcher, Operation], Operation | None]

# Operator of the last operation of a pattern -> what the pattern may be, the first match wins.
RULES: dict[str, tuple[Rule, ...]] = {
    "matmul": (attention, linear),
    "index": (embedding,),
    "slice": (learned_part, part_of_linear),
    "split": (learned_part, part_of_linear),
    "concat": (rearranged,),
    "attention": (fused_attention,),
    "add": (linear_bias, norm_bias, frozen_norm),
    "mul": (gated, gelu, hard_swish, hard_sigmoid, norm, norm_weight),
    "div": (gelu, hard_swish, hard_sigmoid, norm),
}


def rewrite(trace: Trace) -> Trace:
    """The trace in canonical operator classes, its values numbered as before."""
    match = Matcher(trace.operations)
    for value, operation in enumerate(trace.operations):
        for rule in RULES.get(operation.operator, ()):
            found = rule(match, operation)
            if found is not None:
                match.replace(value, found)
                break
    return replace(trace, operations=match.operations())
