"""What a design was made from: its hits by copy, ranked once more with what is known of families.

::

    hits by copy ─┬─ the query's own family and design are left out, and what holds or is held by it
                  ├─ families that others were built upon come a little earlier
                  └─ of equal ones the older family comes first, then the first name

The text tower of a model, or a composition that stands on it, shares most of its structure, but is
the model again under another label: the model was not made from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log1p
from typing import Final

from nar.answers.answer import Graphs
from nar.answers.part_of import Reading, compared, reading
from nar.graphs.graph import ComputationalGraph
from nar.index.rows import Hit
from nar.labels.lineage import children, year_of

# Chosen: so many of the first hits are compared node by node, as of any answer.
COMPARED: Final = 20
# What the logarithm of the number of a family's known children adds to a score. Chosen in a trial;
# `python -m benchmark origin` measures it beside others, on validation data.
BUILT_UPON: Final = 0.02
# Scores are compared to so many decimals, as in an index.
_DECIMALS: Final = 6


def built_upon(known_children: int) -> float:
    """What is added to a score by copy, for how many families were built upon this one.

    Example:
        >>> round(built_upon(0), 3), round(built_upon(20), 3)
        (0.0, 0.061)
    """
    return BUILT_UPON * log1p(known_children)


@dataclass(frozen=True, slots=True, eq=False)
class OriginQuery:
    """The design that is asked about.

    Attributes:
        graph: Its graph; without it, no hit is left out for holding it.
        families: Families that are its own.
        topologies: Designs that are its own.
    """

    graph: ComputationalGraph | None
    families: frozenset[str] = frozenset()
    topologies: frozenset[str] = frozenset()

    def is_of(self, hit: Hit) -> bool:
        """Whether a hit is of its family, or has its design."""
        return hit.family in self.families or hit.topology in self.topologies


def origins(
    own: OriginQuery, hits: Sequence[Hit], graphs: Graphs, max_nodes: int | None = None
) -> list[Hit]:
    """What a design may have been made from, the likeliest first.

    Args:
        own: The design.
        hits: Its hits by copy, nearest first. Their scores stay as they are.
        graphs: Has the graphs of hits; hits without one are not left out.
        max_nodes: Bound on the nodes of the graphs that are compared; None for any number.
    """
    ordered = sorted((hit for hit in hits if not own.is_of(hit)), key=_place)
    if own.graph is None:
        return ordered
    first = _within(ordered[:COMPARED], max_nodes)
    held = _holding_or_held(own.graph, first, graphs)
    return [hit for hit in ordered if hit.name not in held]


def _within(hits: Sequence[Hit], max_nodes: int | None) -> list[Hit]:
    """The first hits whose graphs together have no more nodes than that."""
    if max_nodes is None:
        return list(hits)
    so_far = accumulate(hit.nodes for hit in hits)
    return [hit for hit, nodes in zip(hits, so_far, strict=True) if nodes <= max_nodes]


def _place(hit: Hit) -> tuple[float, int, str]:
    likely = hit.score + built_upon(len(children(hit.family)))
    return -round(likely, _DECIMALS), year_of(hit.family), hit.name


def _holding_or_held(
    own: ComputationalGraph, hits: Sequence[Hit], graphs: Graphs
) -> frozenset[str]:
    """Names of hits that are a part of a design, or that it is a part of."""
    names, sources = [hit.name for hit in hits], {hit.source for hit in hits}
    known = graphs.graphs(names, sources)
    query = reading(own)
    return frozenset(
        name for name, item in known.items() if one_holds_the_other(query, reading(item.graph))
    )


def one_holds_the_other(one: Reading, other: Reading) -> bool:
    """Whether one of two designs is a part of the other."""
    return compared(one, other).is_part() or compared(other, one).is_part()


def oldest_first(hits: Iterable[Hit]) -> list[Hit]:
    """Hits of equal scores by the year of their families, then by name; others stay in order."""
    return sorted(hits, key=lambda hit: (-hit.score, year_of(hit.family), hit.name))
