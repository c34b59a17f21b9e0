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


@dataclass(frozen=True, slots=True)
class Coded:
    """A graph with the exact code of each node: its order and its exact fingerprint come of them.

    Attributes:
        graph: In whatever numbering it came.
        operands: Of each node.
        codes: Of each node, from operators, wiring and attributes.
    """

    graph: ComputationalGraph
    operands: list[list[int]]
    codes: list[Code]

    def canonical(self) -> ComputationalGraph:
        """The graph in canonical order."""
        return _ordered(self.graph, self.operands, self.codes)

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
    return coded(graph).canonical()


def coded(graph: ComputationalGraph) -> Coded:
    """The exact code of each node, which whoever wants order and fingerprint has to know once.

    Args:
        graph: A valid graph in any numbering.
    """
    operands = operand_lists(graph.nodes, graph.edge_index)
    ids, rows = graph.op_ids.astype("<u2"), graph.attributes.astype("<i2")
    initial = [number.tobytes() + row.tobytes() for number, row in zip(ids, rows, strict=True)]
    return Coded(graph, operands, _node_codes(graph, operands, initial))


def _ordered(
    graph: ComputationalGraph, operands: list[list[int]], codes: list[Code]
) -> ComputationalGraph:
    depths = _depths(operands)
    # Equal codes that look once more tell apart operands by who else reads them.
    refined = _node_codes(graph, operands, codes)
    codes = [code + again for code, again in zip(codes, refined, strict=True)]
    order = _deepest_first_order(graph, operands, depths, codes)
    position = np.empty(graph.nodes, dtype=np.int32)
    position[order] = np.arange(graph.nodes, dtype=np.int32)
    edges = _renumbered_edges(graph, operands, order, position.tolist())
    return replace(
        graph,
        op_ids=np.ascontiguousarray(graph.op_ids[order]),
        attributes=np.ascontiguousarray(graph.attributes[order]),
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
    )


def topology_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of operators and wiring: equal for "the same design"."""
    operands = operand_lists(graph.nodes, graph.edge_index)
    initial = [identifier.tobytes() for identifier in graph.op_ids.astype("<u2")]
    return _digest_of_all(_node_codes(graph, operands, initial), b"topology")


def exact_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of operators, wiring, attributes and parameter total: "the same network".

    Attributes hold ratios of widths, the parameter total pins the widths themselves.
    """
    return coded(graph).exact(graph.parameters)


def _digest_of_all(codes: list[Code], kind: bytes) -> str:
    return sha256(kind + b"".join(sorted(codes))).hexdigest()


def _digest(parts: Iterable[bytes]) -> Code:
    return blake2b(b"".join(parts), digest_size=16).digest()


def _node_codes(
    graph: ComputationalGraph, operands: list[list[int]], initial: list[Code]
) -> list[Code]:
    """Code of each node from its whole past (ordered operands), then from its whole future."""
    order = topological_order(operands)
    commutative = [identifier in COMMUTATIVE_IDS for identifier in graph.op_ids.tolist()]
    past: list[Code] = [b""] * graph.nodes
    for node in order:
        read = [past[source] for source in operands[node]]
        if commutative[node]:
            read.sort()
        past[node] = _digest([initial[node], *read])
    readers: list[list[tuple[int, int]]] = [[] for _ in range(graph.nodes)]
    for node, sources in enumerate(operands):
        for slot, source in enumerate(sources):
            readers[source].append((node, 0 if commutative[node] else slot))
    whole: list[Code] = [b""] * graph.nodes
    for node in reversed(order):
        future = sorted(
            whole[reader] + slot.to_bytes(4, "little") for reader, slot in readers[node]
        )
        whole[node] = _digest([past[node], *future])
    return whole


def topological_order(operands: list[list[int]]) -> list[int]:
    """Some order in which every node follows its operands."""
    readers: list[list[int]] = [[] for _ in operands]
    for node, sources in enumerate(operands):
        for source in sources:
            readers[source].append(node)
    waiting = [len(sources) for sources in operands]
    ready = [node for node, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        node = ready.pop()
        order.append(node)
        for reader in readers[node]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return order


def _depths(operands: list[list[int]]) -> list[int]:
    depths = [0] * len(operands)
    for node in topological_order(operands):
        depths[node] = 1 + max((depths[source] for source in operands[node]), default=-1)
    return depths


def _deepest_first_order(
    graph: ComputationalGraph, operands: list[list[int]], depths: list[int], codes: list[Code]
) -> list[int]:
    """Post-order from the outputs; ties fall to operand order, or to codes where there is none."""
    outputs = set(range(graph.nodes)).difference(*operands) if graph.nodes else set()
    roots = sorted(outputs, key=lambda node: (-depths[node], codes[node]))
    visit = _visiting_order(graph, operands, depths, codes)
    order: list[int] = []
    seen = [False] * graph.nodes
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
    graph: ComputationalGraph, operands: list[list[int]], depths: list[int], codes: list[Code]
) -> Callable[[int], list[int]]:
    def visit(node: int) -> list[int]:
        if int(graph.op_ids[node]) in COMMUTATIVE_IDS:
            return sorted(operands[node], key=lambda source: (-depths[source], codes[source]))
        return sorted(operands[node], key=lambda source: -depths[source])

    return visit


def _renumbered_edges(
    graph: ComputationalGraph, operands: list[list[int]], order: list[int], position: list[int]
) -> list[tuple[int, int]]:
    edges: list[tuple[int, int]] = []
    for new, old in enumerate(order):
        sources = [position[source] for source in operands[old]]
        if int(graph.op_ids[old]) in COMMUTATIVE_IDS:
            sources.sort()
        edges.extend((source, new) for source in sources)
    return edges
