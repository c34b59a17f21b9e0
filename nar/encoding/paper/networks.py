"""The networks: motifs and macro graphs to vectors, by the graph convolutions of Eq. 3."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, relu

from nar.base.errors import ConfigError
from nar.encoding.batches import runs
from nar.encoding.paper.merged import GraphBatch, RowGraph, collate, merged

# Chosen: bounds the features of a batch, 134 MB of 512 numbers a node, and fills a GPU.
NODES_A_BATCH = 65_536


class GraphConvolution(nn.Module):
    """One product A H W of Eq. 3.

    It is torch-geometric's ``GCNConv(normalize=False, bias=False)``, weights and names included;
    importing that package takes every process that embeds seconds.
    """

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.lin = nn.Linear(width, dim, bias=False)
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features: shape (rows, dim), of features (columns, width)."""
        # The product is associative: the weights go where there are fewer rows.
        rows, columns = adjacency.shape
        features: Tensor = self.lin(adjacency @ x) if rows < columns else adjacency @ self.lin(x)
        return features


class GraphEncoder(nn.Module):
    """F_s, F_c and F_m of Eq. 3: H' = relu(A H W) a layer, the last without relu, mean-pooled.

    Args:
        features: Width of the node features.
        dim: Width of every layer.
        layers: Number of graph convolutions, at least 2.
        rate: Dropout between layers, while training.
    """

    def __init__(self, features: int, dim: int, *, layers: int, rate: float = 0.0) -> None:
        super().__init__()
        if layers < 2:
            raise ConfigError(f"layers: wanted at least 2 graph convolutions, came {layers}")
        widths = [features] + [dim] * (layers - 1)
        # A batch brings A already normalised: once for all layers.
        self.layers = nn.ModuleList(GraphConvolution(width, dim) for width in widths)
        self.rate = rate

    def forward(self, graphs: GraphBatch) -> Tensor:
        """Embed a batch: shape (graphs, dim)."""
        *inner, last = self.layers
        *adjacencies, nearest = graphs.adjacencies
        x = graphs.x
        for layer, adjacency in zip(inner, adjacencies, strict=True):
            x = dropout(relu(layer(x, adjacency)), self.rate, training=self.training)
        # The last layer is linear: the mean may as well come before its weights.
        embeddings: Tensor = last(nearest @ x, graphs.mean)
        return embeddings


def encode_all(encoder: GraphEncoder, graphs: Sequence[RowGraph], table: Tensor) -> Tensor:
    """Embed any number of graphs without gradients, in batches of bounded size.

    Args:
        encoder: In evaluation mode.
        graphs: At least one graph.
        table: Shape (rows, features), on the encoder's device.

    Returns:
        Shape (graphs, dim), on the encoder's device.
    """
    sizes = [len(graph.rows) for graph in graphs]
    layers = len(encoder.layers)
    with torch.inference_mode():
        parts = [
            encoder(collate(merged(graphs[part], layers), table))
            for part in runs(sizes, NODES_A_BATCH)
        ]
        return torch.cat(parts)


def operator_features(operators: int, device: torch.device) -> Tensor:
    """One-hot features of operators: shape (operators, operators)."""
    return torch.eye(operators, device=device)
