"""What a filter means, said once for all that evaluate it: each brings terms of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from nar.index.filters import Condition, Filter, Wanted

Term = TypeVar("Term")


@dataclass(frozen=True, slots=True)
class Terms(Generic[Term]):
    """How something that keeps rows says which of them it means.

    Attributes:
        condition: Those that a condition lets pass.
        every: Those that pass every one of some terms; all rows where there are no terms.
        some: Those that pass at least one; there is one at least.
        negated: Those that do not pass.
    """

    condition: Callable[[Condition, Wanted], Term]
    every: Callable[[Sequence[Term]], Term]
    some: Callable[[Sequence[Term]], Term]
    negated: Callable[[Term], Term]


def combined(wanted: Filter, terms: Terms[Term]) -> Term:
    """The rows that a filter lets pass.

    Args:
        wanted: Its own conditions, all of ``all_of``, one of ``any_of`` if there are any, and none
            of ``none_of`` hold.
        terms: How to say it.

    Example:
        >>> words = Terms(
        ...     condition=lambda condition, wanted: f"{condition.column} {wanted[0]}",
        ...     every=lambda parts: " and ".join(parts) or "anything",
        ...     some=lambda parts: f"({' or '.join(parts)})",
        ...     negated=lambda part: f"not {part}",
        ... )
        >>> cnns = Filter(blocks=("cnn",), none_of=(Filter(tasks=("ocr",)), Filter(tasks=("sr",))))
        >>> combined(cnns, words)
        'block cnn and not (task ocr or task sr)'
        >>> combined(Filter(any_of=(Filter(), cnns)), words)
        '(anything or block cnn and not (task ocr or task sr))'
    """
    parts = [terms.condition(*each) for each in wanted.conditions()]
    parts += [combined(each, terms) for each in wanted.all_of]
    if wanted.any_of:
        parts.append(terms.some([combined(each, terms) for each in wanted.any_of]))
    if wanted.none_of:
        refused = terms.some([combined(each, terms) for each in wanted.none_of])
        parts.append(terms.negated(refused))
    return terms.every(parts)
