"""Conditions as a text that people write: ``team = "vision" and accuracy > 0.8``.

One grammar for the command line, the page, Python and the wire; what comes of it is a `Filter`, so
that no text of a caller ever goes into an expression of a store.

    expression  := conjunction ("or" conjunction)*
    conjunction := factor ("and" factor)*
    factor      := "not" factor | "(" expression ")" | condition
    condition   := key sign value | key ["not"] "in" "(" value ("," value)* ")" | key "exists"
    sign        := "=" | "!=" | "<" | "<=" | ">" | ">="
    value       := "text" | 'text' | word | number | date | true | false

A key is a field of every row (family, task, parameters, ...) or a label of one's own. A number may
end with K, M, G, B or T; a date is 2026-11-30. ``!=`` and ``not`` let rows pass that lack a label.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import date
from functools import cache, reduce
from typing import Any, Final, NamedTuple, NoReturn, cast

from nar.base.errors import InvalidInputError, InvalidQueryError
from nar.base.own_labels import LabelValue, checked_value, kind_of
from nar.index.filters import (
    MAX_INT64,
    Condition,
    Filter,
    LabelCondition,
    Range,
    Sign,
    conditions_of,
)

# Chosen: as long as a list of a thousand short names.
MAX_WHERE_BYTES: Final = 65_536
# Chosen: more than any filter that is deep enough to be refused needs; it bounds recursion.
_MAX_PARENTHESES: Final = 32
# A billion has two letters: parameters are counted in billions (b), operations in giga (g).
_FACTORS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
_FIELD: Final = "where"
_SHOWN: Final = 40  # letters of the text that an error repeats
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<date>\d{4}-\d{2}-\d{2})(?![\w.])
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?P<unit>[kKmMgGbBtT]?)(?![\w.])
    | (?P<word>[A-Za-z_][\w./:@+-]*)
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | '(?P<single>(?:[^'\\]|\\.)*)'
    | (?P<sign>!=|<=|>=|[=<>(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_KEYWORDS: Final = frozenset({"and", "or", "not", "in", "exists"})
_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})


class _Token(NamedTuple):
    """A part of the text.

    Attributes:
        kind: ``word``, ``sign``, ``value``, or ``end``.
        text: As it is written.
        at: Where it begins.
        value: What a value means.
    """

    kind: str
    text: str
    at: int
    value: LabelValue = ""


def parsed(text: str) -> Filter:
    """The filter that a text asks for; an empty text lets everything pass.

    Raises:
        InvalidQueryError: Says at which letter it is at fault, and what was wanted.

    Example:
        >>> parsed("parameters < 30M and not stage = draft").parameters
        Range(minimum=None, maximum=29999999)
        >>> parsed("team = ")
        Traceback (most recent call last):
        ...
        nar.base.errors.InvalidQueryError: where: at letter 8: wanted a value, came the end
    """
    if len(text.encode(errors="replace")) > MAX_WHERE_BYTES:
        raise InvalidQueryError(_FIELD, f"wanted at most {MAX_WHERE_BYTES} bytes, came more")
    tokens = _tokens(text)
    if len(tokens) == 1:
        return Filter()
    reader = _Reader(tokens)
    wanted = reader.expression(0)
    if reader.next.kind != "end":
        reader.refuse("and, or, or the end")
    return wanted


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            came = f"{text[start : start + _SHOWN]!a}"
            reason = f"wanted a key, a sign or a value, came {came}"
            raise InvalidQueryError(_FIELD, f"at letter {start + 1}: {reason}")
        tokens.append(_token(found))
        at = found.end()
    return [*tokens, _Token("end", "the end", len(text))]


def _token(found: "re.Match[str]") -> _Token:
    kind = cast("str", found.lastgroup if found.lastgroup != "unit" else "number")
    text, at = found[kind], found.start(kind)
    if kind in ("word", "sign"):
        return _Token(kind, text, at)
    return _Token("value", text, at, _MEANINGS[kind](found))


def _number(found: "re.Match[str]") -> LabelValue:
    number = float(found["number"]) * _FACTORS[found["unit"].lower()]
    if not math.isfinite(number):
        reason = f"at letter {found.start('number') + 1}: wanted a number that 64 bits can hold"
        raise InvalidQueryError(_FIELD, reason)
    return number


def _date(found: "re.Match[str]") -> LabelValue:
    try:
        return date.fromisoformat(found["date"])
    except ValueError:
        reason = f"at letter {found.start('date') + 1}: wanted a date, came {found['date']}"
        raise InvalidQueryError(_FIELD, reason) from None


_MEANINGS: Final[dict[str, Callable[["re.Match[str]"], LabelValue]]] = {
    "number": _number,
    "date": _date,
    "double": lambda found: _ESCAPED.sub(r"\1", found["double"]),
    "single": lambda found: _ESCAPED.sub(r"\1", found["single"]),
}


class _Reader:
    """Reads tokens from left to right, one function for each rule of the grammar."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> _Token:
        return self._tokens[self._at]

    def refuse(self, wanted: str) -> NoReturn:
        came = self.next.text if self.next.kind == "end" else f"{self.next.text[:_SHOWN]!a}"
        reason = f"at letter {self.next.at + 1}: wanted {wanted}, came {came}"
        raise InvalidQueryError(_FIELD, reason)

    def _take(self, *texts: str) -> bool:
        """Go on if a keyword or a sign is next."""
        token = self.next
        is_it = token.kind in ("word", "sign") and token.text.lower() in texts
        self._at += is_it
        return is_it

    def expression(self, depth: int) -> Filter:
        several = [self._conjunction(depth)]
        while self._take("or"):
            several.append(self._conjunction(depth))
        return several[0] if len(several) == 1 else Filter(any_of=tuple(several))

    def _conjunction(self, depth: int) -> Filter:
        several = [self._factor(depth)]
        while self._take("and"):
            several.append(self._factor(depth))
        return reduce(joined, several)

    def _factor(self, depth: int) -> Filter:
        if depth > _MAX_PARENTHESES:
            self.refuse(f"at most {_MAX_PARENTHESES} parentheses inside each other")
        if self._take("not"):
            return Filter(none_of=(self._factor(depth + 1),))
        if not self._take("("):
            return self._condition()
        inside = self.expression(depth + 1)
        if not self._take(")"):
            self.refuse(")")
        return inside

    def _condition(self) -> Filter:
        key = self.next
        if key.kind != "word" or key.text.lower() in _KEYWORDS:
            self.refuse("a key, such as family or team")
        self._at += 1
        try:
            return self._compared(key.text)
        except InvalidInputError as error:
            if error.field == _FIELD:
                raise
            raise InvalidQueryError(_FIELD, f"at letter {key.at + 1}: {error.reason}") from None

    def _compared(self, key: str) -> Filter:
        if self._take("exists"):
            return _labelled(key, "exists", ())
        is_refused = self._take("not")
        if is_refused or self.next.text.lower() == "in":
            if not self._take("in"):
                self.refuse("in, a list in parentheses")
            wanted = _equal(key, self._list())
            return Filter(none_of=(wanted,)) if is_refused else wanted
        sign = self.next.text
        if self.next.kind != "sign" or sign not in _COMPARISONS:
            self.refuse("one of = != < <= > >=, in, or exists")
        self._at += 1
        value = self._value()
        if sign == "=":
            return _equal(key, (value,))
        if sign == "!=":
            return Filter(none_of=(_equal(key, (value,)),))
        return _ordered(key, cast("Sign", sign), value)

    def _list(self) -> tuple[LabelValue, ...]:
        if not self._take("("):
            self.refuse("( and a list of values")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        if not self._take(")"):
            self.refuse("a comma or )")
        return tuple(values)

    def _value(self) -> LabelValue:
        token = self.next
        if token.kind == "value":
            value = token.value
        elif token.kind == "word" and token.text.lower() not in _KEYWORDS:
            value = token.text == "true" if token.text in ("true", "false") else token.text
        else:
            self.refuse("a value")
        self._at += 1
        return value


@cache
def _columns() -> dict[str, Condition]:
    return {condition.column: condition for condition in conditions_of(Filter)}


def _equal(key: str, values: tuple[LabelValue, ...]) -> Filter:
    column = _columns().get(key)
    if column is None:
        return _labelled(key, "in", values)
    if not column.is_range:
        return _set(column, tuple(_text(key, each) for each in values))
    bounds = [_set(column, Range(each, each)) for each in (_count(key, each) for each in values)]
    return bounds[0] if len(bounds) == 1 else Filter(any_of=tuple(bounds))


def _ordered(key: str, sign: Sign, value: LabelValue) -> Filter:
    column = _columns().get(key)
    if column is None:
        return _labelled(key, sign, (value,))
    if not column.is_range:
        raise InvalidQueryError(key, f"wanted = or in behind {key}, which is a text, came {sign}")
    bound = _count(key, value)
    if sign.startswith(">"):
        return _set(column, Range(minimum=min(bound + (sign == ">"), MAX_INT64)))
    if sign == "<" and bound == 0:
        return Filter(none_of=(Filter(),))
    return _set(column, Range(maximum=bound - (sign == "<")))


def _labelled(key: str, sign: Sign, values: tuple[LabelValue, ...]) -> Filter:
    if key in _columns():
        raise InvalidQueryError(key, f"every row has a {key}: wanted a sign and a value behind it")
    return Filter(labels=(LabelCondition(key, sign, values),))


def _set(column: Condition, value: object) -> Filter:
    given: dict[str, Any] = {column.field: value}
    return Filter(**given)


def _text(key: str, value: LabelValue) -> str:
    if not isinstance(value, str):
        came = f"a {kind_of(checked_value(key, value))}"
        raise InvalidQueryError(key, f"wanted a text behind {key}, came {came}; put it in quotes")
    return value


def _count(key: str, value: LabelValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise InvalidQueryError(key, f"wanted a whole number behind {key}, such as 30M")
    return int(value)


def joined(first: Filter, second: Filter) -> Filter:
    """The rows that pass both of two filters.

    Example:
        >>> small = joined(Filter(families=("vit",)), Filter(parameters=Range(maximum=9)))
        >>> small == Filter(families=("vit",), parameters=Range(maximum=9))
        True
    """
    if first == Filter():
        return second
    set_in_both = {
        each.name
        for each in fields(Filter)
        if getattr(first, each.name) != each.default and getattr(second, each.name) != each.default
    }
    if not set_in_both <= {"labels", "all_of", "none_of"}:
        return replace(first, all_of=(*first.all_of, second))
    added = {
        each.name: getattr(second, each.name)
        for each in fields(Filter)
        if getattr(second, each.name) != each.default
    }
    both = {name: (*getattr(first, name), *added[name]) for name in set_in_both}
    return replace(first, **added | both)
