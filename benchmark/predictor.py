"""How well vectors predict accuracy: ``python -m benchmark predictor``.

NAS-Bench-201 (Dong and Yang, 2020) has trained all 15,625 networks whose cells join four nodes by
one of five operations each. Nobody tuned an encoder for this: a few networks have labels, and what
is predicted of the others is compared by rank with what they reached on CIFAR-100.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import kendalltau, spearmanr
from torch import Tensor, nn

from benchmark.methods.baselines import code_histograms, untrained_sum
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.scoring.ranking import Matrix, unit_rows
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.base.workspace import package_path
from nar.capture import CaptureInputs, capture_module
from nar.graphs.graph import ComputationalGraph

COMMAND: Final = "python -m benchmark predictor --results results"
FILE: Final = "nas_bench_201.parquet"
OPERATIONS: Final = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
# The edges of a cell in the order of its text: node -> which node it reads.
EDGES: Final = ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
_NODES: Final = 4
# The network of Dong and Yang: so many cells of each width, between them one to halve the map.
_CELLS: Final = 5
_WIDTHS: Final = (16, 32, 64)
_CLASSES: Final = 100
# Chosen: networks that are captured; two minutes for so many, fifteen for the whole space.
_DRAWN: Final = 2_500
_DRAWS: Final = 5
_SEED: Final = 0
_NEIGHBOURS: Final = 10
_LABELS: Final = (100, 300, 1_000)
# Penalties of a ridge beside the mean of a kernel's diagonal: the best by leaving one out is taken.
_PENALTIES: Final = np.logspace(-6, 2, 17)
_INTRODUCTION: Final = (
    f"{_DRAWN:,} networks are drawn; 100 to 1,000 networks have labels, and all others are "
    f"predicted. Mean over {_DRAWS} draws of labels, and its standard deviation. *ridge*: its "
    "penalty is chosen by leaving out one label; *10-NN*: the mean of the ten nearest by cosine. "
    "Accuracies: of the authors, on the test images of CIFAR-100 after 200 epochs. One-hot: which "
    "operation stands on which edge; paths: which sequences of operations lead through a cell."
)

Cell = tuple[int, ...]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Networks:
    """Networks with what they reached.

    Attributes:
        cells: The operation on each of `EDGES`.
        graphs: Of each, as captured.
        accuracy: Shape (networks,), percent.
    """

    cells: tuple[Cell, ...]
    graphs: tuple[ComputationalGraph, ...]
    accuracy: Values


class _Convolution(nn.Sequential):
    """ReLU, convolution, batch norm."""

    def __init__(self, width: int, out: int, kernel: int, stride: int = 1) -> None:
        convolution = nn.Conv2d(width, out, kernel, stride, kernel // 2, bias=False)
        super().__init__(nn.ReLU(), convolution, nn.BatchNorm2d(out))


class _Nothing(nn.Module):
    """Zeros of the shape of what comes."""

    def forward(self, values: Tensor) -> Tensor:
        return values * 0.0


_MODULES: Final[Mapping[str, Callable[[int], nn.Module]]] = {
    "none": lambda _: _Nothing(),
    "skip_connect": lambda _: nn.Identity(),
    "nor_conv_1x1": lambda width: _Convolution(width, width, 1),
    "nor_conv_3x3": lambda width: _Convolution(width, width, 3),
    "avg_pool_3x3": lambda _: nn.AvgPool2d(3, 1, 1, count_include_pad=False),
}


class _Cell(nn.Module):
    def __init__(self, cell: Cell, width: int) -> None:
        super().__init__()
        self.edges = nn.ModuleList(_MODULES[OPERATIONS[each]](width) for each in cell)

    def forward(self, values: Tensor) -> Tensor:
        nodes = {0: values}
        for (node, read), edge in zip(EDGES, self.edges, strict=True):
            value = edge(nodes[read])
            nodes[node] = nodes[node] + value if node in nodes else value
        return nodes[_NODES - 1]


class _Halving(nn.Module):
    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.first = _Convolution(width, out, 3, 2)
        self.second = _Convolution(out, out, 3)
        self.around = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(width, out, 1, bias=False))

    def forward(self, values: Tensor) -> Tensor:
        sum_of_both: Tensor = self.around(values) + self.second(self.first(values))
        return sum_of_both


def network(cell: Cell) -> nn.Module:
    """The network of a cell."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, _WIDTHS[0], 3, padding=1, bias=False),
        nn.BatchNorm2d(_WIDTHS[0]),
    ]
    for stage, width in enumerate(_WIDTHS):
        if stage:
            layers.append(_Halving(_WIDTHS[stage - 1], width))
        layers += [_Cell(cell, width) for _ in range(_CELLS)]
    head = (nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(*layers, *head, nn.Linear(width, _CLASSES)).eval()


def cell_of(text: str) -> Cell:
    """The cell that NAS-Bench-201 writes as a text.

    Example:
        >>> cell_of("|none~0|+|skip_connect~0|nor_conv_3x3~1|+|none~0|none~1|avg_pool_3x3~2|")
        (0, 1, 3, 0, 0, 4)
    """
    names = [part.partition("~")[0] for part in text.replace("+", "").split("|") if part]
    return tuple(OPERATIONS.index(name) for name in names)


def drawn(count: int = _DRAWN) -> Networks:
    """Some of the networks, always the same, captured without weights."""
    table = pq.read_table(package_path("data", FILE, package="benchmark"))
    rows = np.random.default_rng(_SEED).permutation(len(table))[:count]
    kept = table.take(rows)
    cells = tuple(tuple(map(int, text)) for text in kept["cell"].to_pylist())
    return Networks(cells, tuple(map(_captured, cells)), kept["cifar100"].to_numpy().astype(float))


def _captured(cell: Cell) -> ComputationalGraph:
    with torch.device("meta"):
        module, image = network(cell), torch.zeros(1, 3, 32, 32)
    return capture_module(module, CaptureInputs((image,))).graph


def one_hot(cells: Sequence[Cell]) -> NDArray[np.float32]:
    """Which operation stands on which edge: shape (cells, 30)."""
    rows = np.eye(len(OPERATIONS), dtype=np.float32)[np.array(cells)]
    return np.asarray(rows.reshape(len(cells), -1), dtype=np.float32)


def paths(cells: Sequence[Cell]) -> NDArray[np.float32]:
    """Which sequences of operations lead from the first node to the last: (cells, sequences).

    Example:
        >>> paths([(1, 1, 1, 1, 1, 1), (0, 0, 0, 1, 0, 0)]).tolist()
        [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    """
    every = [_sequences(cell) for cell in cells]
    columns = sorted(set().union(*every), key=lambda each: (len(each), each))
    return np.array([[column in own for column in columns] for own in every], dtype=np.float32)


def _sequences(cell: Cell) -> set[Cell]:
    leading: dict[int, set[Cell]] = {0: {()}}
    for (node, read), operation in zip(EDGES, cell, strict=True):
        if OPERATIONS[operation] != "none":
            longer = {(*each, operation) for each in leading.get(read, set())}
            leading.setdefault(node, set()).update(longer)
    return leading.get(_NODES - 1, set())


def sizes(graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
    """Logs of parameters and FLOPs, standardised: shape (graphs, 2)."""
    logs = np.log([(graph.parameters, graph.flops) for graph in graphs])
    return np.asarray((logs - logs.mean(axis=0)) / logs.std(axis=0), dtype=np.float32)


def _described(of: Networks) -> Iterator[tuple[str, Matrix]]:
    yield "**NAR default, as shipped**", read_atlas(shipped_atlas()).embedder.embed(of.graphs)
    yield "untrained sum", untrained_sum(of.graphs)
    yield "WL: code histogram, s<=2, log-counts", code_histograms(of.graphs, 2, "log_counts")
    yield "one-hot", one_hot(of.cells)
    yield "paths", paths(of.cells)
    yield "parameters and FLOPs", sizes(of.graphs)


def ridge(kernel: Values, labels: Values, others: Values) -> Values:
    """What a ridge predicts whose penalty is chosen by leaving out one label.

    Args:
        kernel: Shape (labelled, labelled), products of the labelled ones.
        labels: Shape (labelled,).
        others: Shape (others, labelled), products of the networks that are predicted.
    """
    mean, own = labels.mean(), kernel.mean(axis=0)
    whole = own.mean()
    centred = kernel - own - own[:, None] + whole
    asked = others - others.mean(axis=1, keepdims=True) - own + whole
    values, vectors = np.linalg.eigh(centred)
    scale = centred.trace() / len(labels)

    def solved(penalty: float) -> tuple[float, Values]:
        inverse = (vectors / (np.maximum(values, 0) + penalty * scale)) @ vectors.T
        weights: Values = inverse @ (labels - mean)
        left_out = weights / np.diag(inverse)
        return float((left_out**2).mean()), weights

    _, weights = min((solved(float(each)) for each in _PENALTIES), key=lambda each: each[0])
    predicted: Values = mean + asked @ weights
    return predicted


def nearest(products: Values, labels: Values) -> Values:
    """The mean label of the ten nearest: products of shape (others, labelled)."""
    first = np.argsort(-products, axis=1, kind="stable")[:, :_NEIGHBOURS]
    predicted: Values = labels[first].mean(axis=1)
    return predicted


def _products(vectors: Matrix) -> Values:
    product = vectors @ vectors.T
    return np.asarray(product.toarray() if isinstance(product, csr_array) else product, np.float64)


def measured(vectors: Matrix, accuracy: Values) -> dict[str, list[tuple[float, float]]]:
    """Spearman and Kendall of each way to predict, a pair a draw."""
    products, cosines = _products(vectors), _products(unit_rows(vectors))
    reached: dict[str, list[tuple[float, float]]] = {}
    for draw in range(_DRAWS):
        order = np.random.default_rng([_SEED, draw]).permutation(len(accuracy))
        for count in _LABELS:
            own, others = order[:count], order[count:]
            ways = {f"ridge, {count:,}": ridge(
                products[np.ix_(own, own)], accuracy[own], products[np.ix_(others, own)]
            )}  # fmt: skip
            if count == _LABELS[-1]:
                ways[f"10-NN, {count:,}"] = nearest(cosines[np.ix_(others, own)], accuracy[own])
            for way, predicted in ways.items():
                pair = (
                    _spearman(predicted, accuracy[others]),
                    _kendall(predicted, accuracy[others]),
                )
                reached.setdefault(way, []).append(pair)
    return reached


def _spearman(one: Values, other: Values) -> float:
    return float(spearmanr(one, other).statistic)


def _kendall(one: Values, other: Values) -> float:
    return float(kendalltau(one, other).statistic)


def as_markdown(of: Networks | None = None) -> str:
    """The page; of all drawn networks unless told."""
    of = of or drawn()
    every = {name: measured(vectors, of.accuracy) for name, vectors in _described(of)}
    ways = list(next(iter(every.values())))
    blocks = ["# Accuracy from vectors", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    for place, measure in enumerate(("Spearman", "Kendall")):
        lines = [
            [name, *(_shown([pair[place] for pair in reached[way]]) for way in ways)]
            for name, reached in every.items()
        ]
        blocks += [f"{measure}:", markdown_table(("read as", *ways), lines)]
    return "\n\n".join(blocks) + "\n"


def _shown(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ± {stdev(values):.3f}"


def write_page(results: Path) -> None:
    """Measure and write the page.

    Args:
        results: Directory that gets ``predictor.md``.
    """
    text = as_markdown()
    keep_page(results, "predictor.md", text)
