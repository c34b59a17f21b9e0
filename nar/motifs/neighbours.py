"""Neighbour encoding (paper, Eq. 2): every operator is coded with its surroundings.

C^0 is the operator; C^k hashes C^(k-1) of the node with C^(k-1) of its ordered parents and of the
set of its children. A step takes a few passes over nodes and edges; nothing is sorted in a step.

A residual block, and the nodes that its codes separate:

      input ──> conv ──> relu ──> conv ──> add ──> relu          C^0   i c r c a r   4 codes
                  └────────────────────────^                     C^1   i c r d a s   6 codes

After one step the two convolutions differ, for they have different parents; so do the two relus.

Skeletons are graphs without norms and activations, which people exchange most often. Both stand
between layers, so every neighbourhood of a layer changes with them; in the skeleton none does.
Arithmetic with one operand (a scale, a bias written out) is left out as well. A residual block, and
its skeleton:

      input ─> conv ─> batch_norm ─> relu ─> conv ─> add          input ─> conv ─> conv ─> add
                 └───────────────────────────────────^                       └────────────^
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import ATTRIBUTE, CHILD, SLOT, Codes, mix, operator_codes, salted
from nar.graphs.ops import ATTRIBUTES, Trait, mask_of
from nar.graphs.ragged import Integers, offsets

CHANNEL_RATIO: Final = ATTRIBUTES.index("channel_ratio")
HEADS: Final = ATTRIBUTES.index("heads")
_LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)
IS_COMMUTATIVE = mask_of(Trait.COMMUTATIVE)


@dataclass(frozen=True, slots=True)
class Wiring:
    """Operators and edges of one or more graphs, laid end to end and ready for vector steps.

    Attributes:
        op_ids: Shape (nodes,).
        source: Shape (edges,), edges ordered by target, then operand slot.
        target: Shape (edges,).
        slot: Shape (edges,), the place of an edge among the operands of its target, times a salt; 0
            where operands have no order.
        in_start: Shape (nodes + 1,), where the edges into each node begin.
        by_source: Shape (edges,), a permutation that orders the edges by source.
        parents: Shape (nodes with children,), numbers of the nodes.
        out_start: Shape (nodes with children,), where the edges of a node begin in ``by_source``.
        readers: Shape (edges,), targets in the order of ``by_source``.
        read_as: Shape (edges,), slots in the order of ``by_source``.
    """

    op_ids: Integers
    source: Integers
    target: Integers
    slot: Codes
    in_start: Integers
    by_source: Integers
    parents: Integers
    out_start: Integers
    readers: Integers
    read_as: Codes


def wiring(graphs: Sequence[ComputationalGraph]) -> Wiring:
    """Lay canonical graphs end to end; no edge leads from one to another."""
    first = offsets([graph.nodes for graph in graphs])
    op_ids = np.concatenate([graph.op_ids for graph in graphs]).astype(np.int64)
    edges = [graph.edge_index + shift for graph, shift in zip(graphs, first[:-1], strict=True)]
    source, target = np.concatenate(edges, axis=1).astype(np.int64)
    return wired(op_ids, source, target)


def wired(op_ids: Integers, source: Integers, target: Integers) -> Wiring:
    """Make edges ready for vector steps.

    Args:
        op_ids: Shape (nodes,).
        source: Shape (edges,), ordered by target, then operand slot.
        target: Shape (edges,).
    """
    in_start = offsets(np.bincount(target, minlength=len(op_ids)))
    slot = np.arange(len(target)) - in_start[target]
    slot[IS_COMMUTATIVE[op_ids[target]]] = 0
    by_source = np.argsort(source, kind="stable")
    ordered = source[by_source]
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    out_start = np.flatnonzero(is_first)
    salts = slot.astype(np.uint64) * SLOT
    return Wiring(
        op_ids,
        source,
        target,
        salts,
        in_start,
        by_source,
        ordered[out_start],
        out_start,
        target[by_source],
        salts[by_source],
    )


def encode_neighbours(graph: ComputationalGraph, steps: int) -> Codes:
    """C^s of Eq. 2 for every node.

    Args:
        graph: Canonical graph.
        steps: s, the radius of the surroundings that a code depends on.

    Returns:
        Shape (nodes,). Equal codes stand for equal neighbourhoods, in any graph.
    """
    wires = wiring([graph])
    return refine(operator_codes(wires.op_ids), wires, steps)


def tells_operands_apart(wires: Wiring) -> NDArray[np.bool_]:
    """Shape (edges,): whether the target has several operands whose order counts."""
    has_several = np.diff(wires.in_start) > 1
    of_target: NDArray[np.bool_] = (has_several & ~IS_COMMUTATIVE[wires.op_ids])[wires.target]
    return of_target


def refine(
    codes: Codes, wires: Wiring, steps: int, inside: NDArray[np.bool_] | None = None
) -> Codes:
    """Run ``steps`` steps of Eq. 2 from the given C^0.

    Children count as a set: how often a value is read depends on the depth of a model, not on its
    design. The smallest and the largest code stand for the set; they separate any two sets of up to
    two codes.

    Args:
        codes: Shape (nodes,), C^0.
        wires: The graphs.
        steps: Number of steps.
        inside: Shape (edges,): the edges to follow; all edges by default.
    """
    for _ in range(steps):
        codes = mix(codes + _parents(codes, wires, inside) + _children(codes, wires, inside))
    return codes


def refine_upwards(codes: Codes, wires: Wiring) -> Codes:
    """One step of Eq. 2 with ordered parents only: readers of a node do not count."""
    return mix(codes + _parents(codes, wires))


def refine_downwards(codes: Codes, wires: Wiring) -> Codes:
    """One step of Eq. 2 with children only: the operands of a node do not count."""
    return mix(codes + _children(codes, wires, None))


def _parents(codes: Codes, wires: Wiring, inside: NDArray[np.bool_] | None = None) -> Codes:
    seen = mix(codes[wires.source] + wires.slot)
    if inside is not None:
        seen *= inside
    sums = np.zeros(len(seen) + 1, dtype=np.uint64)
    np.cumsum(seen, out=sums[1:])
    return sums[wires.in_start[1:]] - sums[wires.in_start[:-1]]


def _children(codes: Codes, wires: Wiring, inside: NDArray[np.bool_] | None) -> Codes:
    summary = np.full(len(codes), CHILD)
    if not len(wires.out_start):
        return summary
    seen = mix(codes[wires.readers] + wires.read_as + CHILD)
    if inside is None:
        top = np.maximum.reduceat(seen, wires.out_start)
        bottom = np.minimum.reduceat(seen, wires.out_start)
        summary[wires.parents] = mix(top) + bottom
        return summary
    looks = inside[wires.by_source]
    top = np.maximum.reduceat(seen * looks, wires.out_start)
    bottom = np.minimum.reduceat(np.where(looks, seen, _LARGEST), wires.out_start)
    has_child = top >= bottom  # otherwise all children are outside
    summary[wires.parents] = np.where(has_child, mix(top) + bottom, CHILD)
    return summary


def with_attributes(
    codes: Codes, graphs: Sequence[ComputationalGraph], borders: NDArray[np.bool_] | None = None
) -> Codes:
    """Codes with all attributes; if borders are given, without widths at borders and heads."""
    attributes = np.concatenate([graph.attributes for graph in graphs]).astype(np.int64)
    if borders is not None:
        attributes[borders, CHANNEL_RATIO] = 0
        attributes[:, HEADS] = 0
    for column in attributes.T:
        codes = salted(codes, column, ATTRIBUTE)
    return codes


IS_EXCHANGED: Final = mask_of(Trait.NORM | Trait.ACTIVATION | Trait.ARITHMETIC)


def skeleton(wires: Wiring) -> tuple[NDArray[np.bool_], Wiring]:
    """Remove norms, activations and arithmetic with one operand; their readers read their operand.

    Args:
        wires: Canonical graphs, laid end to end.

    Returns:
        Shape (nodes,), which nodes are left; and the wiring of these nodes.
    """
    gone = IS_EXCHANGED[wires.op_ids] & (np.diff(wires.in_start) == 1)
    # The node that stands for each removed node: every round doubles the steps taken upwards.
    stands_for = np.arange(len(gone))
    stands_for[gone] = wires.source[wires.in_start[:-1][gone]]
    while gone[stands_for].any():
        stands_for = stands_for[stands_for]
    number = np.cumsum(~gone) - 1
    edges = ~gone[wires.target]
    source = number[stands_for[wires.source[edges]]]
    return ~gone, wired(wires.op_ids[~gone], source, number[wires.target[edges]])
