"""Filters in filters: which groups of them a filter may have, how many in all, and how deep."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from nar.base.errors import InvalidQueryError

# Fields of a filter, and of its message on the wire, that hold filters.
GROUPS: Final = ("all_of", "any_of", "none_of")
MAX_FILTERS: Final = 64
MAX_DEPTH: Final = 8
# One list of 10,000 texts, or several that have as many together: 576,000, as 64 filters could have
# without this bound, take a Milvus server more than a minute.
MAX_VALUES: Final = 10_000

Nested = TypeVar("Nested")


def nested(wanted: Nested) -> Iterator[tuple[str, Nested]]:
    """A filter or its message, and all that are in it, each with its path; it comes before them.

    Args:
        wanted: Has the fields of ``GROUPS``.

    Raises:
        InvalidQueryError: They are more than ``MAX_FILTERS``, or deeper than ``MAX_DEPTH``; what is
            beyond is not looked at.

    Example:
        >>> from nar.index.filters import Filter
        >>> wanted = Filter(any_of=(Filter(), Filter(none_of=(Filter(),))))
        >>> sorted(path for path, _ in nested(wanted))
        ['', 'any_of[0]', 'any_of[1]', 'any_of[1].none_of[0]']
    """
    pending = [("", wanted, 1)]
    number = 1
    while pending:
        path, one, depth = pending.pop()
        yield path, one
        for group in GROUPS:
            several: Sequence[Nested] = getattr(one, group)
            if not several:
                continue
            at = below(path, group)
            number += len(several)
            if number > MAX_FILTERS:
                reason = f"wanted at most {MAX_FILTERS} filters, nested ones counted, came more"
                raise InvalidQueryError(at, reason)
            if depth == MAX_DEPTH:
                raise InvalidQueryError(at, f"wanted filters at most {MAX_DEPTH} deep, came deeper")
            for position, each in enumerate(several):
                pending.append((f"{at}[{position}]", each, depth + 1))


def check_size(wanted: object, lists: Sequence[str]) -> None:
    """Refuse a filter that would cost too much, before anything is made of it.

    Args:
        wanted: A filter or its message.
        lists: Its fields that hold lists of texts.

    Raises:
        InvalidQueryError: Too many filters, or too deep, or too many texts in all of them together.
    """
    number = 0
    for path, one in nested(wanted):
        for each in lists:
            number += len(getattr(one, each))
            if number > MAX_VALUES:
                reason = f"wanted at most {MAX_VALUES} texts in a filter with all in it, came more"
                raise InvalidQueryError(below(path, each), reason)


def below(path: str, field: str) -> str:
    """The path of a field of the filter at a path.

    Example:
        >>> below("any_of[1]", "nodes"), below("", "nodes")
        ('any_of[1].nodes', 'nodes')
    """
    return f"{path}.{field}" if path else field
