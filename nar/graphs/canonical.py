"""The canonical order and two fingerprints of a graph, whatever the numbering of its nodes.

Each node gets a code from everything above it and everything below it. Codes stand for the design:
they do not depend on numbering, and they change with direction, operator and operand order.
Operands of commutative operators have no order. Takes time linear in nodes and edges, but for
sorting the operands of each node.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs import kernel
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.ops import Trait, mask_of

Code = bytes
# Chosen: 128 bits, so that among 2^40 different codes two are equal by chance once in 2^49.
CODE_BYTES: Final = 16
_IS_COMMUTATIVE: Final = mask_of(Trait.COMMUTATIVE)


class Adjacency:
    """The operands and readers of each node of a graph, computed once for all uses.

    Attributes:
        graph: A valid graph in any numbering.
        unordered: Shape (nodes,), whether the operands of a node have no order.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        self.graph = graph
        self.unordered: NDArray[np.bool_] = _IS_COMMUTATIVE[graph.op_ids]

    @cached_property
    def operands(self) -> list[list[int]]:
        """Operands of each node, in their order."""
        return operand_lists(self.graph.nodes, self.graph.edge_index)

    @cached_property
    def commutative(self) -> list[bool]:
        """For each node, whether its operands have no order."""
        of_node: list[bool] = self.unordered.tolist()
        return of_node

    @cached_property
    def order(self) -> list[int]:
        """Nodes, each after its operands."""
        source, target = self.graph.edge_index
        is_ordered = bool((source < target).all())
        return list(range(self.graph.nodes)) if is_ordered else self._topological_order()

    @cached_property
    def _readers(self) -> list[list[tuple[int, bytes]]]:
        """The readers of each node, each with the slot in which it reads the node."""
        readers: list[list[tuple[int, bytes]]] = [[] for _ in self.operands]
        most = max(map(len, self.operands), default=0)
        slots = [slot.to_bytes(4, "little") for slot in range(most)]
        unordered = [slots[0]] * most if slots else []
        for node, sources in enumerate(self.operands):
            of_node = unordered if self.commutative[node] else slots
            for source, slot in zip(sources, of_node, strict=False):
                readers[source].append((node, slot))
        return readers

    def _topological_order(self) -> list[int]:
        waiting = [len(sources) for sources in self.operands]
        ready = [node for node, count in enumerate(waiting) if not count]
        order: list[int] = []
        while ready:
            node = ready.pop()
            order.append(node)
            for reader, _ in self._readers[node]:
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        return order

    def codes(self, initial: list[Code]) -> list[Code]:
        """Code of each node from its whole past (ordered operands), then from its whole future.

        Args:
            initial: Code of each node by itself.
        """
        compiled = kernel.compiled()
        if compiled is not None:
            codes = compiled.node_codes(*self._for_kernel(), _rows_of_bytes(initial))
            return [codes[at : at + CODE_BYTES] for at in range(0, len(codes), CODE_BYTES)]
        operands, commutative = self.operands, self.commutative
        past: list[Code] = [b""] * len(initial)
        for node in self.order:
            sources = operands[node]
            if len(sources) == 1:  # most nodes; captures spend much of their time here
                past[node] = _digest(initial[node] + past[sources[0]])
                continue
            read = [past[source] for source in sources]
            if commutative[node]:
                read.sort()
            past[node] = _digest(initial[node] + b"".join(read))
        whole: list[Code] = [b""] * len(initial)
        for node in reversed(self.order):
            readers = self._readers[node]
            if len(readers) == 1:
                [(reader, slot)] = readers
                whole[node] = _digest(past[node] + whole[reader] + slot)
                continue
            future = [whole[reader] + slot for reader, slot in readers]
            future.sort()
            whole[node] = _digest(past[node] + b"".join(future))
        return whole

    def in_canonical_order(self, codes: list[Code]) -> tuple[list[int], bool]:
        """Nodes in canonical order by their codes; whether nodes that need an order are tied."""
        compiled = kernel.compiled()
        if compiled is not None:
            nodes, is_tied = compiled.canonical_order(*self._for_kernel(), _rows_of_bytes(codes))
            return nodes.tolist(), is_tied
        depths = _depths(self)
        outputs = sorted(set(self.order).difference(*self.operands))
        roots = sorted(outputs, key=lambda node: (-depths[node], codes[node]))
        is_tied = _are_tied(self, depths, codes, outputs)
        return _deepest_first_order(self, depths, codes, roots), is_tied

    def _for_kernel(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The edges, and for each node whether its operands have no order."""
        edges = np.ascontiguousarray(self.graph.edge_index, dtype=np.int32)
        return edges, self.unordered.view(np.uint8)

    def topology(self) -> str:
        """Topology fingerprint of the graph."""
        initial = self.graph.op_ids.astype("<u2")[:, None]
        return fingerprint_of_codes(self.codes(_bytes_of_rows(initial)), "topology")

    def coded(self) -> "Coded":
        """The exact code of each node."""
        ids, rows = self.graph.op_ids.astype("<u2"), self.graph.attributes.astype("<i2")
        initial = np.concatenate([ids[:, None].view("<i2"), rows], axis=1)
        return Coded(self, self.codes(_bytes_of_rows(initial)))


@dataclass(frozen=True, slots=True)
class Coded:
    """A graph with the exact code of each node, for its order and its exact fingerprint.

    Attributes:
        adjacency: Operands and readers of the graph, in any numbering.
        codes: Code of each node, from operators, wiring and attributes.
    """

    adjacency: Adjacency
    codes: list[Code]

    def canonical(self) -> tuple[ComputationalGraph, NDArray[np.int64]]:
        """The graph in canonical order, and that order: shape (nodes,), numbers of its nodes."""
        return _ordered(self.adjacency, self.codes)

    def exact(self, parameters: int) -> str:
        """Exact fingerprint of the graph, with ``parameters`` as its parameter total."""
        return fingerprint_of_codes(self.codes, f"exact:{parameters}")


def canonical(graph: ComputationalGraph) -> ComputationalGraph:
    """The same graph in its canonical topological order; calling it again changes nothing.

    The order is a depth-first post-order from the outputs that descends into the deepest operand
    first, so the nodes of one block stand together and a shortcut follows the branch it joins.

    Args:
        graph: A valid graph in any numbering.
    """
    return Adjacency(graph).coded().canonical()[0]


def topology_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of operators and wiring: equal for "the same design"."""
    return Adjacency(graph).topology()


def exact_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of operators, wiring, attributes and parameter total: "the same network".

    Attributes hold ratios of widths; the parameter total fixes the widths themselves.
    """
    return Adjacency(graph).coded().exact(graph.parameters)


def fingerprint_of_codes(codes: list[Code], kind: str) -> str:
    """Sha256 (hex) of all codes of a graph, whatever their order.

    Args:
        codes: Codes of the nodes.
        kind: Kind of the codes: ``topology``, or ``exact`` with the parameter total.
    """
    return sha256(kind.encode() + b"".join(sorted(codes))).hexdigest()


def _digest(content: bytes) -> Code:
    return blake2b(content, digest_size=CODE_BYTES).digest()


def _bytes_of_rows(rows: NDArray[np.integer]) -> list[bytes]:
    """The bytes of each row of a table."""
    content, width = rows.tobytes(), rows.shape[1] * rows.itemsize
    return [content[start : start + width] for start in range(0, len(content), width)]


def _rows_of_bytes(codes: list[Code]) -> NDArray[np.uint8]:
    """Codes of one length as a table: shape (nodes, bytes)."""
    return np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(len(codes), -1)


def _ordered(
    adjacency: Adjacency, codes: list[Code]
) -> tuple[ComputationalGraph, NDArray[np.int64]]:
    graph = adjacency.graph
    nodes, is_tied = adjacency.in_canonical_order(codes)
    if is_tied:
        # A second round of codes separates equal operands by their other readers.
        refined = adjacency.codes(codes)
        codes = [code + again for code, again in zip(codes, refined, strict=True)]
        nodes, _ = adjacency.in_canonical_order(codes)
    order = np.array(nodes, dtype=np.int64)
    position = np.empty(graph.nodes, dtype=np.int32)
    position[order] = np.arange(graph.nodes, dtype=np.int32)
    ordered = replace(
        graph,
        op_ids=np.ascontiguousarray(graph.op_ids[order]),
        attributes=np.ascontiguousarray(graph.attributes[order]),
        edge_index=_renumbered_edges(adjacency, position),
    )
    return ordered, order


def _depths(adjacency: Adjacency) -> list[int]:
    depths = [0] * len(adjacency.order)
    for node in adjacency.order:
        for source in adjacency.operands[node]:
            if depths[node] <= depths[source]:
                depths[node] = depths[source] + 1
    return depths


def _are_tied(
    adjacency: Adjacency, depths: list[int], codes: list[Code], outputs: Collection[int]
) -> bool:
    """Whether nodes that need an order are equal in depth and code."""
    unordered = (
        sources
        for sources, is_unordered in zip(adjacency.operands, adjacency.commutative, strict=True)
        if is_unordered
    )
    return any(
        len({(depths[node], codes[node]) for node in nodes}) < len(nodes)
        for nodes in (outputs, *unordered)
    )


def _deepest_first_order(
    adjacency: Adjacency, depths: list[int], codes: list[Code], roots: list[int]
) -> list[int]:
    """Post-order from the outputs; operand order breaks ties, or codes where there is no order."""
    visit = _visiting_order(adjacency, depths, codes)
    order: list[int] = []
    seen = [False] * len(depths)
    for root in roots:
        stack = [(root, visit(root))]
        seen[root] = True
        while stack:
            node, remaining = stack[-1]
            while remaining and seen[remaining[-1]]:
                remaining.pop()
            if remaining:
                child = remaining.pop()
                seen[child] = True
                stack.append((child, visit(child)))
            else:
                order.append(node)
                stack.pop()
    return order


def _visiting_order(
    adjacency: Adjacency, depths: list[int], codes: list[Code]
) -> Callable[[int], list[int]]:
    def visit(node: int) -> list[int]:
        """The operands of a node, the first to visit last."""
        sources = adjacency.operands[node]
        if len(sources) < 2:
            return sources.copy()
        if adjacency.commutative[node]:
            return sorted(sources, key=lambda source: (-depths[source], codes[source]))[::-1]
        return sorted(sources, key=lambda source: -depths[source])[::-1]

    return visit


def _renumbered_edges(adjacency: Adjacency, position: NDArray[np.int32]) -> NDArray[np.int32]:
    """Edges by target, then in the order of operands, or by source where operands have no order."""
    sources, targets = position[adjacency.graph.edge_index]
    unordered = adjacency.unordered[adjacency.graph.edge_index[1]]
    slots = np.where(unordered, sources, np.arange(len(sources)))
    by_target = np.lexsort((slots, targets))
    return np.stack([sources[by_target], targets[by_target]])
