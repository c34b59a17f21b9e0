"""Functions and classes of a repository that make a class: run, and caught when it is built."""

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

from nar.graphs.assumed import AssumedValue
from nar.own.construct.evidence.calls import Call, calls_of
from nar.own.construct.evidence.expressions import default_of, parameters
from nar.own.construct.evidence.repository import Repository
from nar.own.construct.proposals import Target, short

# Functions that do more than make a model, or start at its weights.
_WORKING = re.compile(
    r"main|train|test|load|worker|infer|eval|convert|demo|run|sample|export|predict|bench|visual|"
    r"pretrained|forward|setup_optim"
)
_Definition = ast.FunctionDef | ast.ClassDef


class _CaughtError(BaseException):
    """Ends a maker once the wanted module is built."""


def makers_of(
    repository: Repository, target: Target
) -> tuple[list[tuple[Call, ast.FunctionDef]], list[tuple[Call, ast.ClassDef]]]:
    """Functions that call a class, those that need no arguments first; and classes that do."""
    functions: dict[str, tuple[Call, ast.FunctionDef]] = {}
    classes: dict[str, tuple[Call, ast.ClassDef]] = {}
    for call in calls_of(repository, target.name, repository.path):
        owner = _outermost(call)
        if isinstance(owner, ast.FunctionDef) and not _WORKING.search(owner.name.lower()):
            functions.setdefault(owner.name, (call, owner))
        elif isinstance(owner, ast.ClassDef) and owner.name != target.name:
            classes.setdefault(owner.name, (call, owner))
    by_need = sorted(functions.values(), key=lambda each: len(needs(each[1])))
    return by_need, list(classes.values())


def needs(function: ast.FunctionDef) -> list[str]:
    """Names of the parameters without a default."""
    return [name for name in parameters(function) if default_of(function, name) is None]


def caught(target: Target, make: Any) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
    """The first object of a class that running something builds, and what it was given.

    Args:
        target: The class.
        make: Builds it somewhere on the way.

    Raises:
        LookupError: It builds none.
        BaseException: What it raises before.
    """
    cls = target.called
    own = vars(cls).get("__init__")
    real = cls.__init__
    depth = 0
    result: list[tuple[Any, dict[str, Any]]] = []

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        nonlocal depth
        depth += 1
        try:
            real(self, *args, **kwargs)
        finally:
            depth -= 1
        if type(self) is cls and depth == 0:
            names = list(target.parameters)
            result.append((self, dict(zip(names, args, strict=False)) | kwargs))
            raise _CaughtError

    cls.__init__ = initialise
    try:
        make()
    except _CaughtError:
        return result[0]
    finally:
        if own is None:
            del cls.__init__
        else:
            cls.__init__ = own
    raise LookupError(f"{target.name} is not built on the way")


def values_given(given: dict[str, Any], place: str) -> tuple[AssumedValue, ...]:
    """What a maker gave, as values of its place."""
    return tuple(AssumedValue(name, short(value), place) for name, value in given.items())


def is_class_of(module: Any, name: str) -> bool:  # noqa: ANN401
    """Whether a module has a class under a name."""
    return inspect.isclass(getattr(module, name, None))


def _outermost(call: Call) -> _Definition | None:
    """The outermost function or class of a file that a call stands in."""
    return next(_around(call), None)


def _around(call: Call) -> Iterator[_Definition]:
    line = call.node.lineno
    for node in call.tree.body:
        is_around = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if is_around and node.lineno <= line <= (node.end_lineno or 0):
            yield node  # type: ignore[misc]
