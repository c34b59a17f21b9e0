"""Folding: hits that are one network stand in one row, under the name that came first."""

from collections.abc import Sequence
from dataclasses import dataclass

from nar.index.rows import Hit
from nar.published import Published, figures_of


@dataclass(frozen=True, slots=True)
class Row:
    """One network of an answer.

    Attributes:
        hit: The first of its names.
        copies: Its other names, in their order.
    """

    hit: Hit
    copies: tuple[str, ...] = ()

    @property
    def published(self) -> Published | None:
        """What was measured of it under one of its names."""
        return figures_of((self.hit.name, *self.copies))


def folded(hits: Sequence[Hit], rows: int) -> list[Row]:
    """The first networks of an answer.

    Args:
        hits: Nearest first.
        rows: How many networks at most.
    """
    networks: dict[str, list[Hit]] = {}
    for hit in hits:
        networks.setdefault(hit.exact, []).append(hit)
    return [
        Row(first, tuple(copy.name for copy in copies))
        for first, *copies in list(networks.values())[:rows]
    ]
