"""Filters as messages, both ways: the fields of both are rows of one table, and the groups."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from nar.base.errors import InvalidQueryError, at
from nar.index.filters import (
    EVERYTHING,
    GROUPS,
    Condition,
    Filter,
    Range,
    Wanted,
    check_size,
    conditions_of,
    lists_of,
)
from nar.v1 import retrieval_pb2

_BOUNDS: Final = ("minimum", "maximum")

Kind = TypeVar("Kind", bound=Filter)


def decode_filter(message: retrieval_pb2.Filter) -> Filter:
    """The filter of a message.

    Raises:
        InvalidQueryError: It is too large, or sets a condition that this version does not know; to
            pass over that would return what the caller does not want. Its field is a path from the
            message: ``any_of[1].nodes``.
    """
    return decode_kind(message, Filter) if message.ByteSize() else EVERYTHING


def encode_filter(wanted: Filter) -> retrieval_pb2.Filter:
    """The message of a filter.

    Example:
        >>> small_or_vit = (Filter(families=("vit",)), Filter(nodes=Range(maximum=9)))
        >>> message = encode_filter(Filter(any_of=small_or_vit))
        >>> message.any_of[0].families, message.any_of[1].nodes.maximum
        (['vit'], 9)
        >>> decode_filter(message) == Filter(any_of=small_or_vit)
        True
    """
    return retrieval_pb2.Filter(**filter_fields(wanted))


def decode_kind(message: Message, kind: type[Kind]) -> Kind:
    """The filter of a message of the form of some kind of filter; see `decode_filter`."""
    check_size(message, lists_of(kind))
    return _decoded(message, kind)


def filter_fields(wanted: Filter) -> dict[str, Any]:
    """The fields that the message of a filter sets, as its constructor takes them."""
    fields: dict[str, Any] = {
        condition.field: _encode_wanted(value) for condition, value in wanted.conditions()
    }
    for group in GROUPS:
        fields[group] = [filter_fields(each) for each in getattr(wanted, group)]
    return fields


def _decoded(message: Message, kind: type[Kind]) -> Kind:
    conditions = conditions_of(kind)
    _check_known(message, conditions)
    fields: dict[str, Any] = {
        condition.field: _decode_wanted(condition, getattr(message, condition.field))
        for condition in conditions
    }
    for group in GROUPS:
        fields[group] = _decode_group(message, group, kind)
    return kind(**fields)


def _check_known(message: Message, conditions: Sequence[Condition]) -> None:
    """Refuse a condition that is not in the table."""
    known = [condition.field for condition in conditions]
    named = {field.name for field, _ in message.ListFields()}
    unknown = UnknownFieldSet(message)
    unnamed = {f"field {unknown[number].field_number}" for number in range(len(unknown))}
    strange = sorted(unnamed | named.difference(known, GROUPS))
    if strange:
        reason = f"wanted conditions on {', '.join(known)}, came also {', '.join(strange)}"
        raise InvalidQueryError("", f"{reason}; leave it out, or ask a server of a newer version")


def _decode_group(message: Message, group: str, kind: type[Kind]) -> tuple[Kind, ...]:
    several = []
    for position, each in enumerate(getattr(message, group)):
        with at(f"{group}[{position}]"):
            several.append(_decoded(each, kind))
    return tuple(several)


def _decode_wanted(condition: Condition, sent: Any) -> Wanted:  # noqa: ANN401 -- no common type
    if not condition.is_range:
        return tuple(sent)
    return Range(**{name: getattr(sent, name) for name in _BOUNDS if sent.HasField(name)})


def _encode_wanted(wanted: Wanted) -> list[str] | dict[str, int]:
    if not isinstance(wanted, Range):
        return list(wanted)
    bounds = {name: getattr(wanted, name) for name in _BOUNDS}
    return {name: bound for name, bound in bounds.items() if bound is not None}
