"""Checks that a filter asks for what exists: a misspelt family is no family without hits."""

from typing import Final

from nar.corpus.suggestions import close_names
from nar.errors import InvalidInputError
from nar.index.exact import ExactIndex
from nar.index.filters import Filter, Range

# Of fingerprints an index may well have none.
_CHECKED: Final = {"name", "source", "library", "family", "block", "task"}
_LISTED: Final = 12


def check_values(index: ExactIndex, wanted: Filter) -> None:
    """See that some row has each text that a filter wants or does not want.

    Filters in ``all_of`` may name what an index lacks: `--among` brings lists of others.

    Raises:
        InvalidInputError: Names the option; the nearest values are given, or all if they are few.
    """
    for each in (wanted, *wanted.none_of):
        for condition, values in each.conditions():
            if condition.column in _CHECKED and not isinstance(values, Range):
                known = index.values(condition.column)
                for value in values:
                    _check(f"--{condition.flag}", value, known)


def _check(option: str, value: str, known: list[str]) -> None:
    if value in known:
        return
    near = sorted(known) if len(known) <= _LISTED else close_names(value, known)
    hint = f"it has {', '.join(near)}" if near else "`nar corpus stats` shows what it has"
    raise InvalidInputError(option, f"the index has no {value!r}; {hint}")
