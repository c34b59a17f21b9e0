"""The boolean expressions that ask Milvus and Milvus Lite for rows."""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

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
        "family in ['resnet', 'it\\'s'] and (nodes >= 1 and nodes <= 9)"
        >>> expression(Filter(none_of=(Filter(nodes=Range(1, 9)), Filter(tasks=("ocr",)))))
        "not (task in ['ocr'] or (nodes >= 1 and nodes <= 9))"
    """
    return "" if wanted == EVERYTHING else combined(wanted, _TERMS).text


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


class _Part(NamedTuple):
    """A part of an expression.

    Attributes:
        depth: How many operators stand one inside the other.
        text: Without parentheses around it.
    """

    depth: int
    text: str

    @property
    def inside(self) -> str:
        """Its text as an operand of an operator."""
        return f"({self.text})" if self.depth else self.text


def _compared(condition: Condition, wanted: Wanted) -> _Part:
    if isinstance(wanted, Range):
        return _within(condition.column, wanted)
    return _Part(0, equal_any(condition.column, wanted))


def _within(column: str, wanted: Range) -> _Part:
    bounds = ((">=", wanted.minimum), ("<=", wanted.maximum))
    texts = [f"{column} {sign} {bound}" for sign, bound in bounds if bound is not None]
    return _Part(len(texts) - 1, " and ".join(texts))


def _literal(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


def _joined(word: str, parts: Sequence[_Part]) -> _Part:
    """Parts side by side, the shallowest joined first.

    Milvus 2.3.5 reads a chain as operators one inside the other, and refuses a search of more than
    about 46. The largest filters come to 30 this way.
    """
    pending = [(part.depth, number, part) for number, part in enumerate(parts)]
    heapify(pending)
    for number in range(len(parts), 2 * len(parts) - 1):
        first, second = heappop(pending)[2], heappop(pending)[2]
        depth = max(first.depth, second.depth) + 1
        heappush(pending, (depth, number, _Part(depth, f"{first.inside} {word} {second.inside}")))
    return pending[0][2]


_TERMS: Final = Terms(
    condition=_compared,
    every=lambda parts: _joined("and", parts) if parts else _Part(0, _ANYTHING),
    some=lambda parts: _joined("or", parts),
    negated=lambda part: _Part(part.depth + 1, f"not ({part.text})"),
)
