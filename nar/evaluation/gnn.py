"""The paper's baselines: graph networks on the whole computational graph (section 4.3).

They learn what the paper's NAR learns, by the same recipe (Table 5, row "Baselines"): the loss of
Eq. 6 over one-hot operators and undirected edges, mean-pooled. Only the width is ours: 128
dimensions instead of 512, or one training would take an hour of two cores.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, one_hot, relu
from torch.optim import Adam
from torch_geometric.nn import GATConv, GCNConv, GINConv

from nar.encoding.batches import ALONE, epoch_batches, runs
from nar.encoding.labels import TrainingLabels
from nar.encoding.losses import pretraining_loss
from nar.encoding.paper.encoders import mean_pool
from nar.evaluation.evaluate import Matrix
from nar.evaluation.tasks import Task
from nar.graph import ComputationalGraph
from nar.ops import FEATURE_DIM, one_hot_columns

Kind = Literal["gcn", "gat", "gin"]
Graphs = Sequence[ComputationalGraph]

GAT_HEADS: Final = 4
NODES_A_BATCH: Final = 50_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """Table 5, row "Baselines", but for the width."""

    epochs: int = 15
    batch_size: int = 512
    layers: int = 3
    learning_rate: float = 1e-3
    dim: int = 128
    dropout: float = 0.1
    temperature: float = 0.1


PRINTED: Final = Recipe()


def _gcn(width: int, dim: int) -> nn.Module:
    layer: nn.Module = GCNConv(width, dim)
    return layer


def _gat(width: int, dim: int) -> nn.Module:
    layer: nn.Module = GATConv(width, dim // GAT_HEADS, heads=GAT_HEADS)
    return layer


def _gin(width: int, dim: int) -> nn.Module:
    layer: nn.Module = GINConv(nn.Sequential(nn.Linear(width, dim), nn.ReLU(), nn.Linear(dim, dim)))
    return layer


_CONVOLUTIONS: Final[dict[Kind, Callable[[int, int], nn.Module]]] = {
    "gcn": _gcn,
    "gat": _gat,
    "gin": _gin,
}


@dataclass(frozen=True, slots=True, eq=False)
class NodeBatch:
    """Graphs laid end to end.

    Attributes:
        columns: Shape (nodes,), one-hot column of each operator.
        edge_index: Shape (2, edges), both directions.
        batch: Shape (nodes,), graph of each node.
        count: Number of graphs.
    """

    columns: Tensor
    edge_index: Tensor
    batch: Tensor
    count: int


class GraphNetwork(nn.Module):
    """Some graph convolutions, a mean over nodes, and a classifier head for training."""

    def __init__(self, kind: Kind, classes: int, recipe: Recipe) -> None:
        super().__init__()
        widths = [FEATURE_DIM] + [recipe.dim] * (recipe.layers - 1)
        self.layers = nn.ModuleList(_CONVOLUTIONS[kind](width, recipe.dim) for width in widths)
        self.head = nn.Linear(recipe.dim, classes)
        self.rate = recipe.dropout

    def forward(self, graphs: NodeBatch) -> Tensor:
        """Embed a batch: shape (graphs, dim)."""
        *inner, last = self.layers
        x = one_hot(graphs.columns, FEATURE_DIM).float()
        for layer in inner:
            x = dropout(relu(layer(x, graphs.edge_index)), self.rate, training=self.training)
        return mean_pool(last(x, graphs.edge_index), graphs.batch, graphs.count)


def untrained(task: Task, kind: Kind, recipe: Recipe = PRINTED) -> Matrix:
    """Vectors of a network with its initial weights."""
    return embed(_network(kind, 1, recipe, task.seed), task.graphs)


def trained(task: Task, kind: Kind, recipe: Recipe = PRINTED) -> Matrix:
    """Vectors of a network that learned the training rows of a task."""
    network = _network(kind, int(task.labels.classes.max()) + 1, recipe, task.seed)
    train(network, task.learned(), task.labels, recipe, seed=task.seed)
    return embed(network, task.graphs)


def train(
    network: GraphNetwork, graphs: Graphs, labels: TrainingLabels, recipe: Recipe, *, seed: int
) -> None:
    """Minimise Eq. 6 over graphs and their labels."""
    optimizer = Adam(network.parameters(), lr=recipe.learning_rate)
    network.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for epoch in range(recipe.epochs):
            for rows in epoch_batches(
                len(graphs), recipe.batch_size, seed=seed, epoch=epoch, share=ALONE
            ):
                _step(network, optimizer, [graphs[row] for row in rows], labels, rows, recipe)


def _step(
    network: GraphNetwork,
    optimizer: Adam,
    graphs: Graphs,
    labels: TrainingLabels,
    rows: NDArray[np.int64],
    recipe: Recipe,
) -> None:
    embeddings = network(collate(graphs))
    loss = pretraining_loss(
        embeddings,
        network.head(embeddings),
        families=torch.from_numpy(labels.families[rows]),
        classes=torch.from_numpy(labels.classes[rows]),
        temperature=recipe.temperature,
    )
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def embed(network: GraphNetwork, graphs: Graphs) -> NDArray[np.float32]:
    """Vectors of graphs, without gradients: shape (graphs, dim)."""
    network.eval()
    with torch.inference_mode():
        return torch.cat([network(batch) for batch in _batches(graphs)]).numpy()


def _batches(graphs: Graphs) -> Iterator[NodeBatch]:
    for part in runs([graph.nodes for graph in graphs], NODES_A_BATCH):
        yield collate(graphs[part])


def collate(graphs: Graphs) -> NodeBatch:
    """Lay graphs end to end, every edge in both directions."""
    sizes = np.array([graph.nodes for graph in graphs])
    first = np.cumsum(sizes) - sizes
    edges = [graph.edge_index + start for graph, start in zip(graphs, first, strict=True)]
    one_way = np.concatenate(edges, axis=1).astype(np.int64)
    return NodeBatch(
        torch.from_numpy(np.concatenate([one_hot_columns(graph.op_ids) for graph in graphs])),
        torch.from_numpy(np.concatenate([one_way, one_way[::-1]], axis=1)),
        torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)),
        len(graphs),
    )


def _network(kind: Kind, classes: int, recipe: Recipe, seed: int) -> GraphNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphNetwork(kind, classes, recipe)
