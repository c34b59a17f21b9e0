"""Ranges of ids: they are hashes, so rows lie evenly over all that there may be."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

ALL_IDS: Final = 16**32
# Above every id: no digit is as large.
END_OF_IDS: Final = "g"


def id_ranges(rows: int, page_rows: int) -> Iterator[tuple[str, str]]:
    """Ranges that have about so many rows each.

    Args:
        rows: How many there are in all.
        page_rows: How many a range should have.

    Yields:
        The first id of a range, and the first one behind it.

    Example:
        >>> [(low[0], end[0]) for low, end in id_ranges(2_000, 500)]
        [('0', '4'), ('4', '8'), ('8', 'c'), ('c', 'g')]
    """
    pages = -(-rows // page_rows) or 1
    return pairwise([*(f"{number * ALL_IDS // pages:032x}" for number in range(pages)), END_OF_IDS])
