"""Genotypes of the DARTS space (paper, A.4): record, text form, and number.

A genotype is two cells, a cell is 4 ADD nodes of 2 edges each, an edge applies one of 7 operations
to one value: ``c_{k-2}`` (source 0), ``c_{k-1}`` (source 1), or earlier ADD node j (source 2 + j).
"""

from dataclasses import dataclass
from itertools import combinations
from math import prod

from nar.base.errors import InvalidInputError

# The operator class of `nar.graphs.ops` behind each short form of a genotype's text.
OPERATION_OF: dict[str, str] = {
    "skip": "skip_connect",
    "max3": "max_pool_3x3",
    "avg3": "avg_pool_3x3",
    "sep3": "sep_conv_3x3",
    "sep5": "sep_conv_5x5",
    "dil3": "dil_conv_3x3",
    "dil5": "dil_conv_5x5",
}
OPERATIONS: tuple[str, ...] = tuple(OPERATION_OF.values())
NODES = 4  # ADD nodes of a cell, as in Liu et al. (2018)
SOURCE_PAIRS: tuple[tuple[tuple[int, int], ...], ...] = tuple(
    tuple(combinations(range(node + 2), 2)) for node in range(NODES)
)
CELL_COUNT = prod(len(pairs) * len(OPERATIONS) ** 2 for pairs in SOURCE_PAIRS)
GENOTYPE_COUNT = CELL_COUNT**2

_SHORT_FORM_OF = {operation: short for short, operation in OPERATION_OF.items()}


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One operation on one value.

    Attributes:
        source: 0 is ``c_{k-2}``, 1 is ``c_{k-1}``, 2 + j is ADD node j.
        operation: One of `OPERATIONS`.
    """

    source: int
    operation: str

    def __str__(self) -> str:
        """Text form: ``sep3@0``."""
        return f"{_SHORT_FORM_OF[self.operation]}@{self.source}"


Node = tuple[Edge, Edge]


@dataclass(frozen=True, slots=True)
class Cell:
    """What the four ADD nodes read.

    Attributes:
        nodes: The two edges of each ADD node, which read different values. Their order means
            nothing in the network; here the edge with the smaller source stands first.
    """

    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        """Refuse what is no cell, or no normal form of one."""
        if len(self.nodes) != NODES:
            raise InvalidInputError("cell", f"wanted {NODES} nodes, came {len(self.nodes)}")
        for number, (first, second) in enumerate(self.nodes):
            if (first.source, second.source) not in SOURCE_PAIRS[number]:
                raise InvalidInputError(
                    f"cell[{number}]",
                    f"wanted two different sources of 0 to {number + 1}, the smaller first, "
                    f"came {first.source} and {second.source}",
                )
            if not {first.operation, second.operation} <= set(OPERATIONS):
                raise InvalidInputError(f"cell[{number}]", f"wanted two of {list(OPERATIONS)}")

    def __str__(self) -> str:
        """Text form: nodes joined by commas, the edges of a node by plus signs."""
        return ",".join(f"{first}+{second}" for first, second in self.nodes)

    @property
    def index(self) -> int:
        """Number of this cell, 0 to ``CELL_COUNT - 1``; `cell_at` turns it back."""
        number = 0
        for (first, second), pairs in zip(self.nodes, SOURCE_PAIRS, strict=True):
            number = number * len(pairs) + pairs.index((first.source, second.source))
            for edge in (first, second):
                number = number * len(OPERATIONS) + OPERATIONS.index(edge.operation)
        return number


@dataclass(frozen=True, slots=True)
class Genotype:
    """One network of the space.

    Attributes:
        normal: Cell that keeps the resolution.
        reduction: Cell that halves it, at 1/3 and 2/3 of the depth.
    """

    normal: Cell
    reduction: Cell

    def __str__(self) -> str:
        """Text form: the normal cell, a slash, the reduction cell; `parse_genotype` reads it."""
        return f"{self.normal}/{self.reduction}"

    @property
    def index(self) -> int:
        """Number of this genotype, 0 to ``GENOTYPE_COUNT - 1``; `genotype_at` turns it back."""
        return self.normal.index * CELL_COUNT + self.reduction.index


def cell_at(index: int) -> Cell:
    """The cell of a number: mixed radix, the last node in the lowest digits."""
    nodes: list[Node] = []
    for pairs in reversed(SOURCE_PAIRS):
        index, second = divmod(index, len(OPERATIONS))
        index, first = divmod(index, len(OPERATIONS))
        index, pair = divmod(index, len(pairs))
        low, high = pairs[pair]
        nodes.append((Edge(low, OPERATIONS[first]), Edge(high, OPERATIONS[second])))
    return Cell(tuple(reversed(nodes)))


def genotype_at(index: int) -> Genotype:
    """The genotype of a number.

    Raises:
        InvalidInputError: The number is outside 0 to ``GENOTYPE_COUNT - 1``.
    """
    if not 0 <= index < GENOTYPE_COUNT:
        raise InvalidInputError("index", f"wanted 0 to {GENOTYPE_COUNT - 1}, came {index}")
    normal, reduction = divmod(index, CELL_COUNT)
    return Genotype(cell_at(normal), cell_at(reduction))


def parse_genotype(text: str) -> Genotype:
    """Read the text form; the two edges of a node may stand in either order.

    Raises:
        InvalidInputError: Names the node at fault.
    """
    cells = text.split("/")
    if len(cells) != 2:
        raise InvalidInputError("genotype", f"wanted two cells joined by '/', came {text!r}")
    return Genotype(_parse_cell(cells[0], "normal"), _parse_cell(cells[1], "reduction"))


def _parse_cell(text: str, field: str) -> Cell:
    try:
        return Cell(tuple(_parse_node(node) for node in text.split(",")))
    except InvalidInputError as error:
        raise error.under(field) from error


def _parse_node(text: str) -> Node:
    edges = sorted(_parse_edge(edge) for edge in text.split("+"))
    if len(edges) != 2:
        raise InvalidInputError("node", f"wanted two edges joined by '+', came {text!r}")
    return edges[0], edges[1]


def _parse_edge(text: str) -> Edge:
    short, _, source = text.partition("@")
    if short not in OPERATION_OF or not (source.isascii() and source.isdigit()):
        wanted = ", ".join(OPERATION_OF)
        raise InvalidInputError("edge", f"wanted OPERATION@SOURCE with {wanted}; came {text!r}")
    return Edge(int(source), OPERATION_OF[short])
