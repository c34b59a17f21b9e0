"""Arguments of a user's factory, as they stand in a name: ``mine.py:net(64, deep=True)``.

They are read as values, never run: numbers, texts, lists and the like.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nar.base.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a factory is called with.

    Attributes:
        by_position: In their order.
        by_name: The others.
    """

    by_position: tuple[Any, ...] = ()
    by_name: Mapping[str, Any] = field(default_factory=dict)


def read_arguments(text: str) -> Arguments:
    """The arguments in a pair of brackets; nothing is none.

    Raises:
        InvalidInputError: They are no values of Python.

    Example:
        >>> read_arguments("(64, deep=True)")
        Arguments(by_position=(64,), by_name={'deep': True})
    """
    try:
        call = ast.parse(f"f{text or '()'}", mode="eval").body
        assert isinstance(call, ast.Call)
        by_name = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
        values = tuple(ast.literal_eval(each) for each in call.args)
    except (SyntaxError, ValueError, AssertionError) as error:
        raise InvalidInputError(
            text, "wanted arguments that are values of Python, such as (64, deep=True)"
        ) from error
    if None in by_name:
        raise InvalidInputError(text, "wanted each argument by itself, came **")
    return Arguments(values, {str(name): value for name, value in by_name.items()})
