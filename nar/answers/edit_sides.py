"""Side: one of two graphs that are compared, with what is asked of its operators."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from nar.answers.edit_kinds import Part
from nar.answers.roles import roles
from nar.graphs.graph import ComputationalGraph, operand_lists, reader_lists
from nar.graphs.ops import ATTRIBUTES, Trait, ids_with_any, mask_of, op_id, op_name
from nar.motifs.borders import HAS_WEIGHTS, at_border, first_layers
from nar.motifs.neighbours import encode_neighbours, wiring
from nar.motifs.subsequence import period

KERNEL, SHAPE, STRIDE, DILATION, RANK, RATIO, HEADS, LEARNED, _ = range(len(ATTRIBUTES))
_ADD, _ATTENTION, _LINEAR = map(op_id, ("add", "attention", "linear"))
IS_NORM: Final = mask_of(Trait.NORM)
_LAYER_IDS: Final = ids_with_any(Trait.WEIGHTED)
# Chosen: share of the norms beside shortcuts that make their place a rule; the first and the last
# norm of a design stand elsewhere.
_RULE_SHARE: Final = 0.75


class Side:
    """One of two graphs, with what is asked of its operators; each answer is worked out once.

    Args:
        graph: Canonical graph.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        self.graph = graph
        self.ids: list[int] = graph.op_ids.tolist()
        self.attributes: list[list[int]] = graph.attributes.tolist()

    @cached_property
    def operands(self) -> list[list[int]]:
        """What each operator reads."""
        return operand_lists(self.graph.nodes, self.graph.edge_index)

    @cached_property
    def readers(self) -> list[list[int]]:
        """What reads each operator."""
        return reader_lists(self.graph.nodes, self.graph.edge_index)

    @cached_property
    def near(self) -> list[int]:
        """Code of each operator with what it reads and is read by, attributes aside."""
        codes: list[int] = encode_neighbours(self.graph, steps=1).tolist()
        return codes

    @cached_property
    def known(self) -> frozenset[int]:
        """All codes of `near`."""
        return frozenset(self.near)

    @cached_property
    def text(self) -> str:
        """The names of all operators in one line, with a space around each."""
        return f" {' '.join(map(op_name, self.ids))} "

    def is_before_end(self, node: int) -> bool:
        """Whether an operator is a last layer of the design, or read by one."""
        ends = self.ends
        return ends[node] or any(ends[reader] for reader in self.readers[node])

    @cached_property
    def ends(self) -> list[bool]:
        """Which operators are layers after which no layer stands."""
        wires = wiring([self.graph])
        last: list[bool] = (at_border(wires) & ~first_layers(wires)).tolist()
        return last

    @cached_property
    def layers_before(self) -> list[int]:
        """How many layers with weights stand before each operator."""
        is_layer = HAS_WEIGHTS[self.graph.op_ids]
        before: list[int] = (np.cumsum(is_layer) - is_layer).tolist()
        return before

    def makes_keys(self, node: int) -> bool:
        """Whether a layer makes keys or values of an attention, and no queries."""
        if self.ids[node] != _LINEAR:
            return False
        reached, slots = node, set[int]()
        while True:
            readers = self.readers[reached]
            attends = [each for each in readers if self.ids[each] == _ATTENTION]
            slots.update(self.operands[each].index(reached) for each in attends)
            if attends or len(readers) != 1 or self.ids[readers[0]] in _LAYER_IDS:
                return bool(slots) and 0 not in slots
            reached = readers[0]

    @cached_property
    def adds_in_a_row(self) -> int:
        """How many sums are read by another sum alone."""
        return sum(
            self.ids[node] == _ADD and [self.ids[each] for each in readers] == [_ADD]
            for node, readers in enumerate(self.readers)
        )

    @cached_property
    def norm_places(self) -> list[str]:
        """Where each norm stands beside shortcuts; empty for a norm that stands elsewhere."""
        norms = (node for node, identifier in enumerate(self.ids) if IS_NORM[identifier])
        return [self._place_of_norm(node) for node in norms]

    @cached_property
    def norm_place(self) -> str:
        """Where most norms beside shortcuts stand; empty without shortcuts, or without a rule."""
        places = Counter(filter(None, self.norm_places))
        for place, times in places.most_common(1):
            if times >= _RULE_SHARE * places.total() and times > 1:
                return place
        return ""

    def _place_of_norm(self, node: int) -> str:
        """Before a branch, behind its sum with the shortcut, or at the end of the branch."""
        source = self.operands[node][0] if self.operands[node] else node
        sums = [self.ids[each] == _ADD for each in self.readers[source]]
        if any(sums):
            return "pre-norm"
        if self.ids[source] == _ADD:
            return "post-norm"
        readers = [self.ids[each] for each in self.readers[node]]
        return "norms at the end of the branches" if readers == [_ADD] else ""

    def block(self, nodes: Sequence[int]) -> str:
        """The operators of the shortest run that gives some nodes when it is repeated."""
        names = [op_name(self.ids[node]) for node in nodes]
        return " ".join(names[: period(names)])

    @cached_property
    def role_of(self) -> list[Part]:
        """The role of each operator: `embedding`, `body` or `head`."""
        told = roles(self.graph)
        names = np.where(told.head, "head", np.where(told.embedding, "embedding", "body"))
        of_node: list[Part] = names.tolist()
        return of_node

    @cached_property
    def borders(self) -> list[bool]:
        """Whether the data sets the widths of each operator."""
        at: list[bool] = at_border(wiring([self.graph])).tolist()
        return at

    def name(self, node: int) -> str:
        """Such as ``conv 3x3``; an operator with a learned operand has a star."""
        return described(self.ids[node], self.attributes[node])

    def plain(self, node: int) -> str:
        """The name without its window."""
        return op_name(self.ids[node]) + ("*" if self.attributes[node][LEARNED] else "")


def described(identifier: int, attributes: Sequence[int]) -> str:
    """An operator with what sets it apart, without stride and widths.

    Example:
        >>> described(op_id("conv"), [3, 1, 2, 1, 2, 4, 0, 0, 0])
        'conv 3x3'
        >>> described(op_id("mul"), [0, 0, 0, 0, 0, 0, 0, 1, 0])
        'mul*'
    """
    name = op_name(identifier) + ("*" if attributes[LEARNED] else "")
    kernel, rank = attributes[KERNEL], attributes[RANK]
    if kernel:
        one = [str(kernel)] * max(rank, 1)
        if attributes[SHAPE] in (2, 3) and rank == 2:
            one[attributes[SHAPE] - 2] = "1"
        name = f"{name} {'x'.join(one)}"
    if attributes[DILATION] > 1:
        name = f"{name} dilated {attributes[DILATION]}"
    return name
