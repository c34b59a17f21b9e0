"""Classes of DARTS networks: ten centres, and members a known number of edits from a centre.

One edit changes the operation of one edge, or the value that one edge reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import gcd
from random import Random

from nar.base.errors import InvalidInputError
from nar.zoo.sources.darts import genotypes
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


CLASSES = 10  # of the NAS data set of `nar.zoo.sources.darts.dataset`
# Two random genotypes lie 19 edits apart in the median; at 17 even the nearest two centres are
# farther apart than any member is from its own centre.
CENTRE_DISTANCE = 17
# Each of 8 nodes can be taken 2 edits away by changing its two operations, whatever it reads. So up
# to 16 edits some edit always leads one step farther.
MAX_EDITS = 16
# Chosen: after so many walks in a row that end at members seen before, none is expected to be left.
# More would find a few more members, and take longer to say that there are too few.
_REPEATS_ALLOWED = 1_000


@dataclass(frozen=True, slots=True)
class Member:
    """A genotype and the class it was made for.

    Attributes:
        genotype: The network.
        label: Class, 0 to 9.
    """

    genotype: Genotype
    label: int


def spread(start: int, stop: int) -> list[Genotype]:
    """Genotypes ``start`` to ``stop`` of a fixed sequence that covers the whole space evenly.

    All are different, and no process has to know what another has drawn: each draws any part.
    """
    # Steps of the golden ratio leave no gap and no cluster; without a common factor with the size
    # of the space they meet every genotype once.
    step = genotypes.GENOTYPE_COUNT * 618_033_988_749 // 10**12
    while gcd(step, genotypes.GENOTYPE_COUNT) > 1:
        step += 1
    return [
        genotypes.genotype_at(number * step % genotypes.GENOTYPE_COUNT)
        for number in range(start, stop)
    ]


def sample_centres(seed: int) -> list[Genotype]:
    """Ten genotypes, each at least `CENTRE_DISTANCE` edits from every other."""
    random = Random(f"centres {seed}")
    centres: list[Genotype] = []
    while len(centres) < CLASSES:
        genotype = genotypes.genotype_at(random.randrange(genotypes.GENOTYPE_COUNT))
        if all(edit_distance(genotype, centre) >= CENTRE_DISTANCE for centre in centres):
            centres.append(genotype)
    return centres


def sample_classes(count: int, *, distance: int = 4, seed: int = 0) -> list[Member]:
    """Distinct members of ten classes, the classes in turn.

    Args:
        count: How many; a smaller sample is the beginning of a larger one.
        distance: Edits between a member and the centre of its class, exactly.
        seed: Fixes the centres and the members.

    Raises:
        InvalidInputError: The distance is outside 1 to `MAX_EDITS`, or has no ``count`` members.
    """
    return [
        Member(genotypes.parse_genotype(text), number % CLASSES)
        for number, text in enumerate(sample_texts(count, distance=distance, seed=seed))
    ]


def sample_texts(count: int, *, distance: int, seed: int) -> list[str]:
    """The members of `sample_classes` as texts of genotypes, without making the records.

    Raises:
        InvalidInputError: As `sample_classes`.
    """
    if not 1 <= distance <= MAX_EDITS:
        raise InvalidInputError("distance", f"wanted 1 to {MAX_EDITS}, came {distance}")
    streams = [
        _members(codes_of(centre.index), distance, Random(f"class {label} {seed}"))
        for label, centre in enumerate(sample_centres(seed))
    ]
    return [genotype_text(next(streams[number % CLASSES])) for number in range(count)]


def _members(centre: Codes, distance: int, random: Random) -> Iterator[Codes]:
    """Distinct genotypes around a centre, without end."""
    seen: set[Codes] = set()
    while True:
        attempts = (_walk(centre, distance, random) for _ in range(_REPEATS_ALLOWED))
        fresh = next((codes for codes in attempts if codes not in seen), None)
        if fresh is None:
            raise InvalidInputError(
                "count", f"wanted more than the {len(seen)} members found {distance} edits away"
            )
        seen.add(fresh)
        yield fresh


def _walk(centre: Codes, distance: int, random: Random) -> Codes:
    """Edit at random, keeping the edits that lead one step farther from the centre."""
    codes = list(centre)
    choices = edit_choices()
    rows = [distances_from(node % genotypes.NODES, code) for node, code in enumerate(centre)]
    steps = 0
    while steps < distance:
        node, choice = random.choice(choices)
        edited = code_edits(node % genotypes.NODES)[codes[node]][choice]
        if rows[node][edited] == rows[node][codes[node]] + 1:
            codes[node] = edited
            steps += 1
    return tuple(codes)
