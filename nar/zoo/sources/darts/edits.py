"""Edits of DARTS genotypes, and how many of them lie between two genotypes.

One edit changes the operation of one edge, or the value that one edge reads.
"""

from nar.zoo.sources.darts.genotypes import OPERATIONS, Edge, Genotype, Node


def node_edits(node: Node, number: int) -> list[Node]:
    """What ADD node ``number`` may read after one edit."""
    nodes: list[Node] = []
    for edited, kept in (node, node[::-1]):
        changed = [Edge(edited.source, operation) for operation in OPERATIONS]
        changed += [Edge(source, edited.operation) for source in range(number + 2)]
        nodes += [
            (min(edge, kept), max(edge, kept))
            for edge in changed
            if edge != edited and edge.source != kept.source
        ]
    return nodes


def edit_distance(one: Genotype, other: Genotype) -> int:
    """The least number of edits that turns one genotype into the other; exact.

    Nodes are told apart by where they stand in the concatenation, so each is edited into its
    namesake. The two edges of a node are unordered: the cheaper of the two ways to pair them
    counts. No step between need read one value twice: that is forced only where two edges swap
    their values, and changing their two operations instead costs no more.
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
