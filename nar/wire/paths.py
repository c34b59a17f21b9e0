"""Paths of fields in requests, which errors name."""

from collections.abc import Iterator
from contextlib import contextmanager

from nar.base.errors import InvalidInputError


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put a path before the field of every InvalidInputError that the body raises.

    Example:
        >>> from nar.base.errors import InvalidQueryError
        >>> with at("queries[2]"), at("filter"):
        ...     raise InvalidQueryError("nodes", "wanted a number")
        Traceback (most recent call last):
        ...
        nar.base.errors.InvalidQueryError: queries[2].filter.nodes: wanted a number
    """
    try:
        yield
    except InvalidInputError as error:
        if error.field:
            raise error.under(path) from None
        raise type(error)(path, error.reason) from None
