"""Functions and classes of a repository that make a class: run, and caught when it is built."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
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
_CHOOSING = re.compile(r"_?(build|create|make|get|define|init)")
_FILES_NAMING = 100  # Chosen: the nearest; a part is seldom named far from its model
_Definition = ast.FunctionDef | ast.ClassDef


class NotBuiltError(LookupError):
    """What should make a class makes none."""


class _CaughtError(BaseException):
    """Ends a maker once the wanted module is built.

    Attributes:
        result: Where it lies; it tells for which of several makers, one in another, it is.
    """

    def __init__(self, result: list[tuple[Any, dict[str, Any]]]) -> None:
        super().__init__()
        self.result = result


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A class of the repository that makes another as a part of it.

    Attributes:
        path: Its file.
        node: It.
        place: Where it names the other, in words.
    """

    path: Path
    node: ast.ClassDef
    place: str


@dataclass(frozen=True, slots=True, eq=False)
class Choosing:
    """A function that makes one of several classes.

    Attributes:
        path: Its file.
        node: It.
        place: Where it makes one, in words.
    """

    path: Path
    node: ast.FunctionDef
    place: str


def makers_of(
    repository: Repository, target: Target
) -> tuple[list[tuple[Call, ast.FunctionDef]], list[Whole]]:
    """Functions that call a class, those that need no arguments first; and classes that name it.

    A class may name it without a call: where it chooses between several, or takes it as a default.
    """
    functions: dict[str, tuple[Call, ast.FunctionDef]] = {}
    classes: dict[str, Whole] = {}
    for call in calls_of(repository, target.name, repository.path):
        owner = _outermost(call)
        if isinstance(owner, ast.FunctionDef) and not _WORKING.search(owner.name.lower()):
            functions.setdefault(owner.name, (call, owner))
        elif isinstance(owner, ast.ClassDef) and owner.name != target.name:
            classes.setdefault(owner.name, Whole(call.path, owner, call.place))
    for whole in _naming(repository, target.name):
        classes.setdefault(whole.node.name, whole)
    by_need = sorted(functions.values(), key=lambda each: len(needs(each[1])))
    return by_need, list(classes.values())


def _naming(repository: Repository, name: str) -> Iterator[Whole]:
    """The classes of the nearest files that name a class in their bodies."""
    for path in repository.python_files[:_FILES_NAMING]:
        if not re.search(rf"\b{re.escape(name)}\b", repository.text(path)):
            continue
        for node in repository.tree(path).body:
            if not isinstance(node, ast.ClassDef) or node.name == name:
                continue
            names = (n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name))
            line = next((each.lineno for each in names if each.id == name), None)
            if line is not None:
                yield Whole(path, node, f"{repository.relative(path)}:{line}")


def choosing_makers(repository: Repository) -> list[Choosing]:
    """Functions of the nearest files that make what a configuration names, by a table or by name.

    A class that registers itself is called nowhere by its own name.
    """
    found: list[Choosing] = []
    for path in repository.python_files[:_FILES_NAMING]:
        for node in repository.tree(path).body:
            if isinstance(node, ast.FunctionDef) and _CHOOSING.match(node.name):
                calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
                line = next((call.lineno for call in calls if _is_chosen(call)), None)
                if line is not None:
                    found.append(Choosing(path, node, f"{repository.relative(path)}:{line}"))
    return found


def _is_chosen(call: ast.Call) -> bool:
    """Whether something is called that an expression chooses: ``NETS[name]()``."""
    if isinstance(call.func, ast.Subscript):
        return True
    inner = call.func.func if isinstance(call.func, ast.Call) else None
    name = getattr(inner, "id", None) or getattr(inner, "attr", None)
    return name in ("getattr", "get", "get_class")


def needs(function: ast.FunctionDef) -> list[str]:
    """Names of the parameters without a default."""
    return [name for name in parameters(function) if default_of(function, name) is None]


def caught(target: Target, make: Any) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
    """The first object of a class that running something builds, and what it was given.

    Args:
        target: The class.
        make: Builds it somewhere on the way.

    Raises:
        NotBuiltError: It builds none.
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
            raise _CaughtError(result)

    cls.__init__ = initialise
    try:
        make()
    except _CaughtError as error:
        if error.result is not result:
            raise
        return result[0]
    finally:
        if own is None:
            del cls.__init__
        else:
            cls.__init__ = own
    raise NotBuiltError(f"{target.name} is not built on the way")


def values_given(given: dict[str, Any], place: str) -> tuple[AssumedValue, ...]:
    """What a maker gave, as values of its place."""
    return tuple(AssumedValue(name, short(value), place) for name, value in given.items())


def _outermost(call: Call) -> _Definition | None:
    """The outermost function or class of a file that a call stands in."""
    return next(_around(call), None)


def _around(call: Call) -> Iterator[_Definition]:
    line = call.node.lineno
    for node in call.tree.body:
        is_around = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if is_around and node.lineno <= line <= (node.end_lineno or 0):
            yield node  # type: ignore[misc]
