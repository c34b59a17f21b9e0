"""What capture says of a model beside its graph, as messages, both ways: assumed, and not read."""

from collections.abc import Mapping
from typing import Final

from nar.base.errors import InvalidQueryError
from nar.graphs.assumed import Assumed, AssumedValue, Count, Unread
from nar.index.filters import MAX_VALUE_BYTES, text_fault
from nar.v1 import retrieval_pb2 as wire

# Chosen: a model of many values has some tens; the answer says all of them again.
MAX_TEXTS: Final = 1_000
_TEXTS: Final = ("inputs", "doubts", "stand_ins", "skipped", "notes")
_OF_VALUES: Final = ("name", "value", "place")
_CUT: Final = " ..."
_COUNTS: Final = ("unknown", "cut", "facts")
_MAX_COUNT: Final = 2**32 - 1  # of a uint32


def encode_assumed(assumed: Assumed) -> wire.Assumed:
    """The message of what was assumed; texts that are longer than a message may have are cut."""
    texts = {field: [_fitting(text) for text in getattr(assumed, field)] for field in _TEXTS}
    return wire.Assumed(
        weights_reached=assumed.weights_reached,
        sizes_matter=assumed.sizes_matter,
        is_sure=assumed.is_sure,
        values=[
            {field: _fitting(getattr(value, field)) for field in _OF_VALUES}
            for value in assumed.values
        ],
        **texts,
    )


def decode_assumed(message: wire.Assumed) -> Assumed:
    """What was assumed, by a message.

    Raises:
        InvalidQueryError: Its field is a path from the message: ``values[3].place``.
    """
    _check(message)
    return Assumed(
        inputs=tuple(message.inputs),
        weights_reached=message.weights_reached if message.HasField("weights_reached") else None,
        sizes_matter=message.sizes_matter if message.HasField("sizes_matter") else None,
        is_sure=message.is_sure,
        doubts=tuple(message.doubts),
        values=tuple(AssumedValue(each.name, each.value, each.place) for each in message.values),
        stand_ins=tuple(message.stand_ins),
        skipped=tuple(message.skipped),
        notes=tuple(message.notes),
    )


def _check(message: wire.Assumed) -> None:
    if not 0 <= message.weights_reached <= 1:
        raise InvalidQueryError("weights_reached", f"wanted 0 to 1, came {message.weights_reached}")
    texts = {
        f"{field}[{position}]": text
        for field in _TEXTS
        for position, text in enumerate(getattr(message, field))
    }
    texts |= {
        f"values[{position}].{field}": getattr(value, field)
        for position, value in enumerate(message.values)
        for field in _OF_VALUES
    }
    _check_texts(texts)


def encode_unread(unread: Unread) -> wire.Unread:
    """The message of what was not read; names beyond the most frequent are left out."""
    most = MAX_TEXTS // (len(_COUNTS) + 1)
    counts = {
        field: [
            {"name": _fitting(each.name), "times": min(each.times, _MAX_COUNT)}
            for each in getattr(unread, field)[:most]
        ]
        for field in _COUNTS
    }
    return wire.Unread(
        operators=unread.operators,
        lost=unread.lost,
        parameters=unread.parameters,
        without=[_fitting(text) for text in unread.without[:most]],
        **counts,
    )


def decode_unread(message: wire.Unread) -> Unread:
    """What was not read, by a message.

    Raises:
        InvalidQueryError: Its field is a path from the message: ``unknown[3].name``.
    """
    _check_texts(
        {
            f"{field}[{position}].name": count.name
            for field in _COUNTS
            for position, count in enumerate(getattr(message, field))
        }
        | {f"without[{position}]": text for position, text in enumerate(message.without)}
    )
    unknown, cut, facts = (
        tuple(Count(each.name, each.times) for each in getattr(message, field)) for field in _COUNTS
    )
    return Unread(
        unknown=unknown,
        operators=message.operators,
        cut=cut,
        lost=message.lost,
        parameters=message.parameters,
        facts=facts,
        without=tuple(message.without),
    )


def _check_texts(texts: Mapping[str, str]) -> None:
    if len(texts) > MAX_TEXTS:
        raise InvalidQueryError("", f"wanted at most {MAX_TEXTS} texts, came {len(texts)}")
    for path, text in texts.items():
        if fault := text_fault(text, MAX_VALUE_BYTES):
            raise InvalidQueryError(path, fault)


def _fitting(text: str) -> str:
    """The text, or as much of it as a message may have.

    Example:
        >>> len(_fitting("x" * 5_000))
        4096
    """
    written = text.encode(errors="replace")
    if len(written) <= MAX_VALUE_BYTES:
        return written.decode()
    return written[: MAX_VALUE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT
