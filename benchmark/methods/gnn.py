"""The paper's baselines: graph networks on the whole computational graph (section 4.3).

They learn what the paper's NAR learns, by the same recipe (Table 5, row "Baselines"): the loss of
Eq. 6 over one-hot operators and undirected edges, mean-pooled. Only the width is ours: 128
dimensions instead of 512, or each of dozens of trainings would take ten minutes.

Beside it they learn by the recipe of NAR default: attributes of operators, batches of relatives,
every relative counts, twice as many epochs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, relu
from torch.optim import Adam

from benchmark.scoring.ranking import Matrix
from benchmark.tasks.task import Task
from nar.encoding.collecting import Targets
from nar.encoding.default.pretraining import relatives_side_by_side
from nar.encoding.losses import pretraining_loss, supervised_contrastive_loss
from nar.encoding.paper.encoder import GraphConvolution
from nar.encoding.paper.merged import MergedGraphs, Round, RowGraph, merged, sparse_rows
from nar.encoding.training import ALONE, epoch_batches
from nar.graphs.hashing import ATTRIBUTE, operator_codes, salted
from nar.graphs.ops import ATTRIBUTES, FEATURE_DIM, one_hot_columns
from nar.graphs.ragged import offsets

Kind = Literal["gcn", "gat", "gin"]
KINDS: Final[tuple[Kind, ...]] = ("gin", "gcn", "gat")

GAT_HEADS: Final = 4
GRAPHS_A_BATCH: Final = 512


@dataclass(frozen=True, slots=True)
class GnnRecipe:
    """Table 5, row "Baselines", but for the width.

    Attributes:
        epochs: Over all training rows.
        batch_size: Graphs a step.
        layers: Of convolutions.
        learning_rate: Of Adam.
        dim: Width of every layer.
        dropout: After every layer but the last.
        temperature: Divides the cosines.
        attributes: Whether nodes know their attributes beside their operators.
        relatives: Members of a family that come together; 1 mixes at random.
        every_relative: Whether every relative has to come near, as in NAR default; else Eq. 6.
    """

    epochs: int = 15
    batch_size: int = 512
    layers: int = 3
    learning_rate: float = 1e-3
    dim: int = 128
    dropout: float = 0.1
    temperature: float = 0.1
    attributes: bool = False
    relatives: int = 1
    every_relative: bool = False


PRINTED: Final = GnnRecipe()
OURS: Final = GnnRecipe(epochs=30, attributes=True, relatives=4, every_relative=True)


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The nodes of all graphs of a task, as a network reads them.

    Attributes:
        graphs: Their colours; rows are those of the table.
        table: Shape (different nodes, width), what is known of each before the first layer.
    """

    graphs: MergedGraphs
    table: Tensor


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
        # Takes three seconds, which whoever asks another method does without.
        from torch_geometric.nn import GINConv

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
        from torch_geometric.nn import GATConv

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
        first = FEATURE_DIM + (len(ATTRIBUTES) if recipe.attributes else 0)
        widths = [first] + [recipe.dim] * (recipe.layers - 1)
        self.layers = nn.ModuleList(_LAYERS[kind](width, recipe.dim) for width in widths)
        self.head = nn.Linear(recipe.dim, classes)
        self.rate = recipe.dropout

    def forward(self, graphs: MergedGraphs, table: Tensor) -> Tensor:
        """Embed a batch of graphs whose nodes are rows of a table: shape (graphs, dim)."""
        *inner, last = self.layers
        *rounds, nearest = graphs.rounds
        x = table[torch.from_numpy(graphs.rows)]
        for layer, reads in zip(inner, rounds, strict=True):
            x = dropout(relu(layer(x, reads)), self.rate, training=self.training)
        x = last(x, nearest)
        mean: Tensor = sparse_rows(graphs.start, graphs.part, graphs.share, len(x)) @ x
        return mean


def untrained(task: Task, kind: Kind, recipe: GnnRecipe = PRINTED) -> Matrix:
    """Vectors of a network with its initial weights."""
    return embed(_network(kind, 1, recipe, task.seed), nodes_of(task, recipe))


def trained(task: Task, kind: Kind, recipe: GnnRecipe = PRINTED) -> Matrix:
    """Vectors of a network that learned the training rows of a task."""
    network = _network(kind, int(task.targets.classes.max()) + 1, recipe, task.seed)
    nodes = nodes_of(task, recipe)
    learned = Nodes(nodes.graphs.take(task.train), nodes.table)
    train(network, learned, task.targets, recipe, seed=task.seed)
    return embed(network, nodes)


def nodes_of(task: Task, recipe: GnnRecipe) -> Nodes:
    """Nodes by operator, or by operator and attributes."""
    columns = [one_hot_columns(graph.op_ids) for graph in task.graphs]
    table = np.eye(FEATURE_DIM, dtype=np.float32)
    if recipe.attributes:
        columns, table = _with_attributes(task, columns)
    pairs = zip(columns, task.graphs, strict=True)
    graphs = [RowGraph(rows, graph.edge_index) for rows, graph in pairs]
    return Nodes(merged(graphs, recipe.layers), torch.from_numpy(table))


def _with_attributes(
    task: Task, columns: Sequence[NDArray[np.int64]]
) -> tuple[list[NDArray[np.int64]], NDArray[np.float32]]:
    """Rows of a table that has every pair of operator and attributes once, and that table."""
    operators = np.concatenate(columns)
    attributes = np.concatenate([graph.attributes for graph in task.graphs])
    codes = operator_codes(operators)
    for column in attributes.T:
        codes = salted(codes, column, ATTRIBUTE)
    _, first, row = np.unique(codes, return_index=True, return_inverse=True)
    one_hot = np.eye(FEATURE_DIM, dtype=np.float32)[operators[first]]
    # Attributes are small integers, some of them below 0.
    scaled = np.arcsinh(attributes[first].astype(np.float32))
    ends = offsets([len(each) for each in columns])[1:-1]
    return np.split(row, ends), np.concatenate([one_hot, scaled], axis=1)


def train(
    network: GraphNetwork, nodes: Nodes, labels: Targets, recipe: GnnRecipe, *, seed: int
) -> None:
    """Minimise Eq. 6, or the contrast of every relative, over graphs and their labels."""
    optimizer = Adam(network.parameters(), lr=recipe.learning_rate)
    network.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for epoch in range(recipe.epochs):
            for rows in _batches(labels, recipe, seed, epoch):
                embeddings = network(nodes.graphs.take(rows), nodes.table)
                loss = _loss(network, embeddings, labels, rows, recipe)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()


def _batches(labels: Targets, recipe: GnnRecipe, seed: int, epoch: int) -> list[NDArray[np.int64]]:
    count = len(labels.families)
    if recipe.relatives == 1:
        return epoch_batches(count, recipe.batch_size, seed=seed, epoch=epoch, share=ALONE)
    rng = np.random.default_rng([seed, epoch])
    order = relatives_side_by_side(labels.families, recipe.relatives, rng)
    return np.array_split(order, max(1, round(count / recipe.batch_size)))


def _loss(
    network: GraphNetwork,
    embeddings: Tensor,
    labels: Targets,
    rows: NDArray[np.int64],
    recipe: GnnRecipe,
) -> Tensor:
    families = torch.from_numpy(labels.families[rows])
    if recipe.every_relative:
        return supervised_contrastive_loss(embeddings, families, temperature=recipe.temperature)
    return pretraining_loss(
        embeddings,
        network.head(embeddings),
        families=families,
        classes=torch.from_numpy(labels.classes[rows]),
        temperature=recipe.temperature,
    )


def embed(network: GraphNetwork, nodes: Nodes) -> NDArray[np.float32]:
    """Vectors of graphs, without gradients: shape (graphs, dim)."""
    network.eval()
    count = nodes.graphs.count
    parts = np.array_split(np.arange(count), -(-count // GRAPHS_A_BATCH))
    with torch.inference_mode():
        vectors = [network(nodes.graphs.take(part), nodes.table) for part in parts]
        return torch.cat(vectors).numpy()


def _network(kind: Kind, classes: int, recipe: GnnRecipe, seed: int) -> GraphNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphNetwork(kind, classes, recipe)
