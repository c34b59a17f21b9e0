"""Results of items, as a client gives them: a record, or the error that the status says."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from google.rpc.status_pb2 import Status

from nar.base.errors import InvalidQueryError, NarError
from nar.client.remote import error_of_status


class Answered(Protocol):
    """The result of one item of a call."""

    @property
    def status(self) -> Status:
        """How the item fared."""


Result = TypeVar("Result", bound=Answered)
Record = TypeVar("Record")


def outcomes(
    field: str, results: Sequence[Result], decode: Callable[[Result], Record], *, start: int
) -> Iterator[Record | NarError]:
    """What became of the items of one of several calls.

    Args:
        field: What the items are in the request.
        results: Of this call.
        decode: Makes the record of a result that is OK.
        start: How many items other calls had before: errors count from the first of all.
    """
    for position, result in enumerate(results):
        if not result.status.code:
            yield decode(result)
            continue
        error = error_of_status(result.status)
        if isinstance(error, InvalidQueryError):
            below = error.field.removeprefix(f"{field}[{position}]")
            error = InvalidQueryError(f"{field}[{start + position}]{below}", error.reason)
        yield error


def value(outcome: Record | NarError) -> Record:
    """The record.

    Raises:
        NarError: The outcome is one.
    """
    if isinstance(outcome, NarError):
        raise outcome
    return outcome
