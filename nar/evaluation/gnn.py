"""The paper's baselines: graph networks on the whole computational graph (section 4.3).

They learn what the paper's NAR learns, by the same recipe (Table 5, row "Baselines"): the loss of
Eq. 6 over one-hot operators and undirected edges, mean-pooled. Only the width is ours: 128
dimensions instead of 512, or one training of dozens would take ten minutes.
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
from nar.evaluation.evaluate import Matrix
from nar.evaluation.merged import MergedBatch, MergedGraph, collate, merge
from nar.evaluation.tasks import Task
from nar.ops import FEATURE_DIM

Kind = Literal["gcn", "gat", "gin"]
Graphs = Sequence[MergedGraph]

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
    layer: nn.Module = GCNConv(width, dim, add_self_loops=False)
    return layer


def _gat(width: int, dim: int) -> nn.Module:
    layer: nn.Module = GATConv(width, dim // GAT_HEADS, heads=GAT_HEADS, add_self_loops=False)
    return layer


def _gin(width: int, dim: int) -> nn.Module:
    layer: nn.Module = GINConv(nn.Sequential(nn.Linear(width, dim), nn.ReLU(), nn.Linear(dim, dim)))
    return layer


# These read the node itself by an edge of its own; GIN by a term of its own. The layers must not
# add those edges: in a merged graph an edge from a node to itself may stand for a neighbour.
_WITH_LOOPS: Final = ("gcn", "gat")
_CONVOLUTIONS: Final[dict[Kind, Callable[[int, int], nn.Module]]] = {
    "gcn": _gcn,
    "gat": _gat,
    "gin": _gin,
}


class GraphNetwork(nn.Module):
    """Some graph convolutions, a mean over nodes, and a classifier head for training."""

    def __init__(self, kind: Kind, classes: int, recipe: Recipe) -> None:
        super().__init__()
        widths = [FEATURE_DIM] + [recipe.dim] * (recipe.layers - 1)
        self.layers = nn.ModuleList(_CONVOLUTIONS[kind](width, recipe.dim) for width in widths)
        self.head = nn.Linear(recipe.dim, classes)
        self.rate = recipe.dropout
        self.has_loops = kind in _WITH_LOOPS

    def forward(self, graphs: MergedBatch) -> Tensor:
        """Embed a batch: shape (graphs, dim)."""
        *inner, last = self.layers
        x = one_hot(graphs.columns, FEATURE_DIM).float()
        edges = graphs.edge_index
        if self.has_loops:
            edges = torch.cat([edges, torch.arange(len(x)).repeat(2, 1)], dim=1)
        for layer in inner:
            x = dropout(relu(layer(x, edges)), self.rate, training=self.training)
        return graphs.mean(last(x, edges))


def untrained(task: Task, kind: Kind, recipe: Recipe = PRINTED) -> Matrix:
    """Vectors of a network with its initial weights."""
    return embed(_network(kind, 1, recipe, task.seed), _merged(task, recipe))


def trained(task: Task, kind: Kind, recipe: Recipe = PRINTED) -> Matrix:
    """Vectors of a network that learned the training rows of a task."""
    network = _network(kind, int(task.labels.classes.max()) + 1, recipe, task.seed)
    graphs = _merged(task, recipe)
    train(network, [graphs[row] for row in task.train], task.labels, recipe, seed=task.seed)
    return embed(network, graphs)


def _merged(task: Task, recipe: Recipe) -> Graphs:
    return [merge(graph, recipe.layers) for graph in task.graphs]


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


def _batches(graphs: Graphs) -> Iterator[MergedBatch]:
    for part in runs([len(graph.colours) for graph in graphs], NODES_A_BATCH):
        yield collate(graphs[part])


def _network(kind: Kind, classes: int, recipe: Recipe, seed: int) -> GraphNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphNetwork(kind, classes, recipe)
