"""From a DARTS genotype straight to its computational graph (paper, A.4): no torch, no capture.

Stem, 20 cells, global pool, linear; each edge of a cell becomes a node of its operation. Like the
paper's graphs these leave out the two projections before each cell, but their weights count:
parameters and FLOPs are those of the CIFAR-10 network of Liu et al. (2018), 36 channels wide.
"""

from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from nar.canonical import canonical
from nar.fingerprints import Fingerprinted, fingerprinted
from nar.graph import ComputationalGraph
from nar.ops import ATTRIBUTES, op_id
from nar.zoo.sources.darts.genotypes import NODES, OPERATIONS, Cell, Genotype

CELLS = 20
REDUCTIONS = frozenset({CELLS // 3, 2 * CELLS // 3})
CHANNELS = 36
STEM_CHANNELS = 3 * CHANNELS
CLASSES = 10
IMAGE_SIZE = 32
# Operations and additions of the nodes, and their concatenation.
CELL_NODES = 3 * NODES + 1
_STRIDE = ATTRIBUTES.index("stride")
_ADD, _CONCAT = op_id("add"), op_id("concat")
_STEM_IDS = (op_id("input"), op_id("conv"))
_STEM_EDGE = ((0,), (1,))
_CLASSIFIER_IDS = (op_id("adaptive_avg_pool"), op_id("linear"))
_OPERATION_IDS = {operation: op_id(operation) for operation in OPERATIONS}


@dataclass(frozen=True, slots=True)
class _Convolutions:
    """A chain of bias-free convolutions, each depthwise one followed by a 1 x 1."""

    kernel: int
    repeats: int

    def weights(self, channels: int) -> int:
        return self.repeats * (channels * self.kernel**2 + channels**2)

    def norms(self, channels: int) -> int:
        return self.repeats * 2 * channels


_CONVOLUTIONS = {
    "sep_conv_3x3": _Convolutions(3, 2),
    "sep_conv_5x5": _Convolutions(5, 2),
    "dil_conv_3x3": _Convolutions(3, 1),
    "dil_conv_5x5": _Convolutions(5, 1),
}


def darts_network(genotype: Genotype) -> Fingerprinted:
    """The network of a genotype with its fingerprints: 264 nodes, the same wiring at every width.

    Only the stride of a reduction's operations is set among the attributes.
    """
    return fingerprinted(_drawn(genotype))


def darts_graph(genotype: Genotype) -> ComputationalGraph:
    """The same without its fingerprints, canonical."""
    return canonical(_drawn(genotype))


@dataclass(frozen=True, slots=True)
class _DrawnCell:
    """The nodes of a cell, numbered from 2 on: 0 and 1 are what it reads.

    Attributes:
        op_ids: Of each node, in the order of the operands: 8 operations, 4 additions, one
            concatenation.
        strides: Of each node.
        edges: Shape (2, edges).
    """

    op_ids: list[int]
    strides: list[int]
    edges: NDArray[np.int32]


def _drawn(genotype: Genotype) -> ComputationalGraph:
    """The network as it is drawn: stem, cells one after the other, classifier."""
    drawn = {
        reduces: _draw_cell(cell, reduces=reduces)
        for reduces, cell in ((False, genotype.normal), (True, genotype.reduction))
    }
    cells = [drawn[number in REDUCTIONS] for number in range(CELLS)]
    op_ids = chain(_STEM_IDS, *(cell.op_ids for cell in cells), _CLASSIFIER_IDS)
    edges = [numbers[cell.edges] for numbers, cell in zip(_cell_numbers(), cells, strict=True)]
    nodes = len(_STEM_IDS) + CELLS * CELL_NODES + len(_CLASSIFIER_IDS)
    classifier = [[nodes - 3, nodes - 2], [nodes - 2, nodes - 1]]
    attributes = np.zeros((nodes, len(ATTRIBUTES)), dtype=np.int16)
    attributes[2:-2, _STRIDE] = list(chain.from_iterable(cell.strides for cell in cells))
    parameters, flops = _cost(genotype)
    return ComputationalGraph(
        np.fromiter(op_ids, dtype=np.uint16, count=nodes),
        attributes,
        np.concatenate([_STEM_EDGE, *edges, classifier], axis=1, dtype=np.int32),
        parameters,
        flops,
    )


@cache
def _cell_numbers() -> NDArray[np.int32]:
    """Number in the network of each number of a cell: shape (CELLS, 2 + CELL_NODES)."""
    first = len(_STEM_IDS) + CELL_NODES * np.arange(CELLS)
    outputs = [1, 1, *(first + CELL_NODES - 1)]
    inputs = [outputs[:CELLS], outputs[1 : CELLS + 1]]
    own = first[:, None] + np.arange(CELL_NODES)
    return np.concatenate([np.array(inputs).T, own], axis=1).astype(np.int32)


def _draw_cell(cell: Cell, *, reduces: bool) -> _DrawnCell:
    op_ids: list[int] = []
    strides: list[int] = []
    edges: list[tuple[int, int]] = []
    values = [0, 1]
    for node in cell.nodes:
        first = 2 + len(op_ids)
        for edge in node:
            edges.append((values[edge.source], 2 + len(op_ids)))
            op_ids.append(_OPERATION_IDS[edge.operation])
            strides.append(2 if halves(edge.source, reduces) else 0)
        edges += [(first, first + 2), (first + 1, first + 2)]
        op_ids.append(_ADD)
        strides.append(0)
        values.append(first + 2)
    edges += [(value, 2 + len(op_ids)) for value in values[2:]]
    return _DrawnCell([*op_ids, _CONCAT], [*strides, 0], np.array(edges, dtype=np.int32).T)


def halves(source: int, reduces: bool) -> bool:
    """Whether an operation has stride 2: in a reduction cell, those that read its inputs."""
    return reduces and source < 2


def _cost(genotype: Genotype) -> tuple[int, int]:
    """Learned scalars, and FLOPs of the convolutions and the classifier on one image."""
    stem = 3 * STEM_CHANNELS * 9
    parameters, multiply_adds = stem + 2 * STEM_CHANNELS, stem * IMAGE_SIZE**2
    widths, channels, size = (STEM_CHANNELS, STEM_CHANNELS), CHANNELS, IMAGE_SIZE
    cells = {False: genotype.normal, True: genotype.reduction}
    # Cells of one width weigh the same, and there are five of 20.
    weighed: dict[tuple[bool, int], tuple[int, int]] = {}
    for number in range(CELLS):
        reduces = number in REDUCTIONS
        entry_size = size
        if reduces:
            channels, size = 2 * channels, size // 2
        projections = sum(widths) * channels
        if (reduces, channels) not in weighed:
            cell_weights = _cell_weights(cells[reduces], channels, reduces=reduces)
            weighed[reduces, channels] = cell_weights
        weights, norms = weighed[reduces, channels]
        parameters += projections + 4 * channels + weights + norms
        multiply_adds += projections * entry_size**2 + weights * size**2
        widths = (widths[1], NODES * channels)
    classifier = widths[1] * CLASSES
    return parameters + classifier + CLASSES, 2 * (multiply_adds + classifier)


def _cell_weights(cell: Cell, channels: int, *, reduces: bool) -> tuple[int, int]:
    """Weights of the convolutions of a cell's operations, and of their norms."""
    weights = norms = 0
    for edge in (edge for node in cell.nodes for edge in node):
        if edge.operation in _CONVOLUTIONS:
            chain = _CONVOLUTIONS[edge.operation]
            weights += chain.weights(channels)
            norms += chain.norms(channels)
        elif edge.operation == "skip_connect" and halves(edge.source, reduces):
            weights += channels**2
            norms += 2 * channels
    return weights, norms
