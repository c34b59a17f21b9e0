"""RowDigests: the ids of the rows of a collection and their digests, in 40 bytes a row.

A dictionary of texts takes 260 bytes a row: for a million rows more than everything else in the
process. Processes send each other ids and digests as `packed_rows`.
"""

import math
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

# An id or a digest has 32 hexadecimal digits, and a row has both in bytes.
_DIGITS: Final = 32
ROW_BYTES: Final = 32  # 16 of the id, 16 of the digest
# Chosen: so many parts of the ids are sorted apart, by their first digit. One part is copied at a
# time when rows are sorted in: 2 of the 32 bytes of a row.
_PARTS: Final = 16
_PART_BITS: Final = np.uint64(60)
# Chosen: rows that were added last wait until they are so many, and so large a share of all. So a
# row is copied 16 times while the number of rows doubles. Measured with 8 million rows: 1.0 us and
# 39.5 bytes a row at the peak; half the share takes 1.5 us and 36.5 bytes.
_WAITING: Final = 65_536
_SHARE: Final = 16  # of all rows, one in so many


@dataclass(slots=True)
class _Rows:
    """Rows in the order of their ids.

    Attributes:
        high: The first eight bytes of each id, as a number. Shape (rows,).
        low: The last eight. Shape (rows,).
        digests: The digests. Shape (rows, 2).
    """

    high: Words
    low: Words
    digests: Words

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, chosen: "slice | NDArray[np.intp] | NDArray[np.bool_]") -> "_Rows":
        return _Rows(self.high[chosen], self.low[chosen], self.digests[chosen])

    def places(self, high: Words, low: Words) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Where each id stands, or would stand, and whether it is there."""
        at = np.searchsorted(self.high, high)
        if not len(self):
            return at, np.zeros(len(at), dtype=np.bool_)
        inside = at < len(self)
        while True:
            held = np.minimum(at, len(self) - 1)
            is_before = inside & (self.high[held] == high) & (self.low[held] < low)
            if not is_before.any():
                return at, inside & (self.high[held] == high) & (self.low[held] == low)
            # Ids with the same first half, which hashes hardly ever are.
            at = at + is_before
            inside = at < len(self)

    def sort_in(self, rows: "_Rows") -> None:
        """Sort in rows, which are in order; an id that is there gets the new digest."""
        at, is_there = self.places(rows.high, rows.low)
        self.digests[at[is_there]] = rows.digests[is_there]
        new, at = rows[~is_there], at[~is_there]
        is_new = np.zeros(len(self) + len(new), dtype=np.bool_)
        is_new[at + np.arange(len(new))] = True
        is_old = ~is_new
        for name in ("high", "low", "digests"):
            old: Words = getattr(self, name)
            both = _room(len(is_new), *old.shape[1:])
            both[is_old], both[is_new] = old, getattr(new, name)
            setattr(self, name, both)


def _room(*shape: int) -> Words:
    """An array with a mapping of memory of its own, which goes back to the system.

    Arrays that grow leave holes in the heap of a process that none of them fits into: measured, 8
    bytes a row.
    """
    count = math.prod(shape)
    memory = mmap.mmap(-1, 8 * max(count, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, dtype=np.uint64, count=count).reshape(shape)


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
        self._parts = [_unpacked(bytearray()) for _ in range(_PARTS)]
        self._waiting: list[bytes] = []
        self._waiting_rows = 0
        self._sorted_rows = 0
        for page in pages:
            self.add(page)

    def __len__(self) -> int:
        """Number of rows."""
        self._sort_in()
        return self._sorted_rows

    def add(self, digests: Mapping[str, str]) -> None:
        """Add rows; an id that is there already gets the new digest."""
        self.add_packed(packed_rows(digests))

    def add_packed(self, rows: bytes) -> None:
        """Add rows as `packed_rows` gives them; an id that is there gets the new digest."""
        self._waiting.append(rows)
        self._waiting_rows += len(rows) // ROW_BYTES
        if self._waiting_rows >= max(_WAITING, self._sorted_rows // _SHARE):
            self._sort_in()

    def without(self, ids: Sequence[str]) -> "RowDigests":
        """The other rows, without those of some ids."""
        is_left = np.ones(len(self), dtype=np.bool_)
        places = self.places(ids)
        is_left[places[places >= 0]] = False
        left = RowDigests()
        for number, (part, chosen) in enumerate(self._parts_with(is_left)):
            left._parts[number] = part[chosen]
        left._sorted_rows = int(is_left.sum())
        return left

    def beside(self, *others: "RowDigests") -> list[str]:
        """The ids that none of some other rows have."""
        is_alone = np.ones(len(self), dtype=np.bool_)
        for other in others:
            other._sort_in()
            for (part, alone), known in zip(self._parts_with(is_alone), other._parts, strict=True):
                alone &= ~known.places(part.high, part.low)[1]
        return self.ids(np.flatnonzero(is_alone))

    def _parts_with(self, flags: NDArray[np.bool_]) -> Iterator[tuple[_Rows, NDArray[np.bool_]]]:
        """Each part with the flags of its rows."""
        ends = np.cumsum([len(part) for part in self._parts])
        return zip(self._parts, np.split(flags, ends[:-1]), strict=True)

    def holds(self, ids: Sequence[str]) -> list[bool]:
        """Whether each id has a row."""
        return [place >= 0 for place in self.places(ids).tolist()]

    def differing(self, digests: Mapping[str, str]) -> list[bool]:
        """Whether each row is missing, or has another digest."""
        return [not is_same for is_same in self.compared(packed_rows(digests))[1].tolist()]

    def places(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Number of each row in the order of ids, -1 where there is none; shape (ids,)."""
        anything = "0" * _DIGITS
        return self.compared(bytes.fromhex("".join(f"{each}{anything}" for each in ids)))[0]

    def compared(self, rows: bytes) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Rows as `packed_rows` gives them, compared with those that are here.

        Returns:
            Number of each row in the order of ids, -1 where there is none; and whether it is there
            with this digest. Shape (rows,) each.
        """
        self._sort_in()
        asked = _unpacked(rows)
        # In their order, for what is near in memory is found faster.
        order = np.argsort(asked.high)
        asked = asked[order]
        places = np.full(len(asked), -1, dtype=np.intp)
        is_same = np.zeros(len(asked), dtype=np.bool_)
        before = 0
        for part, chosen in zip(self._parts, _by_part(asked), strict=True):
            of_part = asked[chosen]
            if len(of_part):
                at, is_there = part.places(of_part.high, of_part.low)
                found = order[chosen][is_there]
                at = at[is_there]
                places[found] = before + at
                is_same[found] = (part.digests[at] == of_part.digests[is_there]).all(axis=1)
            before += len(part)
        return places, is_same

    def ids(self, places: NDArray[np.intp]) -> list[str]:
        """The ids of rows by their places."""
        self._sort_in()
        ends = np.cumsum([len(part) for part in self._parts])
        halves = np.empty((len(places), 2), dtype=">u8")
        number = np.searchsorted(ends, places, side="right")
        for at in np.unique(number).tolist():
            part, chosen = self._parts[at], number == at
            inside = places[chosen] - (ends[at] - len(part))
            halves[chosen] = np.stack([part.high[inside], part.low[inside]], axis=1)
        content, width = halves.tobytes().hex(), _DIGITS
        return [content[start : start + width] for start in range(0, len(content), width)]

    def _sort_in(self) -> None:
        if not self._waiting:
            return
        waiting = b"".join(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        rows = _in_order(_unpacked(waiting))
        for part, chosen in zip(self._parts, _by_part(rows), strict=True):
            part.sort_in(rows[chosen])
        self._sorted_rows = sum(map(len, self._parts))


def packed_rows(digests: Mapping[str, str]) -> bytes:
    """Ids and their digests, of 32 hexadecimal digits each, in 32 bytes a row.

    Example:
        >>> packed_rows({32 * "a": 32 * "1"})[15:17].hex()
        'aa11'
    """
    return bytes.fromhex("".join(text for row in digests.items() for text in row))


def _unpacked(rows: bytes | bytearray) -> _Rows:
    # As big-endian numbers ids are ordered as their hexadecimal digits are.
    ids = np.frombuffer(rows, dtype=">u8").reshape(-1, 4)
    digests = np.frombuffer(rows, dtype=np.uint64).reshape(-1, 4)[:, 2:]
    return _Rows(ids[:, 0].astype(np.uint64), ids[:, 1].astype(np.uint64), digests)


def _in_order(rows: _Rows) -> _Rows:
    """Rows in the order of their ids; of equal ids the last counts."""
    order = np.argsort(rows.high, kind="stable")
    high = rows.high[order]
    if (high[1:] == high[:-1]).any():
        order = np.lexsort((rows.low, rows.high))
    rows = rows[order]
    is_last = np.ones(len(rows), dtype=np.bool_)
    is_last[:-1] = (rows.high[1:] != rows.high[:-1]) | (rows.low[1:] != rows.low[:-1])
    return rows[is_last]


def _by_part(rows: _Rows) -> Iterator[slice]:
    """Where the rows of each part of the ids lie, of rows in the order of their ids."""
    firsts = np.arange(1, _PARTS, dtype=np.uint64) << _PART_BITS
    ends = [0, *np.searchsorted(rows.high, firsts).tolist(), len(rows)]
    return (slice(low, high) for low, high in pairwise(ends))
