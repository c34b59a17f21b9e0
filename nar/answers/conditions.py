"""Conditions that a user writes for hits: lists of names, and a check that values exist."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from nar.base.errors import InvalidInputError
from nar.base.suggestions import close_names
from nar.corpus import Corpus, shipped_corpus
from nar.index.filters import EVERYTHING, Condition, Filter, Range
from nar.index.rows import IndexEntry

# Chosen: an error lists all values of a column up to so many; of more it suggests close ones.
_LISTED: Final = 12
# Chosen: rows in which values close to an unknown one are looked for; one page of an index.
_SAMPLE: Final = 1_000
_LIKE_NOTHING: Final = "nothing in it looks like that; `nar corpus stats` shows what the atlas has"

Page = Callable[[Filter, int], Iterable[IndexEntry]]


class Values(Protocol):
    """What is known of the columns of an index."""

    def has(self, condition: Condition, value: str) -> bool:
        """Whether some row has a value."""

    def known(self, condition: Condition) -> list[str]:
        """Values that some row has; all, or as many as are cheap to find."""


class Columns(Protocol):
    """An index in memory: an `ExactIndex`."""

    def values(self, column: str) -> list[str]:
        """The different texts of a column."""


@dataclass(frozen=True, slots=True)
class MemoryValues:
    """The values of an index in memory, which all are known.

    Attributes:
        index: The index.
    """

    index: Columns

    def has(self, condition: Condition, value: str) -> bool:
        """See `Values`."""
        return value in self.known(condition)

    def known(self, condition: Condition) -> list[str]:
        """See `Values`."""
        return self.index.values(condition.column)


@dataclass(frozen=True, slots=True)
class PagedValues:
    """The values of an index that is asked for a page of rows at a time: a Milvus, or a server.

    The check of a value that exists reads one row. Suggestions for a value that does not exist come
    from the first rows, and from values of another corpus, of which the index need not have all.

    Attributes:
        page: The first rows that a filter lets pass, at most as many as asked for.
        elsewhere: The values of a column in that other corpus.
    """

    page: Page
    elsewhere: Callable[[str], Iterable[str]]

    def has(self, condition: Condition, value: str) -> bool:
        """See `Values`."""
        fields: dict[str, Any] = {condition.field: (value,)}
        return any(True for _ in self.page(Filter(**fields), 1))

    def known(self, condition: Condition) -> list[str]:
        """See `Values`."""
        sample = list(islice(self.page(EVERYTHING, _SAMPLE), _SAMPLE))
        values = {str(getattr(row, condition.column)) for row in sample}
        return sorted(
            values if len(sample) < _SAMPLE else values.union(self.elsewhere(condition.column))
        )


def as_option(condition: Condition) -> str:
    """The option of a condition in a command."""
    return f"--{condition.flag}"


def as_field(condition: Condition) -> str:
    """The field of a condition in Python, where a filter is the argument ``wanted``."""
    return f"wanted.{condition.field}"


def check_values(
    index: Values, wanted: Filter, called: Callable[[Condition], str] = as_option
) -> None:
    """See that some row has each text that a filter wants or does not want.

    Filters in ``all_of`` may name what an index lacks: `--among` brings lists made elsewhere.

    Args:
        index: The values of the index.
        wanted: The filter.
        called: Gives the name of a condition where the filter was written.

    Raises:
        InvalidInputError: Names the condition and the nearest values, or all where there are few.
    """
    for condition, value in _texts(wanted):
        if not index.has(condition, value):
            raise InvalidInputError(called(condition), _unknown(index, condition, value))


def _texts(wanted: Filter) -> Iterator[tuple[Condition, str]]:
    for each in (wanted, *wanted.none_of):
        for condition, values in each.conditions():
            # Fingerprints are not checked: one asks with them whether an index has them.
            is_checked = condition.is_label or condition.column == "name"
            if is_checked and not isinstance(values, Range):
                yield from ((condition, value) for value in values)


def _unknown(index: Values, condition: Condition, value: str) -> str:
    known = index.known(condition)
    near = sorted(known) if len(known) <= _LISTED else close_names(value, known)
    # Values from elsewhere need not be in this index.
    near = [each for each in near if each and index.has(condition, each)]
    hint = f"it has {', '.join(near)}" if near else _LIKE_NOTHING
    return f"the index has no {value!r}; {hint}"


def among(names: Iterable[str], wanted: Filter) -> Filter:
    """A filter that lets pass only some names, besides what it wants.

    Raises:
        InvalidQueryError: There are more names than a filter may have.
    """
    return replace(wanted, all_of=(*wanted.all_of, Filter(names=tuple(names))))


def listed_names(path: Path) -> list[str]:
    """The names in a file, each once, in their order.

    Args:
        path: One name a line; empty lines and what follows a ``#`` after a space are left out.

    Raises:
        InvalidInputError: It cannot be read, or names nothing.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(str(path), f"cannot be read: {error}") from error
    # Not any `#`: it may stand in a name, as it does in a path.
    names = [f" {line}".partition(" #")[0].strip() for line in lines]
    known = list(dict.fromkeys(name for name in names if name))
    if not known:
        raise InvalidInputError(str(path), "wanted names of architectures, one a line; came none")
    return known


def unknown_to_atlas(names: Iterable[str]) -> list[str]:
    """The names that the atlas of the package lacks, in their order."""
    known = {card.labels.name for card in Corpus(shipped_corpus()).cards()}
    return [name for name in names if name not in known]
