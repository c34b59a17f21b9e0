"""Copies: hits that are one network stand in one row, under the name that stands for all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nar.index.rows import Hit

if TYPE_CHECKING:
    from nar.answers.published import Published


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """One network of an answer.

    Attributes:
        hit: Of its names, the one that stands for all.
        copies: Its other names, in their order.
    """

    hit: Hit
    copies: tuple[str, ...] = ()

    @property
    def published(self) -> "Published | None":
        """What was measured of it under one of its names."""
        # It imports pyarrow, which takes longer than an answer whose figures nobody sees.
        from nar.answers.published import figures_of

        return figures_of((self.hit.name, *self.copies))


def one_row_a_network(hits: Sequence[Hit], rows: int, asked: str = "") -> list[NetworkRow]:
    """The first networks of an answer.

    Args:
        hits: Nearest first.
        rows: How many networks at most.
        asked: Name of the query: its own network stands under it.
    """
    networks: dict[str, list[Hit]] = {}
    for hit in hits:
        networks.setdefault(hit.exact, []).append(hit)
    return [_row(hits, asked) for hits in list(networks.values())[:rows]]


def _row(hits: Sequence[Hit], asked: str) -> NetworkRow:
    """One network under the name that was asked, or the first whose family most of them have.

    What another library wraps is of the family of what it wraps.
    """
    counts = Counter(hit.family for hit in hits)
    shown = max(hits, key=lambda hit: (hit.name == asked, counts[hit.family]))
    return NetworkRow(shown, tuple(hit.name for hit in hits if hit is not shown))
