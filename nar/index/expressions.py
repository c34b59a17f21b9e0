"""The boolean expressions that ask Milvus and Milvus Lite for rows."""

from collections.abc import Iterable, Sequence
from typing import Final

from nar.index.filters import EVERYTHING, Condition, Filter, Range, Wanted
from nar.index.terms import Terms, combined

# What every row fulfils: in a filter, a filter with nothing set has to say something.
_ANYTHING: Final = "id != ''"
# The escapes that Milvus and Milvus Lite share. Everything else stands for itself in both.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def expression(wanted: Filter) -> str:
    r"""The expression for rows that a filter lets pass; empty if nothing is asked of them.

    Args:
        wanted: On columns that the index has: see `nar.index.ranking.check_filter`.

    Example:
        >>> expression(Filter(families=("resnet", "it's"), nodes=Range(1, 9)))
        "family in ['resnet', 'it\\'s'] and nodes >= 1 and nodes <= 9"
        >>> expression(Filter(none_of=(Filter(nodes=Range(1, 9)), Filter(tasks=("ocr",)))))
        "not ((nodes >= 1 and nodes <= 9) or (task in ['ocr']))"
    """
    return "" if wanted == EVERYTHING else combined(wanted, _TERMS)


def equal_any(column: str, values: Iterable[str]) -> str:
    """The expression for a column that equals one of the values.

    Args:
        column: One of ours, never a caller's.
        values: Any text without surrogates; escaped here.
    """
    return f"{column} in [{', '.join(map(_literal, values))}]"


def any_pair(pairs: Sequence[tuple[str, str]]) -> str:
    """The expression for rows of which some column has a value of its own.

    Args:
        pairs: Columns, which are ours, and values, which are any text without surrogates.

    Example:
        >>> any_pair([("topology", "a"), ("inference", "c"), ("topology", "b")])
        "topology in ['a', 'b'] or inference in ['c']"
    """
    columns: dict[str, list[str]] = {}
    for column, value in pairs:
        columns.setdefault(column, []).append(value)
    return " or ".join(equal_any(column, values) for column, values in columns.items())


def _part(condition: Condition, wanted: Wanted) -> str:
    column = condition.column
    return _within(column, wanted) if isinstance(wanted, Range) else equal_any(column, wanted)


def _within(column: str, wanted: Range) -> str:
    bounds = ((">=", wanted.minimum), ("<=", wanted.maximum))
    return " and ".join(f"{column} {sign} {bound}" for sign, bound in bounds if bound is not None)


def _literal(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


_TERMS: Final = Terms(
    condition=_part,
    every=lambda parts: " and ".join(parts) or _ANYTHING,
    some=lambda parts: f"(({') or ('.join(parts)}))",
    negated=lambda part: f"not {part}",
)
