"""Edits of DARTS genotypes, and the number of edits between two genotypes.

One edit changes the operation of one edge, or the value that one edge reads.
"""

from functools import cache

from nar.zoo.sources.darts.genotypes import NODES, OPERATIONS, SOURCE_PAIRS, Edge, Genotype, Node


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

    The concatenation keeps the order of the nodes, so each node is edited into the node of the same
    number. The two edges of a node are unordered: the cheaper way to pair them counts. No genotype
    on the way has to read one value twice: only two edges that swap their values would, and
    changing their two operations instead costs no more.
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


# Genotypes as eight small numbers, with edits and distances in tables, for sampling by the 10,000.
#
# A node code counts what one ADD node may read: the digits of `Cell.index` that belong to that
# node. Everything below is what stands above, looked up instead of computed.

# Eight node codes: for the ADD nodes of the normal cell, then for the nodes of the reduction cell.
Codes = tuple[int, ...]

NODE_COUNTS: tuple[int, ...] = tuple(len(pairs) * len(OPERATIONS) ** 2 for pairs in SOURCE_PAIRS)
_COUNTS = NODE_COUNTS * 2


def codes_of(index: int) -> Codes:
    """The node codes of the genotype of a number."""
    codes: list[int] = []
    for count in reversed(_COUNTS):
        index, code = divmod(index, count)
        codes.append(code)
    return tuple(reversed(codes))


def genotype_text(codes: Codes) -> str:
    """The text form of a genotype."""
    parts = [node_texts(node % NODES)[code] for node, code in enumerate(codes)]
    return f"{','.join(parts[:NODES])}/{','.join(parts[NODES:])}"


@cache
def edit_choices() -> tuple[tuple[int, int], ...]:
    """Each of the 120 edits of a genotype: its node, 0 to 7, and its number among the node's."""
    return tuple(
        (node, choice)
        for node in range(len(_COUNTS))
        for choice in range(len(code_edits(node % NODES)[0]))
    )


@cache
def code_edits(number: int) -> tuple[tuple[int, ...], ...]:
    """For each code of ADD node ``number`` the codes one edit away, as `edits.node_edits` does."""
    nodes = _nodes(number)
    code_of = {node: code for code, node in enumerate(nodes)}
    return tuple(tuple(code_of[edited] for edited in node_edits(node, number)) for node in nodes)


@cache
def node_texts(number: int) -> tuple[str, ...]:
    """Text of each code of ADD node ``number``, as it stands in the text of a genotype."""
    return tuple(f"{first}+{second}" for first, second in _nodes(number))


@cache
def distances_from(number: int, code: int) -> tuple[int, ...]:
    """Edits from one code of ADD node ``number`` to each of its codes."""
    nodes = _nodes(number)
    return tuple(node_distance(nodes[code], other) for other in nodes)


@cache
def _nodes(number: int) -> list[Node]:
    """Everything that ADD node ``number`` may read, by code."""
    return [
        (Edge(low, first), Edge(high, second))
        for low, high in SOURCE_PAIRS[number]
        for first in OPERATIONS
        for second in OPERATIONS
    ]
