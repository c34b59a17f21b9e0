"""One numbering and two of the fingerprints of every graph, however its nodes came numbered.

Each node gets a code from everything above it and everything below it. Codes name the design: they
do not depend on numbering, and they change with direction, operator and operand order. Operands of
commutative operators have no order. Cost: linear in nodes and edges (operands of one node sorted).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256

import numpy as np

from nar.graph import ComputationalGraph, operand_lists
from nar.ops import COMMUTATIVE_IDS

Code = bytes


class Wiring:
    """Who reads whom in a graph, looked up once for all that is made from it.

    Attributes:
        graph: A valid graph in any numbering.
        operands: Of each node, in their order.
        order: Nodes, each after its operands.
        commutative: Of each node, whether its operands have no order.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        self.graph = graph
        self.operands = operand_lists(graph.nodes, graph.edge_index)
        self.commutative = [number in COMMUTATIVE_IDS for number in graph.op_ids.tolist()]
        self._readers = self._read()
        self.order = self._topological_order()

    def _read(self) -> list[list[tuple[int, bytes]]]:
        """Of each node its readers, each with the slot that it reads it in."""
        readers: list[list[tuple[int, bytes]]] = [[] for _ in self.operands]
        most = max(map(len, self.operands), default=0)
        slots = [slot.to_bytes(4, "little") for slot in range(most)]
        for node, sources in enumerate(self.operands):
            for slot, source in enumerate(sources):
                readers[source].append((node, slots[0 if self.commutative[node] else slot]))
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
            initial: What is known of each node by itself.
        """
        past: list[Code] = [b""] * len(initial)
        for node in self.order:
            read = [past[source] for source in self.operands[node]]
            if self.commutative[node]:
                read.sort()
            past[node] = _digest([initial[node], *read])
        whole: list[Code] = [b""] * len(initial)
        for node in reversed(self.order):
            future = sorted(whole[reader] + slot for reader, slot in self._readers[node])
            whole[node] = _digest([past[node], *future])
        return whole

    def topology(self) -> str:
        """Topology fingerprint of the graph."""
        initial = [identifier.tobytes() for identifier in self.graph.op_ids.astype("<u2")]
        return _digest_of_all(self.codes(initial), b"topology")

    def coded(self) -> "Coded":
        """The exact code of each node."""
        ids, rows = self.graph.op_ids.astype("<u2"), self.graph.attributes.astype("<i2")
        initial = [number.tobytes() + row.tobytes() for number, row in zip(ids, rows, strict=True)]
        return Coded(self, self.codes(initial))


@dataclass(frozen=True, slots=True)
class Coded:
    """A graph with the exact code of each node: its order and its exact fingerprint come of them.

    Attributes:
        wiring: Of the graph, in whatever numbering it came.
        codes: Of each node, from operators, wiring and attributes.
    """

    wiring: Wiring
    codes: list[Code]

    def canonical(self) -> ComputationalGraph:
        """The graph in canonical order."""
        return _ordered(self.wiring, self.codes)

    def exact(self, parameters: int) -> str:
        """Exact fingerprint of the graph, as if this were its parameter total."""
        return _digest_of_all(self.codes, f"exact:{parameters}".encode())


def canonical(graph: ComputationalGraph) -> ComputationalGraph:
    """The same graph in its canonical topological order; calling it again changes nothing.

    The order is a depth-first post-order from the outputs that descends into the deepest operand
    first, so the nodes of one block stand together and a shortcut follows the branch it joins.

    Args:
        graph: A valid graph in any numbering.
    """
    return Wiring(graph).coded().canonical()


def topology_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of operators and wiring: equal for "the same design"."""
    return Wiring(graph).topology()


def exact_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of operators, wiring, attributes and parameter total: "the same network".

    Attributes hold ratios of widths, the parameter total pins the widths themselves.
    """
    return Wiring(graph).coded().exact(graph.parameters)


def _digest_of_all(codes: list[Code], kind: bytes) -> str:
    return sha256(kind + b"".join(sorted(codes))).hexdigest()


def _digest(parts: Iterable[bytes]) -> Code:
    return blake2b(b"".join(parts), digest_size=16).digest()


def _ordered(wiring: Wiring, codes: list[Code]) -> ComputationalGraph:
    graph, depths = wiring.graph, _depths(wiring)
    # Equal codes that look once more tell apart operands by who else reads them.
    refined = wiring.codes(codes)
    codes = [code + again for code, again in zip(codes, refined, strict=True)]
    order = _deepest_first_order(wiring, depths, codes)
    position = np.empty(graph.nodes, dtype=np.int32)
    position[order] = np.arange(graph.nodes, dtype=np.int32)
    edges = _renumbered_edges(wiring, order, position.tolist())
    return replace(
        graph,
        op_ids=np.ascontiguousarray(graph.op_ids[order]),
        attributes=np.ascontiguousarray(graph.attributes[order]),
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
    )


def _depths(wiring: Wiring) -> list[int]:
    depths = [0] * len(wiring.order)
    for node in wiring.order:
        read = wiring.operands[node]
        depths[node] = 1 + max((depths[source] for source in read), default=-1)
    return depths


def _deepest_first_order(wiring: Wiring, depths: list[int], codes: list[Code]) -> list[int]:
    """Post-order from the outputs; ties fall to operand order, or to codes where there is none."""
    outputs = set(wiring.order).difference(*wiring.operands)
    roots = sorted(outputs, key=lambda node: (-depths[node], codes[node]))
    visit = _visiting_order(wiring, depths, codes)
    order: list[int] = []
    seen = [False] * len(depths)
    for root in roots:
        stack = [(root, iter(visit(root)))]
        seen[root] = True
        while stack:
            node, remaining = stack[-1]
            child = next((source for source in remaining if not seen[source]), None)
            if child is None:
                order.append(node)
                stack.pop()
            else:
                seen[child] = True
                stack.append((child, iter(visit(child))))
    return order


def _visiting_order(
    wiring: Wiring, depths: list[int], codes: list[Code]
) -> Callable[[int], list[int]]:
    def visit(node: int) -> list[int]:
        if wiring.commutative[node]:
            return sorted(
                wiring.operands[node], key=lambda source: (-depths[source], codes[source])
            )
        return sorted(wiring.operands[node], key=lambda source: -depths[source])

    return visit


def _renumbered_edges(
    wiring: Wiring, order: list[int], position: list[int]
) -> list[tuple[int, int]]:
    edges: list[tuple[int, int]] = []
    for new, old in enumerate(order):
        sources = [position[source] for source in wiring.operands[old]]
        if wiring.commutative[old]:
            sources.sort()
        edges.extend((source, new) for source in sources)
    return edges
