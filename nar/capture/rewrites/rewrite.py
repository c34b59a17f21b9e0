"""Canonical rewrites: equal designs, written differently, become equal traces.

One pass goes from the first to the last operation. A rule looks at an operation and the operations
above it, and gives the one operation that stands for all of them. Operations that nothing reads any
more are dropped when the graph is laid out.

A value that is computed from parameters alone is a parameter. A weight that is normalised,
standardised, masked or multiplied from factors at every call is the same design as a stored weight:
spectral norm, weight norm, merged adapters, tables of biases read through a buffer. Layers stay
layers where they read learned tokens, and so do the operations after them: the queries of a
Perceiver are projected, although they do not depend on the input.
"""

from collections.abc import Callable
from dataclasses import replace

from nar.capture.rewrites import activations, layers
from nar.capture.rewrites.attention import attention, fused_attention
from nar.capture.rewrites.match import Matcher
from nar.capture.rewrites.norms import (
    affine_batch_norm,
    frozen_norm,
    norm,
    norm_bias,
    norm_weight,
    shifted_norm,
)
from nar.capture.rewrites.rotary import complex_product, turned, turned_halves, turned_in_part
from nar.capture.trace import LEAVES, Operation, Trace
from nar.graphs.ops import Trait, with_any

_LAYERS = with_any(Trait.WEIGHTED | Trait.ON_LEARNED)
Rule = Callable[[Matcher, Operation], Operation | None]

# Operator of the last operation of a pattern -> rules for the pattern; the first match wins.
RULES: dict[str, tuple[Rule, ...]] = {
    "conv": (layers.linear_of_pooled, layers.padded),
    "conv_grouped": (layers.padded,),
    "conv_depthwise": (layers.padded,),
    "max_pool": (layers.padded,),
    "avg_pool": (layers.padded,),
    "matmul": (attention, layers.linear),
    "index": (layers.embedding,),
    "slice": (layers.part_of_linear,),
    "split": (layers.part_of_linear,),
    "lstm": (layers.layer_of_cells,),
    "gru": (layers.layer_of_cells,),
    "rnn": (layers.layer_of_cells,),
    "concat": (
        layers.joined_cells,
        turned_halves,
        turned_in_part,
        layers.rearranged,
        layers.joined,
    ),
    "attention": (fused_attention,),
    "add": (
        layers.linear_bias,
        layers.conv_bias,
        norm_bias,
        affine_batch_norm,
        frozen_norm,
        shifted_norm,
        turned,
    ),
    "sub": (turned,),
    "complex_mul": (complex_product,),
    "mul": (
        activations.gated,
        activations.gelu,
        activations.hard_swish,
        activations.hard_sigmoid,
        activations.softmax,
        norm,
        norm_weight,
        affine_batch_norm,
    ),
    "div": (
        activations.gelu,
        activations.hard_swish,
        activations.hard_sigmoid,
        activations.softmax,
        norm,
    ),
    "clamp": (activations.relu6,),
}


def rewrite(trace: Trace) -> Trace:
    """The trace in canonical operator classes, its values numbered as before."""
    match = Matcher(trace.operations)
    # Where no output seems to depend on an input, the input came in a way that capture cannot see.
    folds = any(trace.operations[value].reads_data for value in trace.outputs)
    for value, operation in enumerate(trace.operations):
        if folds and _is_learned(match, operation):
            match.replace(value, Operation("parameter", shape=operation.shape))
            continue
        for rule in RULES.get(operation.operator, ()):
            rewritten = rule(match, operation)
            if rewritten is not None:
                match.replace(value, rewritten)
                break
    return replace(trace, operations=match.operations())


def _is_learned(match: Matcher, operation: Operation) -> bool:
    """Whether an operation reads parameters and constants only, and is no layer."""
    return (
        not operation.reads_data
        and bool(operation.operands)
        and operation.operator not in _LAYERS
        and all(match[value].operator in LEAVES for value in operation.operands)
    )
