"""A table that has less in it where there is less room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

# A table is measured as if there were no end of columns.
ENDLESS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that is made for the width that it gets.

    Attributes:
        tables: Makes it for a number of columns, with less and less in it: the first that fits is
            shown, or else the last.
    """

    tables: Callable[[int], Sequence[Table]]

    @property
    def whole(self) -> Table:
        """The table with everything in it, for who has all the room."""
        return self.tables(ENDLESS)[0]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        *larger, smallest = self.tables(options.max_width)
        wide = options.update(width=ENDLESS)
        widths = [console.measure(table, options=wide).maximum for table in larger]
        fit = (
            table for table, width in zip(larger, widths, strict=True) if width <= options.max_width
        )
        yield next(fit, smallest)
