"""ComputationalGraph: the frozen record that every other step reads.

Nodes are operators, edges carry values from the operator that makes a value to an operator that
reads it. The numbering of nodes never matters: `nar.graphs.canonical` gives every graph one
numbering.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import InvalidGraphError
from nar.graphs.ops import ATTRIBUTES, is_known, op_id, op_name
from nar.graphs.ragged import offsets

# Chosen: some ten times the largest graph of the corpus. Graphs from outside have lower limits
# (`nar.wire.limits`).
MAX_NODES = 200_000
# Chosen: five times as many; most nodes read one or two values.
MAX_EDGES = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ComputationalGraph:
    """Operators, their attributes, and the edges between them.

    Attributes:
        op_ids: Shape (nodes,), uint16, ids of `nar.graphs.ops`.
        attributes: Shape (nodes, len(ATTRIBUTES)), int16, small bucketed integers.
        edge_index: Shape (2, edges), int32, source -> target. The edges into one target stand in
            the order of its operands; no edge is there twice.
        parameters: Number of learned scalars; tied weights count once.
        flops: Floating-point operations of the captured forward pass, a multiply-add counted as 2.
    """

    op_ids: NDArray[np.uint16]
    attributes: NDArray[np.int16]
    edge_index: NDArray[np.int32]
    parameters: int = 0
    flops: int = 0

    @property
    def nodes(self) -> int:
        """Number of operators."""
        return int(self.op_ids.shape[0])

    @property
    def edges(self) -> int:
        """Number of edges."""
        return int(self.edge_index.shape[1])

    def __eq__(self, other: object) -> bool:
        """Same numbering, same content."""
        return (
            isinstance(other, ComputationalGraph)
            and self.parameters == other.parameters
            and self.flops == other.flops
            and np.array_equal(self.op_ids, other.op_ids)
            and np.array_equal(self.attributes, other.attributes)
            and np.array_equal(self.edge_index, other.edge_index)
        )

    def __str__(self) -> str:
        """One line a node: number, operator, attributes that are set, operands."""
        operands: list[list[int]] = [[] for _ in range(self.nodes)]
        for source, target in self.edge_index.T.tolist():
            operands[target].append(source)
        head = f"{self.nodes} nodes, {self.edges} edges, {self.parameters:,} parameters"
        return "\n".join([head, *(self._line(node, operands[node]) for node in range(self.nodes))])

    def _line(self, node: int, operands: list[int]) -> str:
        values = zip(ATTRIBUTES, self.attributes[node].tolist(), strict=True)
        attributes = " ".join(f"{name}={value}" for name, value in values if value)
        reads = ", ".join(f"%{source}" for source in operands)
        return f"%{node} = {op_name(int(self.op_ids[node]))}({reads})  {attributes}".rstrip()

    def validate(self, *, max_nodes: int = MAX_NODES, max_edges: int = MAX_EDGES) -> None:
        """Check everything that later steps rely on.

        Raises:
            InvalidGraphError: Names the node or edge at fault: empty, too large, of a wrong shape,
                an unassigned operator id, an end out of range, a self-loop, a duplicate, a cycle.
        """
        self._check_sizes(max_nodes, max_edges)
        self._check_ops()
        self._check_edges()
        check_acyclic(self.nodes, self.edge_index)

    def _check_sizes(self, max_nodes: int, max_edges: int) -> None:
        if self.op_ids.ndim != 1 or self.nodes == 0:
            raise InvalidGraphError("op_ids", "wanted at least one node, came an empty graph")
        if self.nodes > max_nodes:
            raise InvalidGraphError(
                "op_ids", f"wanted at most {max_nodes} nodes, came {self.nodes}"
            )
        if self.edge_index.ndim != 2 or self.edge_index.shape[0] != 2:
            raise InvalidGraphError(
                "edge_index", f"wanted shape (2, edges), came {self.edge_index.shape}"
            )
        if self.edges > max_edges:
            raise InvalidGraphError(
                "edge_index", f"wanted at most {max_edges} edges, came {self.edges}"
            )
        if self.attributes.shape != (self.nodes, len(ATTRIBUTES)):
            wanted = (self.nodes, len(ATTRIBUTES))
            raise InvalidGraphError(
                "attributes", f"wanted shape {wanted}, came {self.attributes.shape}"
            )
        if self.parameters < 0 or self.flops < 0:
            raise InvalidGraphError("parameters", "parameters and flops must not be negative")

    def _check_ops(self) -> None:
        for identifier in np.unique(self.op_ids).tolist():
            if not is_known(identifier):
                node = int(np.argmax(self.op_ids == identifier))
                raise InvalidGraphError(f"op_ids[{node}]", f"{identifier} is no operator's id")

    def _check_edges(self) -> None:
        source, target = self.edge_index
        bad = (self.edge_index < 0) | (self.edge_index >= self.nodes)
        if bad.any():
            edge = int(np.argmax(bad.any(axis=0)))
            pair = (int(source[edge]), int(target[edge]))
            raise InvalidGraphError(
                f"edge_index[{edge}]", f"wanted nodes 0 to {self.nodes - 1}, came {pair}"
            )
        if (source == target).any():
            edge = int(np.argmax(source == target))
            raise InvalidGraphError(f"edge_index[{edge}]", f"node {source[edge]} reads itself")
        keys = target.astype(np.int64) * self.nodes + source
        order = np.argsort(keys, kind="stable")
        repeated = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        if repeated.size:
            edge = int(order[repeated[0] + 1])
            raise InvalidGraphError(
                f"edge_index[{edge}]", f"duplicate of edge {source[edge]} -> {target[edge]}"
            )


def check_acyclic(nodes: int, edge_index: NDArray[np.int32]) -> None:
    """Raise InvalidGraphError, naming one cycle, unless the edges form a directed acyclic graph."""
    if edge_index.size == 0 or (edge_index[0] < edge_index[1]).all():
        return
    operands = operand_lists(nodes, edge_index)
    readers: list[list[int]] = [[] for _ in range(nodes)]
    for source, target in edge_index.T.tolist():
        readers[source].append(target)
    waiting = [len(of_node) for of_node in operands]
    ready = [node for node in range(nodes) if not waiting[node]]
    done = 0
    while ready:
        done += 1
        for reader in readers[ready.pop()]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    if done < nodes:
        cycle = _one_cycle(operands, waiting)
        path = " -> ".join(str(node) for node in cycle)
        raise InvalidGraphError("edge_index", f"wanted no cycle, came {path}")


def _one_cycle(operands: list[list[int]], waiting: list[int]) -> list[int]:
    node = next(index for index, count in enumerate(waiting) if count)
    trail: dict[int, int] = {}
    path: list[int] = []
    while node not in trail:
        trail[node] = len(path)
        path.append(node)
        node = next(source for source in operands[node] if waiting[source])
    cycle = path[trail[node] :][::-1]
    return [*cycle, cycle[0]]


def operand_lists(nodes: int, edge_index: NDArray[np.int32]) -> list[list[int]]:
    """The operands of each node, in their order."""
    source, target = edge_index
    order = np.argsort(target, kind="stable")
    sources: list[int] = source[order].tolist()
    begins: list[int] = offsets(np.bincount(target, minlength=nodes)).tolist()
    return [sources[begin:end] for begin, end in pairwise(begins)]


def reader_lists(nodes: int, edge_index: NDArray[np.int32]) -> list[list[int]]:
    """The readers of each node, in the order of the edges."""
    return operand_lists(nodes, edge_index[::-1])


def cut_out(graph: ComputationalGraph, kept: NDArray[np.bool_]) -> ComputationalGraph:
    """Some nodes of a graph, without totals; nodes outside that they read become inputs.

    The last two nodes of ``input ─> conv ─> relu ─> linear`` are ``input ─> relu ─> linear``.

    Args:
        graph: A valid graph.
        kept: Shape (nodes,), which nodes stay.
    """
    edges = graph.edge_index[:, kept[graph.edge_index[1]]]
    outside = np.unique(edges[0][~kept[edges[0]]])
    alive = np.concatenate([outside, np.flatnonzero(kept)])
    number = np.full(graph.nodes, -1, dtype=np.int32)
    number[alive] = np.arange(len(alive), dtype=np.int32)
    op_ids, attributes = graph.op_ids[alive], graph.attributes[alive]
    op_ids[: len(outside)] = op_id("input")
    attributes[: len(outside)] = 0
    edge_index = np.ascontiguousarray(number[edges])
    return ComputationalGraph(op_ids, attributes, edge_index)
