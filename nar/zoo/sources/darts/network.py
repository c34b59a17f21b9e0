"""From a DARTS genotype straight to its computational graph (paper, A.4): no torch, no capture.

Stem, 20 cells, global pool, linear; each edge of a cell becomes a node of its operation. Like the
paper's graphs these leave out the two projections before each cell, but their weights count.

All networks are laid out alike, so nothing has to be searched for: the graph is put together from
cells in canonical order, and the codes of its nodes take hashing alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.canonical import Code, fingerprint_of_codes
from nar.graphs.fingerprints import Fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id
from nar.zoo.sources.darts.genotypes import NODES, OPERATIONS, Cell, Edge, Genotype
from nar.zoo.sources.darts.node_codes import (
    CELL_NODES,
    Arrangement,
    Sources,
    arrangement,
    network_codes,
    sources_of,
    undecided,
)

# What the network of a genotype costs: learned scalars and operations, without its graph.
#
# The sizes below are of the CIFAR-10 network of Liu et al. (2018), 36 channels wide. Graphs leave
# out the two projections before each cell; their weights count here.

CELLS = 20  # Liu et al.
REDUCTIONS = frozenset({CELLS // 3, 2 * CELLS // 3})
CHANNELS = 36  # of the first cells: Liu et al.
STEM_CHANNELS = 3 * CHANNELS
CLASSES = 10  # of CIFAR-10
IMAGE_SIZE = 32  # of CIFAR-10, in pixels


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


def halves(source: int, reduces: bool) -> bool:
    """Whether an operation has stride 2: it reads an input of its cell, and the cell reduces."""
    return reduces and source < 2


def cost(genotype: Genotype) -> tuple[int, int]:
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


NODES_IN_ALL: Final = 2 + CELLS * CELL_NODES + 2
_STRIDE: Final = ATTRIBUTES.index("stride")
_ADD, _CONCAT = op_id("add"), op_id("concat")
_STEM, _CLASSIFIER = ("input", "conv"), ("adaptive_avg_pool", "linear")
_OPERATION_IDS: Final = {operation: op_id(operation) for operation in OPERATIONS}
# The kind of each cell: 0 keeps the resolution, 1 halves it.
_KINDS: Final = tuple(int(number in REDUCTIONS) for number in range(CELLS))


def _cell_numbers() -> NDArray[np.int32]:
    """Number in the network of each number of a cell: shape (CELLS, 2 + CELL_NODES)."""
    first = 2 + CELL_NODES * np.arange(CELLS)
    outputs = [1, 1, *(first + CELL_NODES - 1)]
    inputs = [outputs[:CELLS], outputs[1 : CELLS + 1]]
    own = first[:, None] + np.arange(CELL_NODES)
    return np.concatenate([np.array(inputs).T, own], axis=1).astype(np.int32)


_NUMBERS: Final = _cell_numbers()
_STEM_IDS: Final = [op_id(name) for name in _STEM]
_CLASSIFIER_IDS: Final = [op_id(name) for name in _CLASSIFIER]
_STEM_EDGE: Final = np.array([[0], [1]], dtype=np.int32)
_CLASSIFIER_EDGES: Final = np.array([[-3, -2], [-2, -1]], dtype=np.int32) + NODES_IN_ALL


def _initial(identifier: int, stride: int, *, is_exact: bool) -> bytes:
    """What is known of a node by itself: its operator, and its attributes if they count."""
    row = np.zeros(1 + (len(ATTRIBUTES) if is_exact else 0), dtype="<i2")
    row[0] = identifier
    if is_exact:
        row[1 + _STRIDE] = stride
    return row.tobytes()


_OPERATION_BYTES: Final = {
    (is_exact, operation, stride): _initial(identifier, stride, is_exact=is_exact)
    for operation, identifier in _OPERATION_IDS.items()
    for is_exact in (False, True)
    for stride in (0, 2)
}
_OTHER_BYTES: Final = {
    (is_exact, name): _initial(op_id(name), 0, is_exact=is_exact)
    for name in (*_STEM, "add", "concat", *_CLASSIFIER)
    for is_exact in (False, True)
}


def darts_network(genotype: Genotype) -> Fingerprinted:
    """The network of a genotype with its fingerprints: 264 nodes, the same wiring at every width.

    Of the attributes only the stride of a reduction's operations is set. The network has nothing
    that a normal form would fold, so its normal form is the graph as it is.
    """
    cells = _sources(genotype)
    exact = network_codes(cells, _initials(genotype, is_exact=True))
    graph = _graph(genotype, cells, exact)
    return Fingerprinted(
        graph,
        fingerprint_of_codes(network_codes(cells, _initials(genotype, is_exact=False)), "topology"),
        fingerprint_of_codes(exact, f"exact:{graph.parameters}"),
        fingerprint_of_codes(exact, "exact:0"),
    )


def darts_graph(genotype: Genotype) -> ComputationalGraph:
    """The graph of a genotype, in canonical order, without its fingerprints."""
    cells = _sources(genotype)
    return _graph(genotype, cells, network_codes(cells, _initials(genotype, is_exact=True)))


def _sources(genotype: Genotype) -> list[Sources]:
    kinds = (sources_of(genotype.normal), sources_of(genotype.reduction))
    return [kinds[kind] for kind in _KINDS]


def _initials(genotype: Genotype, *, is_exact: bool) -> list[bytes]:
    """What is known of each node by itself, as `network_codes` takes it."""
    kinds = (
        _cell_initials(genotype.normal, reduces=False, is_exact=is_exact),
        _cell_initials(genotype.reduction, reduces=True, is_exact=is_exact),
    )
    initials = [_OTHER_BYTES[is_exact, name] for name in _STEM]
    for kind in _KINDS:
        initials += kinds[kind]
    return initials + [_OTHER_BYTES[is_exact, name] for name in _CLASSIFIER]


def _cell_initials(cell: Cell, *, reduces: bool, is_exact: bool) -> list[bytes]:
    initials = []
    for node in cell.nodes:
        for edge in node:
            stride = _stride(edge, reduces=reduces)
            initials.append(_OPERATION_BYTES[is_exact, edge.operation, stride])
        initials.append(_OTHER_BYTES[is_exact, "add"])
    return [*initials, _OTHER_BYTES[is_exact, "concat"]]


def _stride(edge: Edge, *, reduces: bool) -> int:
    return 2 if halves(edge.source, reduces) else 0


@dataclass(frozen=True, slots=True, eq=False)
class _CellNodes:
    """One of the two cells of a genotype, in the order of its operands.

    Attributes:
        op_ids: Shape (CELL_NODES,).
        strides: Shape (CELL_NODES,).
    """

    op_ids: list[int]
    strides: list[int]


def _cell_nodes(cell: Cell, *, reduces: bool) -> _CellNodes:
    op_ids, strides = [], []
    for node in cell.nodes:
        op_ids += [*(_OPERATION_IDS[edge.operation] for edge in node), _ADD]
        strides += [*(_stride(edge, reduces=reduces) for edge in node), 0]
    return _CellNodes([*op_ids, _CONCAT], [*strides, 0])


def _graph(
    genotype: Genotype, cells: Sequence[Sources], codes: Sequence[Code]
) -> ComputationalGraph:
    """The cells laid end to end, each in canonical order.

    Args:
        genotype: Genotype of the network.
        cells: What the additions of its cells read.
        codes: Exact codes of its nodes, in the order of the genotype.
    """
    if any(_is_tied(sources, codes, number) for number, sources in enumerate(cells)):
        # As `nar.graphs.canonical` does: a second look tells the readers of equal codes apart.
        refined = network_codes(cells, codes)
        codes = [code + again for code, again in zip(codes, refined, strict=True)]
    arranged = [
        arrangement(sources, _flips(sources, codes, number), is_first=not number)
        for number, sources in enumerate(cells)
    ]
    nodes = (
        _cell_nodes(genotype.normal, reduces=False),
        _cell_nodes(genotype.reduction, reduces=True),
    )
    orders = np.array([each.order for each in arranged])
    kinds = np.array(_KINDS)[:, None]
    op_ids = np.empty(NODES_IN_ALL, dtype=np.uint16)
    op_ids[:2], op_ids[-2:] = _STEM_IDS, _CLASSIFIER_IDS
    op_ids[2:-2] = np.array([cell.op_ids for cell in nodes])[kinds, orders].ravel()
    attributes = np.zeros((NODES_IN_ALL, len(ATTRIBUTES)), dtype=np.int16)
    strides = np.array([cell.strides for cell in nodes])[kinds, orders]
    attributes[2:-2, _STRIDE] = strides.ravel()
    parameters, flops = cost(genotype)
    return ComputationalGraph(op_ids, attributes, _edges(arranged), parameters, flops)


def _is_tied(sources: Sources, codes: Sequence[Code], number: int) -> bool:
    """Whether the two operations of some addition have one code though they read two values."""
    start = 2 + CELL_NODES * number
    return any(
        codes[start + 3 * node] == codes[start + 3 * node + 1]
        for node in undecided(sources, is_first=not number)
        # The first cell reads the stem twice: equal operations on it are interchangeable.
        if number or max(sources[node]) > 1
    )


def _flips(sources: Sources, codes: Sequence[Code], number: int) -> int:
    """Which additions of a cell have the operation of the smaller code second."""
    start, flips = 2 + CELL_NODES * number, 0
    for node in undecided(sources, is_first=not number):
        first = start + 3 * node
        flips |= (codes[first] > codes[first + 1]) << node
    return flips


def _edges(arranged: Sequence[Arrangement]) -> NDArray[np.int32]:
    inner = _NUMBERS[np.arange(CELLS)[:, None, None], np.array([each.edges for each in arranged])]
    return np.concatenate(
        [_STEM_EDGE, inner.transpose(1, 0, 2).reshape(2, -1), _CLASSIFIER_EDGES], axis=1
    )
