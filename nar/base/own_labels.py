"""Labels of a user's own: any key with a text, a number, a date or a boolean, kept as one text.

They travel as JSON in one form, so that equal labels are equal texts, in an index, in a corpus and
in a digest. A text of the form ``2026-11-30`` is a date, wherever it comes from.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final

from nar.base.errors import InvalidInputError

LabelValue = str | float | bool | date

# Chosen, as the bounds below: several times what registries of models ask for. All labels of a row
# then fit into what an answer of many hits may carry.
MAX_LABELS: Final = 64
MAX_KEY_BYTES: Final = 64  # of a key
MAX_LABEL_BYTES: Final = 1_024  # of a value, in its JSON
MAX_LABELS_BYTES: Final = 8_192  # of all labels of a row, as they are stored
# Of C0, DEL and C1, ends of lines and paragraphs, and what turns the direction of text: in a
# terminal a name would move the cursor or write the clipboard, in a list look like another name.
CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# What stands in a row or on a card anyway, and words of the grammar of conditions: none of them can
# be a key.
RESERVED: Final = frozenset(
    [
        "id",
        "name",
        "source",
        "library",
        "family",
        "block",
        "task",
        "tier",
        "parameters",
        "flops",
        "nodes",
        "topology",
        "exact",
        "inference",
        "own",
        "labels",
        "score",
        "kind",
        "norm",
        "activation",
        "mlp",
        "attention",
        "positions",
        "and",
        "or",
        "not",
        "in",
        "exists",
        "true",
        "false",
    ]
)
# Of these labels a row has columns: they may be set beside labels of one's own.
COLUMN_KEYS: Final = ("family", "task")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Chosen: rows of one team share their labels, and a list of hits shows the same few again.
_KEPT: Final = 4_096


def kind_of(value: LabelValue) -> str:
    """Which kind a value is: values of different kinds are never equal.

    Example:
        >>> kind_of(True), kind_of(1.0), kind_of("1"), kind_of(date(2026, 11, 30))
        ('flag', 'number', 'text', 'date')
    """
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, str):
        return "text"
    return "date" if isinstance(value, date) else "number"


def checked_key(key: object) -> str:
    """The key of a label, if it can be one.

    Raises:
        InvalidInputError: It cannot; its field is ``labels``.
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key) or len(key) > MAX_KEY_BYTES:
        reason = f"wanted a key of at most {MAX_KEY_BYTES} letters, digits and _, came {key!a:.80}"
        raise InvalidInputError("labels", reason)
    if key.lower() in RESERVED:
        reason = f"{key!r} is a field of every row or a word of conditions; choose another key"
        raise InvalidInputError("labels", reason)
    return key


def checked_value(field: str, value: object) -> LabelValue:
    """The value of a label in its one form: numbers as floats, texts of dates as dates.

    Args:
        field: What the caller calls it.
        value: What came.

    Raises:
        InvalidInputError: It is of no kind that a label has, or too long; names the field.

    Example:
        >>> checked_value("labels.accuracy", 1), checked_value("labels.since", "2026-11-30")
        (1.0, datetime.date(2026, 11, 30))
    """
    if isinstance(value, bool) or type(value) is date:
        return value
    if isinstance(value, int | float):
        return _checked_number(field, value)
    if not isinstance(value, str):
        came = type(value).__name__
        raise InvalidInputError(field, f"wanted a text, a number, a date or a boolean, came {came}")
    return _date_in(value) or _checked_text(field, value)


def _checked_number(field: str, value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number != value:
        raise InvalidInputError(field, f"wanted a number that 64 bits can hold, came {value!s:.80}")
    return number + 0.0  # so that -0.0 is 0.0


def _checked_text(field: str, value: str) -> str:
    if _SURROGATE.search(value):
        reason = "wanted text that UTF-8 can carry, came a lone surrogate"
        raise InvalidInputError(field, reason)
    if found := CONTROLS.search(value):
        raise InvalidInputError(field, f"wanted no control characters, came {found[0]!a}")
    size = len(value.encode())
    if size > MAX_LABEL_BYTES:
        raise InvalidInputError(field, f"wanted at most {MAX_LABEL_BYTES} bytes, came {size}")
    return value


def _date_in(text: str) -> date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def written(labels: Mapping[str, object]) -> str:
    """Labels as the text that is kept: JSON, by key; empty where there are none.

    Raises:
        InvalidInputError: A key or value cannot be one, or they are too many or too long.

    Example:
        >>> written({"team": "vision", "accuracy": 1, "since": date(2026, 11, 30)})
        '{"accuracy":1.0,"since":"2026-11-30","team":"vision"}'
    """
    if len(labels) > MAX_LABELS:
        raise InvalidInputError("labels", f"wanted at most {MAX_LABELS} labels, came {len(labels)}")
    values = {
        checked_key(key): checked_value(f"labels.{key}", each) for key, each in labels.items()
    }
    if not values:
        return ""
    texts = {key: str(each) if type(each) is date else each for key, each in values.items()}
    text = json.dumps(texts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > MAX_LABELS_BYTES:
        reason = f"wanted at most {MAX_LABELS_BYTES} bytes together, came {len(text.encode())}"
        raise InvalidInputError("labels", reason)
    return text


@lru_cache(maxsize=_KEPT)
def read(text: str) -> Mapping[str, LabelValue]:
    """The labels of a text of `written`; nobody may change what comes.

    Raises:
        InvalidInputError: It is no such text.

    Example:
        >>> read('{"since":"2026-11-30","stable":true}')
        {'since': datetime.date(2026, 11, 30), 'stable': True}
    """
    try:
        content = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("labels", f"wanted JSON, came {text!r:.80}") from error
    if not isinstance(content, dict):
        raise InvalidInputError("labels", f"wanted an object, came {text!r:.80}")
    return {key: checked_value(f"labels.{key}", value) for key, value in content.items()}


def changed(text: str, labels: Mapping[str, object], removed: frozenset[str] | set[str]) -> str:
    """The labels of a text with some set and some taken away."""
    kept = {key: value for key, value in read(text).items() if key not in removed}
    return written({**kept, **labels})


def shown(value: LabelValue) -> str:
    """A value as people write it.

    Example:
        >>> shown(True), shown(3.0), shown(0.93), shown(date(2026, 11, 30))
        ('true', '3', '0.93', '2026-11-30')
    """
    if isinstance(value, bool):
        return str(value).lower()
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value)) if isinstance(value, float) and is_whole else str(value)


def typed(text: str) -> LabelValue:
    """The value that a person writes on a command line; a text in quotes stays a text.

    Raises:
        InvalidInputError: It cannot be the value of a label.

    Example:
        >>> typed("0.93"), typed("true"), typed("vision"), typed('"42"')
        (0.93, True, 'vision', '42')
    """
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return checked_value("labels", float(text))
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return checked_value("labels", text[1:-1] if is_quoted else text)


def as_json(text: str) -> dict[str, object]:
    """The labels of a text as JSON has them: dates as texts."""
    return {key: str(each) if type(each) is date else each for key, each in read(text).items()}


def reported(record: Mapping[str, object]) -> dict[str, object]:
    """The fields of a record for a program, its own labels as an object under ``labels``."""
    others = {name: value for name, value in record.items() if name != "own"}
    return {**others, "labels": as_json(str(record["own"]))}
