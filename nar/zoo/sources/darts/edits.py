"""Edits of DARTS genotypes, and how many of them lie between two genotypes.

One edit changes the operation of one edge, or the value that one edge reads.
"""

from dataclasses import dataclass, replace

from nar.zoo.sources.darts.genotypes import NODES, OPERATIONS, Cell, Edge, Genotype, Node


@dataclass(frozen=True, slots=True)
class Edit:
    """What one ADD node reads from now on.

    Attributes:
        in_reduction: Whether it is the reduction cell that changes.
        number: Which ADD node, 0 to 3.
        node: Its edges after the edit.
    """

    in_reduction: bool
    number: int
    node: Node


def edits(genotype: Genotype) -> list[Edit]:
    """All 120 edits of a genotype, in a fixed order; each leads to another genotype."""
    return [
        Edit(in_reduction, number, node)
        for in_reduction, cell in ((False, genotype.normal), (True, genotype.reduction))
        for number in range(NODES)
        for node in node_edits(cell.nodes[number], number)
    ]


def node_edits(node: Node, number: int) -> list[Node]:
    """What ADD node ``number`` may read after one edit."""
    found: list[Node] = []
    for edited, kept in (node, node[::-1]):
        changed = [Edge(edited.source, operation) for operation in OPERATIONS]
        changed += [Edge(source, edited.operation) for source in range(number + 2)]
        found += [
            (min(edge, kept), max(edge, kept))
            for edge in changed
            if edge != edited and edge.source != kept.source
        ]
    return found


def apply_edit(genotype: Genotype, edit: Edit) -> Genotype:
    """The genotype after one edit."""
    if edit.in_reduction:
        return replace(genotype, reduction=_with_node(genotype.reduction, edit))
    return replace(genotype, normal=_with_node(genotype.normal, edit))


def _with_node(cell: Cell, edit: Edit) -> Cell:
    return Cell((*cell.nodes[: edit.number], edit.node, *cell.nodes[edit.number + 1 :]))


def edit_distance(one: Genotype, other: Genotype) -> int:
    """The least number of edits that turns one genotype into the other; exact.

    Nodes are told apart by their place in the concatenation, so each is edited into its namesake.
    The two edges of a node are unordered: the cheaper of the two ways to pair them counts. No
    step between need read one value twice: that is forced only where two edges swap their values,
    and changing their two operations instead costs no more.
    """
    pairs = zip(
        one.normal.nodes + one.reduction.nodes,
        other.normal.nodes + other.reduction.nodes,
        strict=True,
    )
    return sum(node_distance(before, after) for before, after in pairs)


def node_distance(one: Node, other: Node) -> int:
    """The least number of edits between what one ADD node reads and what it should read."""
    first, second = one
    straight = _edge_distance(first, other[0]) + _edge_distance(second, other[1])
    crossed = _edge_distance(first, other[1]) + _edge_distance(second, other[0])
    return min(straight, crossed)


def _edge_distance(one: Edge, other: Edge) -> int:
    return (one.source != other.source) + (one.operation != other.operation)
