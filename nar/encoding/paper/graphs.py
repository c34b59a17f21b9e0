"""Many small graphs as one: collation, and the adjacency of Eq. 3."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class RowGraph:
    """A graph whose nodes are rows of a table of features.

    Attributes:
        rows: Shape (nodes,), int64.
        edge_index: Shape (2, edges), int32.
    """

    rows: NDArray[np.int64]
    edge_index: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class GraphBatch:
    """Graphs laid end to end, as an encoder reads them.

    Attributes:
        x: Shape (nodes, features).
        adjacency: Shape (nodes, nodes), sparse rows: D^-1/2 (M + I) D^-1/2 of Eq. 3, edges
            undirected.
        batch: Shape (nodes,), graph of each node.
        count: Number of graphs.
    """

    x: Tensor
    adjacency: Tensor
    batch: Tensor
    count: int


def collate(graphs: Sequence[RowGraph], table: Tensor) -> GraphBatch:
    """Lay graphs end to end on the device of their features.

    Args:
        graphs: At least one graph.
        table: Shape (all rows, features), what the rows of the graphs refer to.
    """
    sizes = np.array([len(graph.rows) for graph in graphs])
    first = np.cumsum(sizes) - sizes
    rows = np.concatenate([graph.rows for graph in graphs])
    shifted = [graph.edge_index + start for graph, start in zip(graphs, first, strict=True)]
    device = table.device
    return GraphBatch(
        x=table[torch.from_numpy(rows).to(device)],
        adjacency=_normalised(np.concatenate(shifted, axis=1), len(rows)).to(device),
        batch=torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)).to(device),
        count=len(graphs),
    )


def _normalised(edge_index: NDArray[np.int64], nodes: int) -> Tensor:
    """The normalised adjacency, shape (nodes, nodes), in compressed rows."""
    loops = np.arange(nodes)
    one, other = edge_index.astype(np.int64)
    source = np.concatenate([one, other, loops])
    target = np.concatenate([other, one, loops])
    target, source = np.divmod(np.unique(target * nodes + source), nodes)
    degree = np.bincount(target, minlength=nodes)
    weight = 1 / np.sqrt(degree[target] * degree[source])
    row_start = np.concatenate([[0], np.cumsum(degree)])
    _accept_compressed_rows()
    return torch.sparse_csr_tensor(
        torch.from_numpy(row_start),
        torch.from_numpy(source),
        torch.from_numpy(weight.astype(np.float32)),
        (nodes, nodes),
        check_invariants=False,
    )


@cache
def _accept_compressed_rows() -> None:
    """Silence torch on its compressed rows: it calls them a beta, we only multiply by them."""
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
