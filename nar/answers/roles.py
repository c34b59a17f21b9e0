"""Roles: which nodes of a graph are its embedding, which its body, and which its head.

The body is what a design is made of; the ends are what it is used with. A *maker* is an operator
that gives features their form: a norm, an activation of hidden values, a recurrent layer.

- The body is whatever leads to a join, an operator with several operands, or to a maker. Two do not
  count: a maker behind the last join that also comes after a linear layer or after an operator that
  pools or picks; and a join of nothing but results.
- What is not in the body is the head.
- Within the body, the embedding is inputs, tables of words, the layers that read inputs, and what
  is computed from these alone until the first maker.

::

    input ─> conv ─> relu ─> conv ─> add ─> relu ─> conv ─> relu ─> mean ─> linear ─> relu ─> linear
    embedding        └───────────────^                      body    head
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.ops import Trait, mask_of
from nar.motifs.borders import EMBEDDING, HAS_WEIGHTS, INPUT, first_layers
from nar.motifs.neighbours import wiring

Role = Literal["embedding", "body", "head"]
Mask = NDArray[np.bool_]

_IS_MAKER: Final = mask_of(Trait.NORM | Trait.MAKER)
_IS_BEGIN: Final = mask_of(Trait.BEGINS_HEAD)


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """The role of every node of a graph; each has one.

    Attributes:
        embedding: Shape (nodes,).
        body: Shape (nodes,).
        head: Shape (nodes,).
    """

    embedding: Mask
    body: Mask
    head: Mask


def roles(graph: ComputationalGraph) -> Roles:
    """Tell embedding, body and head apart, by structure alone; linear in nodes and edges.

    Args:
        graph: Its nodes stand in canonical order.
    """
    flow = _Reachability(graph)
    kept = _kept(graph, flow)
    embedding = _embedding(graph, flow, kept)
    return Roles(embedding, kept & ~embedding, ~kept & ~embedding)


class _Reachability:
    """Operands and readers of every node, and marks that are carried along the edges."""

    def __init__(self, graph: ComputationalGraph) -> None:
        self.operands = operand_lists(graph.nodes, graph.edge_index)
        self.readers: list[list[int]] = [[] for _ in self.operands]
        for node, sources in enumerate(self.operands):
            for source in sources:
                self.readers[source].append(node)

    def above(self, marked: Mask) -> Mask:
        """Nodes from which a marked node is reached in one step or more."""
        marks, above = marked.tolist(), [False] * len(marked)
        for node in reversed(range(len(marks))):
            above[node] = any(marks[reader] or above[reader] for reader in self.readers[node])
        return np.array(above, dtype=np.bool_)

    def below(self, marked: Mask) -> Mask:
        """Marked nodes, and nodes that are reached from a marked one."""
        below = marked.tolist()
        for node, sources in enumerate(self.operands):
            below[node] = below[node] or any(below[source] for source in sources)
        return np.array(below, dtype=np.bool_)


def _kept(graph: ComputationalGraph, flow: _Reachability) -> Mask:
    """What is not in the head."""
    several = np.array([len(sources) > 1 for sources in flow.operands], dtype=np.bool_)
    makers = _IS_MAKER[graph.op_ids]
    goes_on = flow.above(several | makers | HAS_WEIGHTS[graph.op_ids])
    joins = several & (goes_on | ~_of_results(flow))
    late = flow.below(_IS_BEGIN[graph.op_ids] & ~joins & ~flow.above(joins))
    features = joins | (makers & ~late)
    return features | flow.above(features)


def _of_results(flow: _Reachability) -> Mask:
    """Nodes whose operands have no other reader: a residual's operand is read by its branch too."""
    return np.array(
        [all(len(flow.readers[source]) == 1 for source in sources) for sources in flow.operands],
        dtype=np.bool_,
    )


def _embedding(graph: ComputationalGraph, flow: _Reachability, kept: Mask) -> Mask:
    """What stands between inputs and body; what is computed from parameters alone goes with it."""
    weighted, makers = HAS_WEIGHTS[graph.op_ids], _IS_MAKER[graph.op_ids]
    given = np.isin(graph.op_ids, (INPUT, EMBEDDING)).tolist()
    passes = (kept & ~makers & (~weighted | first_layers(wiring([graph])))).tolist()
    learned = (kept & ~makers & ~weighted).tolist()
    for node, sources in enumerate(flow.operands):
        if given[node]:
            learned[node] = False
            continue
        given[node] = (
            passes[node]
            and any(given[source] for source in sources)
            and all(given[source] or learned[source] for source in sources)
        )
        learned[node] = learned[node] and all(learned[source] for source in sources)
    for node in reversed(range(graph.nodes)):
        readers = flow.readers[node]
        given[node] = given[node] or (
            learned[node] and bool(readers) and all(given[reader] for reader in readers)
        )
    return np.array(given, dtype=np.bool_)
