"""The Graph message and the record it stands for, both ways; a graph's limits are checked here.

Operators travel by name, so that client and server may have vocabularies of different length.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import InvalidGraphError
from nar.graphs.fingerprints import Fingerprinted, fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, FIRST_HASHED_ID, MAX_OP_ID, op_id, op_name
from nar.v1.retrieval_pb2 import EdgeIndex, Graph

Fingerprint = Callable[[ComputationalGraph], Fingerprinted]

# Several times the 17 of the longest name in `OPS` (chosen).
MAX_OPERATOR_CHARS: Final = 128
INT16: Final = np.iinfo(np.int16)

_HASHED_NAME: Final = re.compile(r"unknown:([0-9]{1,5})")


def encode_graph(graph: ComputationalGraph) -> Graph:
    """The message of a graph, in the numbering that it has."""
    distinct, nodes = np.unique(graph.op_ids, return_inverse=True)
    sources, targets = graph.edge_index
    return Graph(
        operators=[op_name(identifier) for identifier in distinct.tolist()],
        nodes=nodes.tolist(),
        edge_index=EdgeIndex(sources=sources.tolist(), targets=targets.tolist()),
        attribute_names=ATTRIBUTES,
        attributes=graph.attributes.ravel().tolist(),
        parameters=graph.parameters,
        flops=graph.flops,
    )


def decode_graph(
    message: Graph,
    *,
    max_nodes: int,
    max_edges: int,
    fingerprint: Fingerprint = fingerprinted,
) -> Fingerprinted:
    """The canonical graph of a message, with its fingerprints.

    Args:
        message: As it came.
        max_nodes: Nodes that a graph may have.
        max_edges: Edges that a graph may have.
        fingerprint: Finds the order and the fingerprints of a valid graph.

    Raises:
        InvalidGraphError: Its field is a path from the message: ``edge_index[7]``.
    """
    _check_sizes(message, max_nodes, max_edges)
    graph = ComputationalGraph(
        op_ids=_op_ids(message),
        attributes=_attributes(message),
        edge_index=_edge_index(message),
        parameters=message.parameters,
        flops=message.flops,
    )
    graph.validate(max_nodes=max_nodes, max_edges=max_edges)
    return fingerprint(graph)


def _check_sizes(message: Graph, max_nodes: int, max_edges: int) -> None:
    nodes, edges = len(message.nodes), len(message.edge_index.sources)
    _check_at_most("nodes", nodes, max_nodes)
    _check_at_most("edge_index", edges, max_edges)
    if nodes == 0:
        raise InvalidGraphError("nodes", "wanted at least one node, came none")
    if edges != len(message.edge_index.targets):
        reason = f"wanted as many targets as sources, came {len(message.edge_index.targets)}"
        raise InvalidGraphError("edge_index", f"{reason} for {edges}")
    _check_at_most("operators", len(message.operators), nodes)
    names = len(message.attribute_names)
    if len(message.attributes) != nodes * names:
        wanted = f"wanted {names} attributes for each of {nodes} nodes"
        raise InvalidGraphError("attributes", f"{wanted}, came {len(message.attributes)} in all")


def _check_at_most(field: str, count: int, bound: int) -> None:
    if count > bound:
        raise InvalidGraphError(field, f"wanted at most {bound}, came {count}")


def _op_ids(message: Graph) -> NDArray[np.uint16]:
    table = np.array(
        [_operator(position, name) for position, name in enumerate(message.operators)],
        dtype=np.uint16,
    )
    positions = np.array(message.nodes, dtype=np.int64)
    _check_all("nodes", positions, positions < len(table), f"an operator below {len(table)}")
    return table[positions]


def _operator(position: int, name: str) -> int:
    if not 0 < len(name) <= MAX_OPERATOR_CHARS:
        reason = f"wanted a name of 1 to {MAX_OPERATOR_CHARS} characters, came {len(name)}"
        raise InvalidGraphError(f"operators[{position}]", reason)
    hashed = _HASHED_NAME.fullmatch(name)
    if hashed is not None and FIRST_HASHED_ID <= int(hashed[1]) <= MAX_OP_ID:
        return int(hashed[1])
    return op_id(name)


def _attributes(message: Graph) -> NDArray[np.int16]:
    columns = [
        _attribute_column(position, message.attribute_names)
        for position in range(len(message.attribute_names))
    ]
    sent = np.array(message.attributes, dtype=np.int64)
    fits = (sent >= INT16.min) & (sent <= INT16.max)
    _check_all("attributes", sent, fits, f"{INT16.min} to {INT16.max}")
    attributes = np.zeros((len(message.nodes), len(ATTRIBUTES)), dtype=np.int16)
    attributes[:, columns] = sent.reshape(len(message.nodes), len(columns))
    return attributes


def _attribute_column(position: int, names: Sequence[str]) -> int:
    name = names[position]
    if name not in ATTRIBUTES:
        reason = f"wanted one of {', '.join(ATTRIBUTES)}, came {name[:MAX_OPERATOR_CHARS]}"
        raise InvalidGraphError(f"attribute_names[{position}]", reason)
    if name in names[:position]:
        raise InvalidGraphError(f"attribute_names[{position}]", f"{name} came before")
    return ATTRIBUTES.index(name)


def _edge_index(message: Graph) -> NDArray[np.int32]:
    ends = np.array([message.edge_index.sources, message.edge_index.targets], dtype=np.int64)
    nodes = len(message.nodes)
    inside = ends.max(axis=0) < nodes
    _check_all("edge_index", ends.T, inside, f"nodes 0 to {nodes - 1}")
    return ends.astype(np.int32)


def _check_all(field: str, values: NDArray[np.int64], good: NDArray[np.bool_], wanted: str) -> None:
    if not good.all():
        first = int(np.argmin(good))
        raise InvalidGraphError(
            f"{field}[{first}]", f"wanted {wanted}, came {values[first].tolist()}"
        )
