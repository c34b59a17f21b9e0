"""What the network of a genotype costs: learned scalars and operations, without drawing it.

Those of the CIFAR-10 network of Liu et al. (2018), 36 channels wide. Graphs leave out the two
projections before each cell; their weights count here.
"""

from dataclasses import dataclass

from nar.zoo.sources.darts.genotypes import NODES, Cell, Genotype

CELLS = 20
REDUCTIONS = frozenset({CELLS // 3, 2 * CELLS // 3})
CHANNELS = 36
STEM_CHANNELS = 3 * CHANNELS
CLASSES = 10
IMAGE_SIZE = 32


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
    """Whether an operation has stride 2: in a reduction cell, those that read its inputs."""
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
