"""What campaigns ask a server of the atlas: valid requests, light ones and the heaviest."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from google.protobuf.message import Message
from graphs import bert, random_graph, resnet

from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.index.rows import IndexRow
from nar.v1 import retrieval_pb2 as wire
from nar.wire.graphs import encode_graph

DRAWN: Final = 32
NOISE: Final = 0.01
Request = tuple[str, Message]


def vectors_of(rows: Sequence[IndexRow], seed: int) -> np.ndarray:
    """Vectors near those of some rows. Shape (`DRAWN`, dim)."""
    draw = np.random.default_rng(seed)
    near = np.stack([rows[at].embedding for at in draw.integers(len(rows), size=DRAWN).tolist()])
    return (near + draw.normal(0, NOISE, near.shape)).astype(np.float32)


def by_vector(vector: np.ndarray, **more: object) -> wire.SearchRequest:
    """A search of one vector; ``more`` are fields of the query."""
    query = wire.Query(vector=wire.Vector(values=vector), **more)
    return wire.SearchRequest(queries=[query])


def by_graph(graph: ComputationalGraph) -> wire.SearchRequest:
    """A search of one graph."""
    return wire.SearchRequest(queries=[wire.Query(graph=encode_graph(canonical(graph)))])


def everyday(rows: Sequence[IndexRow], seed: int) -> Mapping[str, Sequence[Request]]:
    """Requests of every kind that callers send, by kind."""
    vectors = vectors_of(rows, seed)
    names = [rows[at].name for at in np.random.default_rng(seed).integers(len(rows), size=DRAWN)]
    family = wire.Filter(families=["resnet"], parameters=wire.Range(maximum=50_000_000))
    networks = [resnet([3, 4, 6, 3]), resnet([2, 2, 2, 2]), bert(6), bert(12)]
    graphs = [encode_graph(canonical(graph)) for graph in networks]
    return {
        "vector": [("Search", by_vector(vector, top_k=10)) for vector in vectors],
        "filter": [("Search", by_vector(vector, filter=family)) for vector in vectors],
        "name": [
            ("Search", wire.SearchRequest(queries=[wire.Query(architecture=name, by=by)]))
            for name, by in zip(names, [0, 1, 2, 3, 4] * DRAWN, strict=False)
        ],
        "graph": [("Search", by_graph(graph)) for graph in networks],
        "get": [("Get", wire.GetRequest(architectures=names[:at])) for at in (1, 8, 32)],
        "embed": [("Embed", wire.EmbedRequest(graphs=graphs[:at])) for at in (1, 2, 4)],
        "describe": [("Describe", wire.DescribeRequest())],
    }


def heaviest(limits: wire.Limits, seed: int) -> wire.EmbedRequest:
    """As many nodes and edges as one call may have, in graphs as large as they may be."""
    parts = max(1, limits.max_call_nodes // limits.max_nodes)
    nodes, edges = limits.max_call_nodes // parts, limits.max_call_edges // parts
    wide = [random_graph(nodes, seed + part, reads=edges // nodes) for part in range(parts)]
    return wire.EmbedRequest(graphs=[encode_graph(graph) for graph in wide])


def by_hand(dim: int) -> Sequence[Request]:
    """Requests that are wrong on purpose, each in a way of its own."""
    one = np.eye(1, dim, dtype=np.float32)[0]
    edges = wire.EdgeIndex
    chain = {"operators": ["input", "conv", "relu"], "nodes": [0, 1, 2]}
    values = (np.nan, np.inf, 0, 3e38, 1e-45)
    vectors = [one[:-1], *(np.full(dim, value, dtype=np.float32) for value in values)]
    graphs = [
        wire.Graph(),
        wire.Graph(**chain, edge_index=edges(sources=[0, 1, 2], targets=[1, 2, 0])),
        wire.Graph(**chain, edge_index=edges(sources=[1], targets=[1])),
        wire.Graph(**chain, edge_index=edges(sources=[0, 0], targets=[1, 1])),
        wire.Graph(**chain, edge_index=edges(sources=[0], targets=[9])),
        wire.Graph(**chain, edge_index=edges(sources=[0, 1], targets=[1])),
        wire.Graph(**chain, attribute_names=["kernel"], attributes=[1]),
        wire.Graph(operators=["conv"], nodes=[7]),
        wire.Graph(operators=["unknown:65535", "unknown:-1"], nodes=[0, 1]),
        wire.Graph(**chain, parameters=-1),
    ]
    filters = [
        wire.Filter(names=["'] or id not in ['"]),
        wire.Filter(families=["\\"], tasks=["\0"]),
        wire.Filter(parameters=wire.Range(minimum=9, maximum=3)),
        wire.Filter(nodes=wire.Range(minimum=-1)),
        wire.Filter(sources=["x"] * 1_001),
    ]
    names = ["", "'", "timm:", "a" * 5_000, "f" * 32, "../../etc/passwd", "\u2028", "%"]
    queries = [
        *(wire.Query(graph=graph) for graph in graphs),
        *(wire.Query(vector=wire.Vector(values=one), filter=each) for each in filters),
        *(wire.Query(architecture=name) for name in names),
        *(wire.Query(vector=wire.Vector(values=vector)) for vector in vectors),
        wire.Query(architecture="timm:resnet50", top_k=2**32 - 1),
        wire.Query(architecture="timm:resnet50", by=9),
        wire.Query(),
    ]
    return [
        *(("Search", wire.SearchRequest(queries=[query])) for query in queries),
        ("Search", wire.SearchRequest(queries=queries)),
        ("Search", wire.SearchRequest(queries=[wire.Query()] * 65)),
        ("Embed", wire.EmbedRequest(graphs=graphs)),
        ("Embed", wire.EmbedRequest()),
        ("Get", wire.GetRequest(architectures=names)),
    ]
