"""What the contract means, said once more apart from the server: graphs, filters, neighbours."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from google.protobuf.unknown_fields import UnknownFieldSet

from nar.index.rows import IndexRow
from nar.v1 import retrieval_pb2 as wire

TOLERANCE: Final = 1e-4
INT16: Final = range(-(2**15), 2**15)
# Rows of the index by the field of a filter that asks for their column.
TEXTS: Final = {
    **{"names": "name", "sources": "source", "libraries": "library", "families": "family"},
    **{"blocks": "block", "tasks": "task", "tiers": "tier"},
    **{"topologies": "topology", "exacts": "exact", "inferences": "inference"},
}
RANGES: Final = ("parameters", "flops", "nodes")


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What the server holds and accepts.

    Attributes:
        names: Of all architectures.
        ids: The same, each with its name.
        vectors: Shape (architectures, dim), of length 1.
        limits: As Describe says them.
    """

    names: frozenset[str]
    ids: Mapping[str, str]
    vectors: np.ndarray
    limits: wire.Limits

    @classmethod
    def of(cls, rows: Sequence[IndexRow], limits: wire.Limits) -> "Known":
        """What an index of these rows is."""
        return cls(
            frozenset(row.name for row in rows),
            {row.id: row.name for row in rows},
            np.stack([row.embedding for row in rows]),
            limits,
        )


def is_known(known: Known, name: str) -> bool:
    return name in known.names or name in known.ids


def is_direction(known: Known, vector: wire.Vector) -> bool:
    values = np.array(vector.values)
    is_long = values.shape == known.vectors.shape[1:]
    return bool(is_long and np.isfinite(values).all() and values.any())


def is_filter(wanted: wire.Filter) -> bool:
    bounds = [getattr(wanted, name) for name in RANGES if wanted.HasField(name)]
    # What it does not know, a server cannot have looked at.
    return not len(UnknownFieldSet(wanted)) and all(
        all(getattr(each, end) >= 0 for end in ("minimum", "maximum"))
        and not (
            each.HasField("minimum") and each.HasField("maximum") and each.minimum > each.maximum
        )
        for each in bounds
    )


def passes(wanted: wire.Filter, item: wire.Architecture) -> bool:
    for field, column in TEXTS.items():
        texts = getattr(wanted, field)
        if texts and getattr(item, column) not in texts:
            return False
    for name in RANGES:
        bounds, value = getattr(wanted, name), getattr(item, name)
        if bounds.HasField("minimum") and value < bounds.minimum:
            return False
        if bounds.HasField("maximum") and value > bounds.maximum:
            return False
    return True


def is_nearest(known: Known, query: wire.Query, scores: Sequence[float]) -> bool:
    """Whether scores are the best there are; other than by design that is not known."""
    if query.by not in (wire.BY_UNSPECIFIED, wire.BY_DESIGN):
        return True
    vector = np.array(query.vector.values, dtype=np.float64)
    vector /= np.abs(vector).max()
    unit = (vector / np.linalg.norm(vector)).astype(np.float32)
    best = np.sort(known.vectors @ unit)[::-1][: len(scores)]
    wanted = min(query.top_k or known.limits.default_top_k, len(known.vectors))
    return len(scores) == wanted and bool(np.allclose(best, scores, atol=TOLERANCE))


def is_graph(graph: wire.Graph, limits: wire.Limits) -> bool:
    """Whether a message is a computational graph, by the words of the contract."""
    nodes, sources, targets = len(graph.nodes), graph.edge_index.sources, graph.edge_index.targets
    edges = list(zip(sources, targets, strict=False))
    return (
        0 < nodes <= limits.max_nodes
        and len(sources) == len(targets) <= limits.max_edges
        and all(node < len(graph.operators) for node in graph.nodes)
        and all(end < nodes for edge in edges for end in edge)
        and len(set(edges)) == len(edges)
        and len(graph.attributes) == nodes * len(graph.attribute_names)
        and len(set(graph.attribute_names)) == len(graph.attribute_names)
        and all(value in INT16 for value in graph.attributes)
        and min(graph.parameters, graph.flops) >= 0
        and _is_acyclic(nodes, edges)
    )


def _is_acyclic(nodes: int, edges: Sequence[tuple[int, int]]) -> bool:
    readers: list[list[int]] = [[] for _ in range(nodes)]
    waiting = [0] * nodes
    for source, target in edges:
        readers[source].append(target)
        waiting[target] += 1
    ready = deque(node for node in range(nodes) if not waiting[node])
    done = 0
    while ready:
        done += 1
        for reader in readers[ready.popleft()]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return done == nodes
