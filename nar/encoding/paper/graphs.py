"""Merged graphs as tensors: the features of their nodes, and the adjacency of Eq. 3."""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nar.encoding.merged import MergedGraphs
from nar.graphs.ragged import Integers


@dataclass(frozen=True, slots=True, eq=False)
class GraphBatch:
    """Graphs as an encoder reads them.

    Attributes:
        x: Shape (colours, features), before the first layer.
        adjacencies: One a layer, shape (colours after it, colours before it), sparse rows:
            D^-1/2 (M + I) D^-1/2 of Eq. 3, edges undirected.
        mean: Shape (graphs, colours after the last layer), sparse rows: how much of each graph
            has each colour.
    """

    x: Tensor
    adjacencies: tuple[Tensor, ...]
    mean: Tensor


def collate(graphs: MergedGraphs, table: Tensor) -> GraphBatch:
    """Bring graphs to the device of their features.

    Args:
        graphs: Merged for as many layers as read them.
        table: Shape (all rows, features), what the rows of the graphs refer to.
    """
    device = table.device
    adjacencies = []
    width = len(graphs.rows)
    for one in graphs.rounds:
        adjacencies.append(sparse_rows(one.start, one.source, one.weight, width).to(device))
        width = len(one.own)
    return GraphBatch(
        x=table[torch.from_numpy(graphs.rows).to(device)],
        adjacencies=tuple(adjacencies),
        mean=sparse_rows(graphs.start, graphs.part, graphs.share, width).to(device),
    )


def sparse_rows(
    start: Integers, columns: Integers, values: NDArray[np.float32], width: int
) -> Tensor:
    """A sparse matrix of shape (rows, width); an entry may stand in parts."""
    _accept_compressed_rows()
    return torch.sparse_csr_tensor(
        torch.from_numpy(start),
        torch.from_numpy(columns),
        torch.from_numpy(values),
        (len(start) - 1, width),
        check_invariants=False,
    )


@cache
def _accept_compressed_rows() -> None:
    """Silence torch on its compressed rows: it calls them a beta, we only multiply by them."""
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
