"""From a DARTS genotype straight to its computational graph (paper, A.4): no torch, no capture.

Stem, 20 cells, global pool, linear; each edge of a cell becomes a node of its operation. Like the
paper's graphs these leave out the two projections before each cell, but their weights count:
parameters and FLOPs are those of the CIFAR-10 network of Liu et al. (2018), 36 channels wide.
"""

from dataclasses import dataclass, field

import numpy as np

from nar.canonical import canonical
from nar.graph import ComputationalGraph
from nar.ops import ATTRIBUTES, op_id
from nar.zoo.sources.darts.genotypes import NODES, Cell, Genotype

CELLS = 20
REDUCTIONS = frozenset({CELLS // 3, 2 * CELLS // 3})
CHANNELS = 36
STEM_CHANNELS = 3 * CHANNELS
CLASSES = 10
IMAGE_SIZE = 32
_STRIDE = ATTRIBUTES.index("stride")


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


def darts_graph(genotype: Genotype) -> ComputationalGraph:
    """The network of a genotype, canonical: 264 nodes, the same wiring at every width.

    Only the stride of a reduction's operations is set among the attributes.
    """
    drawing = _Drawing()
    before = last = drawing.node("conv", drawing.node("input"))
    for number in range(CELLS):
        reduces = number in REDUCTIONS
        cell = genotype.reduction if reduces else genotype.normal
        before, last = last, _draw_cell(drawing, cell, inputs=(before, last), reduces=reduces)
    drawing.node("linear", drawing.node("adaptive_avg_pool", last))
    parameters, flops = _cost(genotype)
    return canonical(drawing.graph(parameters, flops))


@dataclass(slots=True)
class _Drawing:
    op_ids: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)

    def node(self, operator: str, *operands: int, stride: int = 0) -> int:
        number = len(self.op_ids)
        self.op_ids.append(op_id(operator))
        self.strides.append(stride)
        self.edges.extend((operand, number) for operand in operands)
        return number

    def graph(self, parameters: int, flops: int) -> ComputationalGraph:
        attributes = np.zeros((len(self.op_ids), len(ATTRIBUTES)), dtype=np.int16)
        attributes[:, _STRIDE] = self.strides
        op_ids = np.array(self.op_ids, dtype=np.uint16)
        edge_index = np.array(self.edges, dtype=np.int32).T.copy()
        return ComputationalGraph(op_ids, attributes, edge_index, parameters, flops)


def _draw_cell(drawing: _Drawing, cell: Cell, *, inputs: tuple[int, int], reduces: bool) -> int:
    """Draw one cell and give the number of its concatenation."""
    values = list(inputs)
    for node in cell.nodes:
        operations = [
            drawing.node(
                edge.operation, values[edge.source], stride=2 if halves(edge.source, reduces) else 0
            )
            for edge in node
        ]
        values.append(drawing.node("add", *operations))
    return drawing.node("concat", *values[2:])


def halves(source: int, reduces: bool) -> bool:
    """Whether an operation has stride 2: in a reduction cell, those that read its inputs."""
    return reduces and source < 2


def _cost(genotype: Genotype) -> tuple[int, int]:
    """Learned scalars, and FLOPs of the convolutions and the classifier on one image."""
    stem = 3 * STEM_CHANNELS * 9
    parameters, multiply_adds = stem + 2 * STEM_CHANNELS, stem * IMAGE_SIZE**2
    widths, channels, size = (STEM_CHANNELS, STEM_CHANNELS), CHANNELS, IMAGE_SIZE
    for number in range(CELLS):
        reduces = number in REDUCTIONS
        entry_size = size
        if reduces:
            channels, size = 2 * channels, size // 2
        projections = sum(widths) * channels
        cell = genotype.reduction if reduces else genotype.normal
        weights, norms = _cell_weights(cell, channels, reduces=reduces)
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
