"""RowDigests: the ids of the rows of a collection and their digests, in 32 bytes a row.

A dictionary of texts takes 260 bytes a row: for a million rows more than everything else in the
process.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

# Sixteen bytes each, ordered as their hexadecimal digits are.
Keys = NDArray[np.bytes_]

# An id or a digest has 32 hexadecimal digits.
_BYTES: Final = 16
_KIND: Final = np.dtype(f"S{_BYTES}")
# Chosen: rows that were added last wait in a dictionary until they are so many, because sorting
# them in costs as much as sorting all rows.
_WAITING: Final = 65_536


class RowDigests:
    """A digest of 32 hexadecimal digits for each id of as many.

    Args:
        pages: The digests at first, by id; where two pages have the same id, the later page counts.

    Example:
        >>> one, other = 32 * "a", 32 * "b"
        >>> digests = RowDigests([{one: 32 * "1"}])
        >>> digests.add({other: 32 * "2", one: 32 * "3"})
        >>> len(digests), digests.differing({one: 32 * "1", other: 32 * "2"})
        (2, [True, False])
    """

    def __init__(self, pages: Iterable[Mapping[str, str]] = ()) -> None:
        self._keys: Keys = np.empty(0, dtype=_KIND)
        self._digests: Keys = np.empty(0, dtype=_KIND)
        self._waiting: dict[str, str] = {}
        for page in pages:
            self.add(page)

    def __len__(self) -> int:
        """Number of rows."""
        self._sort_in()
        return len(self._keys)

    def add(self, digests: Mapping[str, str]) -> None:
        """Add rows; an id that is there already gets the new digest."""
        self._waiting |= digests
        if len(self._waiting) >= _WAITING:
            self._sort_in()

    def holds(self, ids: Sequence[str]) -> list[bool]:
        """Whether each id has a row."""
        return [place >= 0 for place in self.places(ids).tolist()]

    def differing(self, digests: Mapping[str, str]) -> list[bool]:
        """Whether each row is missing, or has another digest."""
        places = self.places(list(digests))
        wanted = packed(list(digests.values()))
        found = places >= 0
        found[found] = self._digests[places[found]] == wanted[found]
        return [not is_same for is_same in found.tolist()]

    def places(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Number of each row in the order of ids, -1 where there is none; shape (ids,)."""
        self._sort_in()
        wanted = packed(ids)
        places = np.searchsorted(self._keys, wanted)
        inside = places < len(self._keys)
        inside[inside] = self._keys[places[inside]] == wanted[inside]
        return np.where(inside, places, -1)

    def ids(self, places: NDArray[np.intp]) -> list[str]:
        """The ids of rows by their places."""
        content = self._keys[places].tobytes().hex()
        width = 2 * _BYTES
        return [content[start : start + width] for start in range(0, len(content), width)]

    def _sort_in(self) -> None:
        if not self._waiting:
            return
        keys = np.concatenate([packed(list(self._waiting)), self._keys])
        digests = np.concatenate([packed(list(self._waiting.values())), self._digests])
        self._waiting = {}
        # The first of equal keys: what waited is newer.
        self._keys, first = np.unique(keys, return_index=True)
        self._digests = digests[first]


def packed(texts: Sequence[str]) -> Keys:
    """Texts of 32 hexadecimal digits as bytes. Shape (texts,)."""
    return np.frombuffer(bytes.fromhex("".join(texts)), dtype=_KIND)
