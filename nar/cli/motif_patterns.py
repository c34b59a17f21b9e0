"""Patterns of operators, by which `nar search --motif` finds blocks."""

import re
from difflib import get_close_matches
from typing import Final

from nar.base.errors import InvalidInputError
from nar.graphs.ops import OPS

_ANY: Final = "..."
_NEAR: Final = 3


def compiled(pattern: str) -> re.Pattern[str]:
    """What a pattern looks for in the operators of a motif, one space between them.

    A word is the name of an operator, with ``*`` for any letters; ``*`` alone is any one operator,
    ``...`` any number of them. They follow each other in canonical order, as `nar motifs` shows
    them; a motif may have more before and after.

    Args:
        pattern: Words with spaces between them.

    Raises:
        InvalidInputError: No word, or one that is the name of no operator.

    Example:
        >>> wanted = compiled("conv *norm relu")
        >>> bool(wanted.search("input conv batch_norm relu")), bool(wanted.search("conv relu"))
        (True, False)
        >>> bool(compiled("linear ... linear").search("linear gelu dropout linear"))
        True
        >>> compiled("convv")
        Traceback (most recent call last):
        ...
        nar.base.errors.InvalidInputError: motif: no operator is called 'convv'; did you mean conv?
    """
    words = pattern.split()
    if not set(words) - {_ANY}:
        raise InvalidInputError("motif", f"wanted operators such as 'conv relu', came {pattern!r}")
    return re.compile("".join(map(_part, words)))


def _part(word: str) -> str:
    """The expression of one word; each operator stands between the borders of a name."""
    if word == _ANY:
        return r"(?:\S+ )*?"
    letters = re.escape(word).replace(r"\*", r"\S*")
    if not any(re.fullmatch(letters, name) for name in OPS):
        near = get_close_matches(word, OPS, n=_NEAR)
        hint = f"did you mean {', '.join(near)}?" if near else "`nar motifs` shows names"
        raise InvalidInputError("motif", f"no operator is called {word!r}; {hint}")
    return rf"(?<!\S){letters}(?:\s|$)"
