"""The boolean expressions that ask Milvus and Milvus Lite for rows."""

from collections.abc import Iterable, Sequence
from typing import Final

from nar.index.filters import Condition, Range, Wanted

# The escapes that Milvus and Milvus Lite share. Everything else stands for itself in both.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def expression(conditions: Iterable[tuple[Condition, Wanted]]) -> str:
    r"""The expression for rows that all conditions let pass; empty if there is none.

    Args:
        conditions: Each with what it wants, as `nar.index.ranking.check_filter` gives them.

    Example:
        >>> from nar.index.filters import Filter
        >>> expression(Filter(families=("resnet", "it's"), nodes=Range(1, 9)).conditions())
        "family in ['resnet', 'it\\'s'] and nodes >= 1 and nodes <= 9"
    """
    return " and ".join(_part(condition.column, wanted) for condition, wanted in conditions)


def any_of(column: str, values: Iterable[str]) -> str:
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
    return " or ".join(any_of(column, values) for column, values in columns.items())


def _part(column: str, wanted: Wanted) -> str:
    return _within(column, wanted) if isinstance(wanted, Range) else any_of(column, wanted)


def _within(column: str, wanted: Range) -> str:
    bounds = ((">=", wanted.minimum), ("<=", wanted.maximum))
    return " and ".join(f"{column} {sign} {bound}" for sign, bound in bounds if bound is not None)


def _literal(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"
