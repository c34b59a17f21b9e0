"""Neighbour encoding (paper, Eq. 2): every operator is labelled by what surrounds it.

C^0 is the operator; C^k hashes C^(k-1) of the node with those of its ordered parents and of the set
of its children. One step costs a few passes over nodes and edges; nothing is sorted per step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.graph import ComputationalGraph
from nar.ops import COMMUTATIVE_IDS, MAX_OP_ID

Labels = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SLOT = np.uint64(0xD1B54A32D192ED03)
_NO_CHILD = np.uint64(0x8CB92BA72F3D8DD7)
_LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)
_IS_COMMUTATIVE = np.isin(np.arange(MAX_OP_ID + 1), list(COMMUTATIVE_IDS))


def mix(values: Labels) -> Labels:
    """A bijection of 64-bit integers that scatters them (the finaliser of splitmix64)."""
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Wiring:
    """Operators and edges of one or more graphs, laid end to end and ready for vector steps.

    Attributes:
        op_ids: Shape (nodes,).
        source: Shape (edges,), edges ordered by target, then operand slot.
        target: Shape (edges,).
        slot: Shape (edges,), which operand of the target; 0 where operands have no order.
        in_start: Shape (nodes + 1,), where the edges into each node begin.
        by_source: Shape (edges,), a permutation that orders the edges by source.
        parents: Shape (nodes with children,), their numbers.
        out_start: Shape (nodes with children,), where their edges begin in ``by_source``.
    """

    op_ids: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    slot: Labels
    in_start: NDArray[np.int64]
    by_source: NDArray[np.int64]
    parents: NDArray[np.int64]
    out_start: NDArray[np.int64]


def wiring(graphs: Sequence[ComputationalGraph]) -> Wiring:
    """Lay canonical graphs end to end; no edge leads from one to another."""
    first = np.concatenate([[0], np.cumsum([graph.nodes for graph in graphs])])
    op_ids = np.concatenate([graph.op_ids for graph in graphs]).astype(np.int64)
    edges = [graph.edge_index + shift for graph, shift in zip(graphs, first[:-1], strict=True)]
    source, target = np.concatenate(edges, axis=1).astype(np.int64)
    degree = np.bincount(target, minlength=len(op_ids))
    in_start = np.concatenate([[0], np.cumsum(degree)])
    slot = np.arange(len(target)) - in_start[target]
    slot[_IS_COMMUTATIVE[op_ids[target]]] = 0
    by_source = np.argsort(source, kind="stable")
    ordered = source[by_source]
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    out_start = np.flatnonzero(is_first)
    return Wiring(
        op_ids,
        source,
        target,
        slot.astype(np.uint64) * _SLOT,
        in_start,
        by_source,
        ordered[out_start],
        out_start,
    )


def encode_neighbours(graph: ComputationalGraph, steps: int) -> Labels:
    """C^s of Eq. 2 for every node.

    Args:
        graph: Canonical graph.
        steps: s, the radius of what a label sees.

    Returns:
        Shape (nodes,), uint64. Equal labels stand for equal neighbourhoods, in any graph.
    """
    wires = wiring([graph])
    return refine(mix(wires.op_ids.astype(np.uint64)), wires, steps)


def tells_operands_apart(wires: Wiring) -> NDArray[np.bool_]:
    """Shape (edges,): whether the target has several operands, and their order counts."""
    has_several = np.diff(wires.in_start) > 1
    found: NDArray[np.bool_] = (has_several & ~_IS_COMMUTATIVE[wires.op_ids])[wires.target]
    return found


def refine(
    labels: Labels, wires: Wiring, steps: int, inside: NDArray[np.bool_] | None = None
) -> Labels:
    """Run ``steps`` steps of Eq. 2 from the given C^0.

    Children count as a set: how often a value is read says how deep a model is, not how it is
    designed. The smallest and the largest hash stand for that set; they tell any two sets of up to
    two labels apart.

    Args:
        labels: Shape (nodes,), C^0.
        wires: The graphs.
        steps: Number of steps.
        inside: Shape (edges,): which edges to look along; all by default.
    """
    for _ in range(steps):
        labels = mix(labels + _parents(labels, wires, inside) + _children(labels, wires, inside))
    return labels


def _parents(labels: Labels, wires: Wiring, inside: NDArray[np.bool_] | None) -> Labels:
    seen = mix(labels[wires.source] + wires.slot)
    if inside is not None:
        seen *= inside
    sums = np.zeros(len(seen) + 1, dtype=np.uint64)
    np.cumsum(seen, out=sums[1:])
    return sums[wires.in_start[1:]] - sums[wires.in_start[:-1]]


def _children(labels: Labels, wires: Wiring, inside: NDArray[np.bool_] | None) -> Labels:
    summary = np.full(len(labels), _NO_CHILD)
    if not len(wires.out_start):
        return summary
    seen = mix(labels[wires.target] + wires.slot + _NO_CHILD)
    largest = seen if inside is None else np.where(inside, seen, np.uint64(0))
    smallest = seen if inside is None else np.where(inside, seen, _LARGEST)
    top = np.maximum.reduceat(largest[wires.by_source], wires.out_start)
    bottom = np.minimum.reduceat(smallest[wires.by_source], wires.out_start)
    has_child = top >= bottom  # else all its children are outside
    summary[wires.parents] = np.where(has_child, mix(top) + bottom, _NO_CHILD)
    return summary
