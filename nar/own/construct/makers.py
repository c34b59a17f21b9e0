"""Functions and classes of a repository that make a class: run, and caught when it is built."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nar.graphs.assumed import AssumedValue
from nar.own.construct.evidence.calls import CallSite, calls_of
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
_PACKAGES_AROUND = 2  # chosen: a method's package, and the folder of its models in it
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
class OuterClass:
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
class ChoosingFunction:
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
) -> tuple[list[tuple[CallSite, ast.FunctionDef]], list[OuterClass]]:
    """Functions that call a class, those that need no arguments first; and classes that name it.

    A class may name it without a call: where it chooses between several, or takes it as a default.
    """
    functions: dict[str, tuple[CallSite, ast.FunctionDef]] = {}
    classes: dict[str, OuterClass] = {}
    for call in calls_of(repository, target.name, repository.path):
        owner = _outermost(call)
        if isinstance(owner, ast.FunctionDef) and not _WORKING.search(owner.name.lower()):
            functions.setdefault(owner.name, (call, owner))
        elif isinstance(owner, ast.ClassDef) and owner.name != target.name:
            classes.setdefault(owner.name, OuterClass(call.path, owner, call.place))
    for whole in _naming(repository, target.name):
        classes.setdefault(whole.node.name, whole)
    by_need = sorted(functions.values(), key=lambda each: len(needs(each[1])))
    return by_need, list(classes.values())


def _naming(repository: Repository, name: str) -> Iterator[OuterClass]:
    """The classes of the nearest files that name a class in their bodies."""
    stem = repository.path.stem
    for path in repository.python_files[:_FILES_NAMING]:
        if not re.search(rf"\b{re.escape(name)}\b", repository.text(path)):
            continue
        for node in repository.tree(path).body:
            if not isinstance(node, ast.ClassDef) or node.name == name:
                continue
            inner = (each for part in node.body for each in ast.walk(part))
            line = next((each.lineno for each in inner if _names(each, name, stem)), None)  # type: ignore[attr-defined]
            if line is not None:
                yield OuterClass(path, node, f"{repository.relative(path)}:{line}")


def _names(node: ast.AST, name: str, module: str) -> bool:
    """Whether a node is the name of a class, or that of its module and its own."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and getattr(node.value, "id", None) == module
    return isinstance(node, ast.Name) and node.id == name


def choosing_makers(repository: Repository) -> list[ChoosingFunction]:
    """Functions of the nearest files that make what a configuration names, by a table or by name.

    A class that registers itself is called nowhere by its own name.
    """
    found: list[ChoosingFunction] = []
    for path in repository.python_files[:_FILES_NAMING]:
        for node in repository.tree(path).body:
            if isinstance(node, ast.FunctionDef) and _CHOOSING.match(node.name):
                calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
                line = next((call.lineno for call in calls if _is_chosen(call)), None)
                if line is not None:
                    found.append(
                        ChoosingFunction(path, node, f"{repository.relative(path)}:{line}")
                    )
    return found


def choices_of(tree: ast.Module, target: Target, repository: Repository) -> dict[str, str]:
    """The settings by which a file chooses a class, and their values that choose this one.

    ``NETS = {"small": small.Net}`` and ``NETS[args.model]`` give ``{"model": "small"}``, and so
    does ``if args.model == "small"`` before a call of it.

    Args:
        tree: The file's.
        target: The class.
        repository: Seen from the file that defines the class: a table may hold its module, or a
            package of the repository around it.
    """
    file, root = repository.path, repository.root
    around = [each for each in file.parents[:_PACKAGES_AROUND] if root in each.parents]
    homes = {file.stem, *(each.name for each in around)}
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            keys = [key for key, held in zip(node.value.keys, node.value.values, strict=True)
                    if _is_held(held, target.name, homes)]  # fmt: skip
            key = keys[0].value if keys and isinstance(keys[0], ast.Constant) else None
            if isinstance(key, str):
                table = ast.unparse(node.targets[0])
                found |= dict.fromkeys(_asked_of(tree, table), key)
        elif isinstance(node, ast.If):
            chosen = _compared(node.test)
            inner = (each for part in node.body for each in ast.walk(part))
            if chosen is not None and any(_makes(each, target.name) for each in inner):
                found.setdefault(*chosen)
    return found


def _is_held(held: ast.expr, name: str, homes: set[str]) -> bool:
    """Whether a value of a table is a class, or a module that has it."""
    if isinstance(held, ast.Attribute) and held.attr == name:
        return getattr(held.value, "id", None) in homes
    last = getattr(held, "id", None) or getattr(held, "attr", None)
    return last == name or last in homes


def _makes(node: ast.AST, name: str) -> bool:
    """Whether a node is a call of a class; what else names it may use it for another one."""
    called = node.func if isinstance(node, ast.Call) else None
    return name in (getattr(called, "id", None), getattr(called, "attr", None))


def _asked_of(tree: ast.Module, table: str) -> Iterator[str]:
    """The settings whose values a table is asked for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == table:
            setting = _setting(node.slice)
            if setting is not None:
                yield setting


def _compared(test: ast.expr) -> tuple[str, str] | None:
    """The setting and the text of ``args.model == "small"``."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    setting, text = _setting(test.left), test.comparators[0]
    is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
    return (setting, str(text.value)) if setting and is_text else None  # type: ignore[attr-defined]


def _setting(node: ast.expr) -> str | None:
    """The last name of ``args.model``, ``config["model"]`` or ``model``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else None
    return getattr(node, "attr", None) or getattr(node, "id", None)


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


def _outermost(call: CallSite) -> _Definition | None:
    """The outermost function or class of a file that a call stands in."""
    return next(_around(call), None)


def _around(call: CallSite) -> Iterator[_Definition]:
    line = call.node.lineno
    for node in call.tree.body:
        is_around = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if is_around and node.lineno <= line <= (node.end_lineno or 0):
            yield node  # type: ignore[misc]
