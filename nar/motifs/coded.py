"""Coded: a graph with what its operators are compared by when it is aligned with another one."""

from collections import Counter
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.graph import ComputationalGraph, operand_lists, reader_lists
from nar.graphs.hashing import ATTRIBUTE, operator_codes, salted
from nar.graphs.ops import ATTRIBUTES, MAX_OP_ID, OPS, Trait, mask_of, op_id
from nar.graphs.ragged import Integers
from nar.motifs.borders import HAS_WEIGHTS
from nar.motifs.neighbours import (
    refine,
    refine_downwards,
    refine_upwards,
    wiring,
    with_attributes,
)

# What makes a layer another one. Strides and ratios of widths differ from stage to stage, and heads
# with the width: an edit is the same edit in each of them.
_KEYS: Final = tuple(
    ATTRIBUTES.index(name)
    for name in ("kernel", "kernel_shape", "dilation", "rank", "parameter_operands")
)
# Chosen: distances between equal operators that may be the size of a block.
_CANDIDATES: Final = 4
# The level of `Coded.levels` that compares operators by themselves.
KEYED: Final = 2
_POOLS: Final = ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool")


def _classes() -> NDArray[np.int64]:
    """The class of each possible operator: convolutions, norms, activations and poolings."""
    classes = np.arange(MAX_OP_ID + 1)
    kinds = (
        mask_of(Trait.CONVOLVES),
        mask_of(Trait.NORM),
        mask_of(Trait.ACTIVATION),
        np.isin(classes, [op_id(name) for name in _POOLS]),
    )
    for number, kind in enumerate(kinds):
        classes[kind] = len(OPS) + number
    return classes


_CLASSES: Final = _classes()
LAYER_CLASSES: Final = frozenset(_CLASSES[: len(OPS)][HAS_WEIGHTS[: len(OPS)]].tolist())


class Coded:
    """A graph with what its operators are compared by.

    Attributes:
        levels: Codes of all nodes, from the largest surroundings to the class alone.
        plain: Code of the operator of each node.
        classes: The class of each node.
        above: Code of each node with the operators that it reads.
        below: Code of each node with the operators that read it.
        exact: Code of each node with all attributes.
        crossing: How many values cross the place before each node, and behind the last one.
        stack: The largest stack of one block, see `_stack`.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        wires = wiring([graph])
        plain = operator_codes(wires.op_ids)
        keyed = plain
        for column in graph.attributes[:, _KEYS].T:
            keyed = salted(keyed, column.astype(np.int64), ATTRIBUTE)
        classes = _CLASSES[graph.op_ids]
        levels = (refine(keyed, wires, 2), refine(keyed, wires, 1), keyed, plain, classes)
        self.levels: list[list[int]] = [level.tolist() for level in levels]
        self.plain, self.classes = self.levels[-2:]
        self.above: list[int] = refine_upwards(plain, wires).tolist()
        self.below: list[int] = refine_downwards(plain, wires).tolist()
        self.exact: list[int] = with_attributes(plain, [graph]).tolist()
        self.crossing: list[int] = _crossing(graph).tolist()
        self.stack = _stack(self)
        self._graph = graph

    @cached_property
    def operands(self) -> list[list[int]]:
        """What each node reads."""
        return operand_lists(self._graph.nodes, self._graph.edge_index)

    @cached_property
    def readers(self) -> list[list[int]]:
        """What reads each node."""
        return reader_lists(self._graph.nodes, self._graph.edge_index)


def _crossing(graph: ComputationalGraph) -> Integers:
    source, target = graph.edge_index.astype(np.int64)
    last = np.zeros(graph.nodes, dtype=np.int64)
    np.maximum.at(last, source, target)
    read = np.flatnonzero(last)
    change = np.bincount(read + 1, minlength=graph.nodes + 2)
    change -= np.bincount(last[read] + 1, minlength=graph.nodes + 2)
    return np.cumsum(change)


def _stack(side: Coded) -> tuple[range, int] | None:
    """The nodes of the longest run of a block that follows itself, and the size of the block.

    None where it is less than half of the graph.
    """
    codes = np.array(side.plain, dtype=np.uint64)
    around = np.array(side.levels[0], dtype=np.uint64)
    order = np.argsort(around, kind="stable")
    follows = around[order][1:] == around[order][:-1]
    distances = Counter(np.diff(order)[follows].tolist())
    best: tuple[range, int] | None = None
    for step, _ in distances.most_common(_CANDIDATES):
        differs = np.flatnonzero(np.append(codes[step:] != codes[:-step], True))
        lengths = np.diff(differs, prepend=-1) - 1
        longest = int(lengths.argmax())
        first = int(differs[longest] - lengths[longest])
        stack = range(first, int(differs[longest]) + step)
        if lengths[longest] >= step and (best is None or len(stack) > len(best[0])):
            best = stack, step
    return best if best and 2 * len(best[0]) >= len(codes) else None
