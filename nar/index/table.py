"""Table: the rows of an index in memory without their vectors, column by column.

A search compares numbers in columns and looks at no row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from nar.base.own_labels import read
from nar.index.filters import (
    Condition,
    Filter,
    LabelCondition,
    Range,
    Terms,
    Wanted,
    combined,
)
from nar.index.ranking import check_filter
from nar.index.rows import (
    COLUMNS,
    COUNTS,
    OWN,
    Hit,
    IndexEntry,
    IndexRow,
    hits_of,
    id_of,
    is_fingerprint,
)

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

# Chosen: texts that no row has any more are dropped when a column has more texts than twice its
# rows and so many more. It trades memory for fewer copies.
_SPARE: Final = 1_000


class Column(Protocol):
    """A column of texts, however it is kept."""

    @property
    def values(self) -> list[str]:
        """The different texts; some may belong only to rows that were deleted."""

    def every(self) -> list[str]:
        """The text of each row."""

    def at(self, position: int) -> str:
        """The text of one row."""

    def take(self, places: Places) -> list[str]:
        """The texts of some rows, in their order. Shape (places,)."""

    def equal_any(self, texts: Iterable[str]) -> Mask:
        """Which rows have any of the texts. Shape (rows,)."""

    def changed(self, kept: Mask, texts: Sequence[str]) -> "Column":
        """The column without some rows, and with new rows behind the others.

        Args:
            kept: Shape (rows,), which rows stay.
            texts: Texts of the new rows.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts as numbers: equal texts have equal numbers.

    Attributes:
        values: The text of each number.
        numbers: The number of each text.
        column: Shape (rows,), the number of each row's text.

    Example:
        >>> families = Texts.of(["resnet", "vit", "resnet"])
        >>> families.equal_any(["resnet", "mlp"]), families.at(1)
        (array([ True, False,  True]), 'vit')
    """

    values: list[str]
    numbers: dict[str, int]
    column: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """The column of the texts of all rows."""
        every = list(texts)
        values = list(dict.fromkeys(every))
        numbers = dict(zip(values, range(len(values)), strict=True))
        column = np.fromiter(map(numbers.__getitem__, every), np.int32, len(every))
        return cls(values, numbers, column)

    def every(self) -> list[str]:
        """See `Column`."""
        return [self.values[number] for number in self.column.tolist()]

    def at(self, position: int) -> str:
        """See `Column`."""
        return self.values[int(self.column[position])]

    def take(self, places: Places) -> list[str]:
        """See `Column`."""
        return [self.values[number] for number in self.column[places].tolist()]

    def equal_any(self, texts: Iterable[str]) -> Mask:
        """See `Column`."""
        return np.isin(self.column, [self.numbers[text] for text in texts if text in self.numbers])

    def changed(self, kept: Mask, texts: Sequence[str]) -> Self:
        """See `Column`."""
        column = self.column[kept]
        if len(self.values) > 2 * (len(column) + len(texts)) + _SPARE:
            return self.of([*(self.values[number] for number in column.tolist()), *texts])
        numbers = dict(self.numbers)
        added = [numbers.setdefault(text, len(numbers)) for text in texts]
        return type(self)(
            list(numbers), numbers, np.concatenate([column, np.array(added, dtype=np.int32)])
        )


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """A column of fingerprints as bytes: few of tens of thousands are ever shown as text.

    Attributes:
        digests: Shape (rows,), 32 bytes each.

    Example:
        >>> column = Fingerprints(np.array([b"a" * 32, b"b" * 32], dtype="V32"))
        >>> column.at(1) == (b"b" * 32).hex(), column.equal_any([column.at(0)])
        (True, array([ True, False]))
    """

    digests: NDArray[np.void]

    @property
    def values(self) -> list[str]:
        """See `Column`."""
        return list(dict.fromkeys(self.every()))

    def every(self) -> list[str]:
        """See `Column`."""
        return [each.hex() for each in self.digests.tolist()]

    def at(self, position: int) -> str:
        """See `Column`."""
        return bytes(self.digests[position]).hex()

    def take(self, places: Places) -> list[str]:
        """See `Column`."""
        return [each.hex() for each in self.digests[places].tolist()]

    def equal_any(self, texts: Iterable[str]) -> Mask:
        """See `Column`."""
        wanted = _digests(filter(is_fingerprint, texts))
        # All have one length, so the zeros that numpy drops at the end do not make two of them
        # equal.
        return np.isin(self.digests.view("S32"), wanted.view("S32"))

    def changed(self, kept: Mask, texts: Sequence[str]) -> Self:
        """See `Column`."""
        return type(self)(np.concatenate([self.digests[kept], _digests(texts)]))


def _digests(texts: Iterable[str]) -> NDArray[np.void]:
    """The bytes of fingerprints. Shape (texts,)."""
    return np.frombuffer(b"".join(map(bytes.fromhex, texts)), dtype="V32")


# Chosen: who asks for so many ids at once will do so again, and all take some 30 ms.
_MANY: Final = 200


@dataclass(frozen=True, eq=False)
class Ids:
    """The column of ids, which are digests of names: all are computed when one is first needed.

    Attributes:
        names: The column of names, each of which can be the name of a row.

    Example:
        >>> from nar.index.rows import architecture_id
        >>> column = Ids(Texts.of(["timm:resnet50"]))
        >>> column.at(0) == architecture_id("timm:resnet50"), column.equal_any([column.at(0)])
        (True, array([ True]))
    """

    names: Texts

    @cached_property
    def _made(self) -> Texts:
        ids = list(map(id_of, self.names.values))
        numbers = {each: number for number, each in enumerate(ids)}
        return Texts(ids, numbers, self.names.column)

    @property
    def values(self) -> list[str]:
        """See `Column`."""
        return self._made.values

    def every(self) -> list[str]:
        """See `Column`."""
        return list(map(id_of, self.names.every()))

    def at(self, position: int) -> str:
        """See `Column`."""
        return id_of(self.names.at(position))

    def take(self, places: Places) -> list[str]:
        """See `Column`."""
        if len(places) < _MANY:
            return list(map(id_of, self.names.take(places)))
        return self._made.take(places)

    def equal_any(self, texts: Iterable[str]) -> Mask:
        """See `Column`."""
        return self._made.equal_any(texts)

    def changed(self, kept: Mask, texts: Sequence[str]) -> Texts:
        """See `Column`."""
        return self._made.changed(kept, texts)


def within(column: NDArray[np.int64], wanted: Range) -> Mask:
    """Which rows lie within both bounds.

    Args:
        column: Shape (rows,).
        wanted: The bounds.

    Example:
        >>> within(np.array([1, 5, 9]), Range(minimum=5))
        array([False,  True,  True])
    """
    mask = np.ones(len(column), dtype=np.bool_)
    if wanted.minimum is not None:
        mask &= column >= wanted.minimum
    if wanted.maximum is not None:
        mask &= column <= wanted.maximum
    return mask


Counts = NDArray[np.int64]

_TEXTS: Final = tuple(column for column in (*COLUMNS, OWN) if column not in COUNTS)


class Table:
    """Columns of equal length; they never change.

    Args:
        texts: Every column of texts, by name, that of own labels only if there are any; ids are
            distinct.
        counts: Every column of counts, by name, each of shape (rows,).
    """

    def __init__(self, texts: Mapping[str, Column], counts: Mapping[str, Counts]) -> None:
        # An atlas has no labels of anybody's own: a column of empty texts.
        none = np.zeros(len(counts[COUNTS[0]]), dtype=np.int32)
        self._texts = {OWN: Texts([""], {"": 0}, none), **texts}
        self._counts = counts

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

    def hits(self, places: Places, scores: Sequence[float]) -> list[Hit]:
        """The hits that some rows are, column by column: a search may have thousands.

        Args:
            places: Shape (hits,), the row of each hit.
            scores: The score of each.
        """
        texts = {column: texts.take(places) for column, texts in self._texts.items()}
        counts = {column: counts[places].tolist() for column, counts in self._counts.items()}
        return hits_of({**texts, **counts, "score": scores})

    def made(self, position: int) -> IndexEntry:
        """The entry of one row."""
        texts: dict[str, Any] = {
            column: texts.at(position) for column, texts in self._texts.items()
        }
        counts: dict[str, Any] = {
            column: int(counts[position]) for column, counts in self._counts.items()
        }
        return IndexEntry(**texts | counts)

    @cached_property
    def by_id(self) -> tuple[NDArray[np.bytes_], Places]:
        """All ids in order, and the position of the row of each; made once they are asked for."""
        ids = np.array(self._texts["id"].every(), dtype="S32")
        positions = np.argsort(ids)
        return ids[positions], positions

    def changed(self, kept: Mask, rows: Sequence[IndexRow]) -> Self:
        """The table without some rows, and with new rows behind the others.

        Args:
            kept: Shape (rows,), which rows stay.
            rows: The new rows.
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

    def passing(self, wanted: Filter) -> Mask:
        """Which rows pass a filter. Shape (rows,).

        Raises:
            InvalidQueryError: Names the condition at fault.
        """
        check_filter(wanted)
        terms: Terms[Mask] = Terms(
            condition=self._mask,
            label=self._labelled,
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

    def _labelled(self, condition: LabelCondition) -> Mask:
        """Which rows a condition on an own label lets pass. Shape (rows,)."""
        column = self._texts[OWN]
        return column.equal_any([own for own in column.values if condition.holds(read(own))])


def _counts(rows: Sequence[IndexRow], column: str) -> Counts:
    return np.array([getattr(row, column) for row in rows], dtype=np.int64)
