"""The paper's baselines: graph networks on the whole computational graph (section 4.3).

They learn what the paper's NAR learns, by the same recipe (Table 5, row "Baselines"): the loss of
Eq. 6 over one-hot operators and undirected edges, mean-pooled. Only the width is ours: 128
dimensions instead of 512, or each of dozens of trainings would take ten minutes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, relu
from torch.optim import Adam
from torch_geometric.nn import GATConv, GINConv

from nar.encoding.batches import ALONE, epoch_batches
from nar.encoding.losses import pretraining_loss
from nar.encoding.merged import MergedGraphs, Round, RowGraph, merged
from nar.encoding.paper.graphs import sparse_rows
from nar.encoding.paper.networks import GraphConvolution
from nar.encoding.targets import Targets
from nar.evaluation.benchmark.tasks import Task
from nar.evaluation.scoring.ranking import Matrix
from nar.ops import FEATURE_DIM, one_hot_columns

Kind = Literal["gcn", "gat", "gin"]

GAT_HEADS: Final = 4
GRAPHS_A_BATCH: Final = 512


@dataclass(frozen=True, slots=True)
class GnnRecipe:
    """Table 5, row "Baselines", but for the width."""

    epochs: int = 15
    batch_size: int = 512
    layers: int = 3
    learning_rate: float = 1e-3
    dim: int = 128
    dropout: float = 0.1
    temperature: float = 0.1


PRINTED: Final = GnnRecipe()


class GcnLayer(nn.Module):
    """Kipf and Welling (2017): the convolution of Eq. 3."""

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.convolution = GraphConvolution(width, dim)

    def forward(self, x: Tensor, reads: Round) -> Tensor:
        """Features after a round: shape (colours, dim)."""
        features: Tensor = self.convolution(x, _adjacency(reads, reads.weight, len(x)))
        return features


class GinLayer(nn.Module):
    """Xu et al. (2019), with epsilon 0: a node counts like each of its neighbours."""

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        perceptron = nn.Sequential(nn.Linear(width, dim), nn.ReLU(), nn.Linear(dim, dim))
        # What is read names the node itself, so the layer must not add it once more.
        self.convolution = GINConv(perceptron, eps=-1.0)

    def forward(self, x: Tensor, reads: Round) -> Tensor:
        """Features after a round: shape (colours, dim)."""
        ones = np.ones_like(reads.weight)
        features: Tensor = self.convolution((x, None), _adjacency(reads, ones, len(x)))
        return features


class GatLayer(nn.Module):
    """Veličković et al. (2018)."""

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.convolution = GATConv(width, dim // GAT_HEADS, heads=GAT_HEADS, add_self_loops=False)

    def forward(self, x: Tensor, reads: Round) -> Tensor:
        """Features after a round: shape (colours, dim)."""
        target = np.repeat(np.arange(len(reads.own)), np.diff(reads.start))
        edge_index = torch.from_numpy(np.stack([reads.source, target]))
        features: Tensor = self.convolution((x, x[torch.from_numpy(reads.own)]), edge_index)
        return features


def _adjacency(reads: Round, weight: NDArray[np.float32], before: int) -> Tensor:
    return sparse_rows(reads.start, reads.source, weight, before)


_LAYERS: Final[Mapping[Kind, Callable[[int, int], nn.Module]]] = {
    "gcn": GcnLayer,
    "gat": GatLayer,
    "gin": GinLayer,
}


class GraphNetwork(nn.Module):
    """Some graph convolutions, a mean over nodes, and a classifier head for training."""

    def __init__(self, kind: Kind, classes: int, recipe: GnnRecipe) -> None:
        super().__init__()
        widths = [FEATURE_DIM] + [recipe.dim] * (recipe.layers - 1)
        self.layers = nn.ModuleList(_LAYERS[kind](width, recipe.dim) for width in widths)
        self.head = nn.Linear(recipe.dim, classes)
        self.rate = recipe.dropout

    def forward(self, graphs: MergedGraphs) -> Tensor:
        """Embed a batch: shape (graphs, dim)."""
        *inner, last = self.layers
        *rounds, nearest = graphs.rounds
        x = torch.eye(FEATURE_DIM)[torch.from_numpy(graphs.rows)]
        for layer, reads in zip(inner, rounds, strict=True):
            x = dropout(relu(layer(x, reads)), self.rate, training=self.training)
        x = last(x, nearest)
        mean: Tensor = sparse_rows(graphs.start, graphs.part, graphs.share, len(x)) @ x
        return mean


def untrained(task: Task, kind: Kind, recipe: GnnRecipe = PRINTED) -> Matrix:
    """Vectors of a network with its initial weights."""
    return embed(_network(kind, 1, recipe, task.seed), _merged(task, recipe))


def trained(task: Task, kind: Kind, recipe: GnnRecipe = PRINTED) -> Matrix:
    """Vectors of a network that learned the training rows of a task."""
    network = _network(kind, int(task.targets.classes.max()) + 1, recipe, task.seed)
    graphs = _merged(task, recipe)
    train(network, graphs.take(task.train), task.targets, recipe, seed=task.seed)
    return embed(network, graphs)


def _merged(task: Task, recipe: GnnRecipe) -> MergedGraphs:
    graphs = [RowGraph(one_hot_columns(each.op_ids), each.edge_index) for each in task.graphs]
    return merged(graphs, recipe.layers)


def train(
    network: GraphNetwork,
    graphs: MergedGraphs,
    labels: Targets,
    recipe: GnnRecipe,
    *,
    seed: int,
) -> None:
    """Minimise Eq. 6 over graphs and their labels."""
    optimizer = Adam(network.parameters(), lr=recipe.learning_rate)
    network.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for epoch in range(recipe.epochs):
            for rows in epoch_batches(
                graphs.count, recipe.batch_size, seed=seed, epoch=epoch, share=ALONE
            ):
                _step(network, optimizer, graphs.take(rows), labels, rows, recipe)


def _step(
    network: GraphNetwork,
    optimizer: Adam,
    graphs: MergedGraphs,
    labels: Targets,
    rows: NDArray[np.int64],
    recipe: GnnRecipe,
) -> None:
    embeddings = network(graphs)
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


def embed(network: GraphNetwork, graphs: MergedGraphs) -> NDArray[np.float32]:
    """Vectors of graphs, without gradients: shape (graphs, dim)."""
    network.eval()
    parts = np.array_split(np.arange(graphs.count), -(-graphs.count // GRAPHS_A_BATCH))
    with torch.inference_mode():
        return torch.cat([network(graphs.take(part)) for part in parts]).numpy()


def _network(kind: Kind, classes: int, recipe: GnnRecipe, seed: int) -> GraphNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphNetwork(kind, classes, recipe)
