"""Table: what the rows of an index in memory say besides their vectors, column by column."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from nar.index.columns import Column, Mask, Texts, within
from nar.index.filters import Condition, Filter, Range, Wanted
from nar.index.ranking import check_filter
from nar.index.rows import COLUMNS, COUNTS, IndexEntry, IndexRow
from nar.index.terms import Terms, combined

Counts = NDArray[np.int64]

_TEXTS: Final = tuple(column for column in COLUMNS if column not in COUNTS)
# Records that are kept once they were asked for, a kilobyte each: the hits of many searches are
# the same, and to make one of columns takes longer than to find it.
_KEPT: Final = 4_096


class Table:
    """Columns of equal length; they never change.

    Args:
        texts: Every column of texts, by name; ids are distinct.
        counts: Every column of counts, by name, each of shape (rows,).
    """

    def __init__(self, texts: Mapping[str, Column], counts: Mapping[str, Counts]) -> None:
        self._texts, self._counts = texts, counts
        self._made: dict[int, IndexEntry] = {}

    @classmethod
    def of(cls, rows: Sequence[IndexRow]) -> Self:
        """The table of rows."""
        return cls(
            {column: Texts.of(getattr(row, column) for row in rows) for column in _TEXTS},
            {column: _counts(rows, column) for column in COUNTS},
        )

    def __getitem__(self, column: str) -> Column:
        """A column of texts."""
        return self._texts[column]

    def at(self, position: int) -> IndexEntry:
        """What one row says; it is kept for those who ask for it again."""
        entry = self._made.get(position)
        if entry is None:
            entry = self.made(position)
            # Threads that come here at once keep a few more, or make one twice.
            if len(self._made) >= _KEPT:
                self._made.clear()
            self._made[position] = entry
        return entry

    def made(self, position: int) -> IndexEntry:
        """The same for once, as who goes through all rows wants it."""
        texts: dict[str, Any] = {
            column: texts.at(position) for column, texts in self._texts.items()
        }
        counts: dict[str, Any] = {
            column: int(counts[position]) for column, counts in self._counts.items()
        }
        return IndexEntry(**texts | counts)

    def changed(self, kept: Mask, rows: Sequence[IndexRow]) -> Self:
        """The table without some rows, and with others behind them.

        Args:
            kept: Shape (rows,), which rows stay.
            rows: Those that come.
        """
        return type(self)(
            {
                column: texts.changed(kept, [getattr(row, column) for row in rows])
                for column, texts in self._texts.items()
            },
            {
                column: np.concatenate([counts[kept], _counts(rows, column)])
                for column, counts in self._counts.items()
            },
        )

    def equal_any(self, wanted: Mapping[str, Iterable[str]]) -> Mask:
        """Which rows have one of the texts in any of these columns. Shape (rows,)."""
        masks = [self._texts[column].equal_any(values) for column, values in wanted.items()]
        every: Mask = np.logical_or.reduce(masks)
        return every

    def passing(self, wanted: Filter) -> Mask:
        """Which rows pass a filter. Shape (rows,).

        Raises:
            InvalidQueryError: Names the condition at fault.
        """
        check_filter(wanted)
        terms: Terms[Mask] = Terms(
            condition=self._mask,
            every=self._every,
            some=np.logical_or.reduce,
            negated=np.logical_not,
        )
        return combined(wanted, terms)

    def _every(self, masks: Sequence[Mask]) -> Mask:
        """Which rows pass all masks, and all rows if there are none. Shape (rows,)."""
        rows = len(self._counts[COUNTS[0]])
        return np.logical_and.reduce(masks) if masks else np.ones(rows, dtype=np.bool_)

    def _mask(self, condition: Condition, wanted: Wanted) -> Mask:
        """Which rows a condition lets pass. Shape (rows,)."""
        if isinstance(wanted, Range):
            return within(self._counts[condition.column], wanted)
        return self._texts[condition.column].equal_any(wanted)


def _counts(rows: Sequence[IndexRow], column: str) -> Counts:
    return np.array([getattr(row, column) for row in rows], dtype=np.int64)
