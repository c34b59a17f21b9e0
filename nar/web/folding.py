"""Folding: a macro graph drawn short, with what repeats shown once and counted.

      A B B B C B B B C D          motifs, in the order of their first nodes
      A (B x3 C) x2 D              what is drawn: four nodes, two counts

A run of equal motifs is one node; runs that repeat as a sequence are one group.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.motifs.macro_graph import MacroGraph

# Runs that may form one group.
_LONGEST: Final = 24


@dataclass(frozen=True, slots=True)
class Folded:
    """A run of equal motifs, as one node.

    Attributes:
        kind: Position of its motif type among those of the model.
        count: Motifs in the run.
        is_chain: Whether each of them feeds the next; else some stand beside each other.
        group: Number of its group.
    """

    kind: int
    count: int
    is_chain: bool
    group: int


@dataclass(frozen=True, slots=True)
class Folding:
    """What is drawn of a macro graph.

    Attributes:
        nodes: Runs, those of a repeated group once.
        links: Pairs of positions in `nodes`: a value goes from one to the other.
        repeats: Shape (groups,): how often each group comes.
    """

    nodes: tuple[Folded, ...]
    links: tuple[tuple[int, int], ...]
    repeats: tuple[int, ...]


def fold(macro: MacroGraph) -> Folding:
    """Fold a macro graph.

    Example:
        >>> line = np.array([[0, 1, 2], [1, 2, 3]], dtype=np.int32)
        >>> folding = fold(MacroGraph(np.array([7, 9, 9, 5], dtype=np.uint64), line))
        >>> [(node.kind, node.count) for node in folding.nodes], folding.links
        ([(0, 1), (1, 2), (2, 1)], ((0, 1), (1, 2)))
    """
    kinds = kinds_of(macro)
    linked = set(map(tuple, macro.edge_index.T.tolist()))
    runs = _runs(kinds)
    groups = _groups([(kinds[first], last - first) for first, last in runs])
    nodes: list[Folded] = []
    node_of = np.empty(len(kinds), dtype=np.int64)
    for number, (start, period, repeats) in enumerate(groups):
        first_node = len(nodes)
        for position in range(period * repeats):
            first, last = runs[start + position]
            node_of[first:last] = first_node + position % period
            if position < period:
                is_chain = all((each, each + 1) in linked for each in range(first, last - 1))
                nodes.append(Folded(kinds[first], last - first, is_chain, number))
    return Folding(tuple(nodes), _links(node_of, macro), tuple(each[2] for each in groups))


def kinds_of(macro: MacroGraph) -> list[int]:
    """Motif type of each motif, numbered by first occurrence."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(code, len(numbers)) for code in macro.motif_codes.tolist()]


def _runs(kinds: Sequence[int]) -> list[tuple[int, int]]:
    """First and behind last of each run of equal entries."""
    borders = [at for at in range(1, len(kinds)) if kinds[at] != kinds[at - 1]]
    return list(zip([0, *borders], [*borders, len(kinds)], strict=True))


def _groups(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Start, period and repeats of the groups that cover all runs, one after the other.

    At each run the sequence that covers most by repeating is taken; of equals, the shortest.
    """
    groups = []
    start = 0
    while start < len(runs):
        period, repeats = max(
            (
                (period, _repeats(runs, start, period))
                for period in range(1, min(_LONGEST, len(runs) - start) + 1)
            ),
            key=lambda each: (each[0] * each[1] if each[1] > 1 else 1, -each[0]),
        )
        groups.append((start, period, repeats))
        start += period * repeats
    return groups


def _repeats(runs: Sequence[tuple[int, int]], start: int, period: int) -> int:
    """How often the sequence that begins at a run comes in a row."""
    body = runs[start : start + period]
    repeats = 1
    while runs[start + repeats * period : start + (repeats + 1) * period] == body:
        repeats += 1
    return repeats


def _links(node_of: NDArray[np.int64], macro: MacroGraph) -> tuple[tuple[int, int], ...]:
    """Links between what is drawn; those that only lead back to another repetition are not."""
    ends = node_of[macro.edge_index]
    forward = np.unique(ends[:, ends[0] < ends[1]], axis=1)
    return tuple((source, target) for source, target in forward.T.tolist())
