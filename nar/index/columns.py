"""Columns of the index in memory: what a search compares without a look at any row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from nar.index.filters import Range

Mask = NDArray[np.bool_]

# Texts that no row has any more are kept until they are as many as the rows and so many more.
_SPARE: Final = 1_000


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
        numbers: dict[str, int] = {}
        column = [numbers.setdefault(text, len(numbers)) for text in texts]
        return cls(list(numbers), numbers, np.array(column, dtype=np.int32))

    def at(self, position: int) -> str:
        """The text of one row."""
        return self.values[int(self.column[position])]

    def equal_any(self, texts: Iterable[str]) -> Mask:
        """Which rows have one of the texts. Shape (rows,)."""
        return np.isin(self.column, [self.numbers[text] for text in texts if text in self.numbers])

    def changed(self, kept: Mask, texts: Sequence[str]) -> Self:
        """The column without some rows, and with others behind them.

        Args:
            kept: Shape (rows,), which rows stay.
            texts: Those of the rows that come.
        """
        column = self.column[kept]
        if len(self.values) > 2 * (len(column) + len(texts)) + _SPARE:
            return self.of([*(self.values[number] for number in column.tolist()), *texts])
        numbers = dict(self.numbers)
        added = [numbers.setdefault(text, len(numbers)) for text in texts]
        return type(self)(
            list(numbers), numbers, np.concatenate([column, np.array(added, dtype=np.int32)])
        )


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
