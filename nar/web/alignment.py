"""Two models side by side: their drawn nodes aligned by what they are, never by names."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final

from nar.web.views import ModelView

# Aligning takes the product of both lengths where few are alike.
_MOST: Final = 4_000


@dataclass(frozen=True, slots=True)
class Row:
    """What stands beside each other.

    Attributes:
        first: Position among the drawn nodes of the first model; None for a gap.
        second: The same of the second.
    """

    first: int | None
    second: int | None


def aligned(first: ModelView, second: ModelView) -> tuple[Row, ...]:
    """Rows that hold every drawn node of both, each in the order of its model.

    Nodes of one motif type stand beside each other where the order allows it; between them, what
    one model has in the place of what the other has.

    Example:
        >>> [(row.first, row.second) for row in _rows([(0, 0, 1), (2, 1, 1), (3, 2, 0)])]
        [(0, 0), (1, None), (2, 1)]
    """
    left, right = _codes(first), _codes(second)
    if max(len(left), len(right)) > _MOST:
        return tuple(_beside(0, len(left), 0, len(right)))
    matches = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return tuple(_rows([(match.a, match.b, match.size) for match in matches]))


def _codes(view: ModelView) -> list[str]:
    return [view.motifs[node.kind].code for node in view.drawn]


def _rows(matches: list[tuple[int, int, int]]) -> Iterator[Row]:
    left = right = 0
    for at_left, at_right, size in matches:
        yield from _beside(left, at_left, right, at_right)
        yield from (Row(at_left + each, at_right + each) for each in range(size))
        left, right = at_left + size, at_right + size


def _beside(left: int, left_end: int, right: int, right_end: int) -> Iterator[Row]:
    """What has no counterpart, in the order of each model; the longer stretch meets gaps."""
    pairs = zip_longest(range(left, left_end), range(right, right_end))
    return (Row(first, second) for first, second in pairs)
