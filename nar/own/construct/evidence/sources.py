"""Everything in a repository that gives values to names: parsers, files, calls, assignments."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from nar.graphs.assumed import AssumedValue
from nar.own.construct.evidence.expressions import Expression, UnknownValueError, literal
from nar.own.construct.evidence.parsed import read_settings
from nar.own.construct.evidence.repository import Repository

# Fewer keywords say nothing about a design: `print(end="")`, `open(mode="r")`.
_FEWEST_KEYWORDS = 4
# Two settings that are assigned to attributes may be a configuration; one is any object's.
_FEWEST_ASSIGNED = 2
# The share of a file's statements that are assignments from which on it is a file of settings.
_SETTINGS_SHARE = 0.6
_MOST_LISTED = 20  # of a list of mappings in YAML: data begin there


class SourceKind(IntEnum):
    """What a source is; of equals the lower is taken."""

    FILE = 0
    PARSER = 1
    LITERALS = 2
    README = 3
    CALL = 4
    ASSIGNMENTS = 5


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Values of names at one place.

    Attributes:
        place: In words: ``config.json``, ``the arguments of train.py``, ``net.py:12``.
        kind: What it is.
        path: The file.
        values: Value or expression by name.
        distance: See `Repository.distance`.
    """

    place: str
    kind: SourceKind
    path: Path
    values: Mapping[str, Any]
    distance: int


def read_sources(repository: Repository) -> tuple[ValueSource, ...]:
    """All sources of a repository, those of the nearest files first in each kind."""
    found = [source for path in repository.settings_files for source in _of_file(repository, path)]
    for path in repository.python_files:
        found += _of_python(repository, path)
    for path, tree in repository.readme_code:
        values = _attributes(path, tree, tuple(ast.walk(tree)))
        if values:
            place = f"the code in {repository.relative(path)}"
            found.append(ValueSource(place, SourceKind.README, path, values, -1))
    return tuple(found)


def sources_naming(repository: Repository, name: str) -> tuple[ValueSource, ...]:
    """The sources of the files that have a name in them: no others need be parsed for it."""
    found = [
        source
        for path in repository.settings_files
        if name in repository.text(path)
        for source in _of_file(repository, path)
    ]
    for path in repository.python_files:
        if name in repository.text(path):
            found += _of_python(repository, path)
    return tuple(found)


def parser_values(repository: Repository, path: Path) -> dict[str, Any]:
    """The defaults of the arguments that a file's parsers add, by their names.

    What has no default is as the first command of a README or script gives it.
    """
    tree = repository.tree(path)
    values: dict[str, Any] = {}
    flags: dict[str, list[str]] = {}
    for node in repository.nodes(path):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            name, value = _argument(path, tree, node)
            if name and (name not in values or values[name] is None):
                values[name] = value
                flags[name] = [each.lstrip("-").replace("-", "_") for each in _flags(node)]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "set_defaults":
            stated = {key.arg: key.value for key in node.keywords if key.arg}
            values |= {key: Expression(path, tree, value) for key, value in stated.items()}
    for name, value in values.items():
        if value is None or value == "":
            values[name] = _of_commands(repository, name, flags) or value
    return values


def stated_by_parsers(
    repository: Repository, names: Iterable[str]
) -> dict[str, tuple[object, AssumedValue]]:
    """Numbers, switches and lists of them that the nearest parsers give to names, and whence.

    Args:
        repository: Its scripts hand such values to a module with each call.
        names: Of a forward's parameters.
    """
    found: dict[str, tuple[object, AssumedValue]] = {}
    for name in names:
        option = "[-_]".join(map(re.escape, name.split("_")))
        for path in repository.python_files:
            if re.search(rf"--{option}\b", repository.text(path)):
                value = _literal(parser_values(repository, path).get(name))
                if value is not None:
                    place = f"the arguments of {repository.relative(path)}"
                    found[name] = value, AssumedValue(f"forward.{name}", str(value), place)
                    break
    return found


def _literal(found: object) -> Any:  # noqa: ANN401
    """A plain value of numbers; None for every other."""
    if isinstance(found, Expression):
        try:
            found = literal(found.node)
        except UnknownValueError:
            return None
    each = found if isinstance(found, list | tuple) else [found]
    return found if each and all(isinstance(one, int | float) for one in each) else None


def _of_commands(repository: Repository, name: str, own: Mapping[str, list[str]]) -> Any:  # noqa: ANN401
    """What the first command gives an argument that gives another argument of its parser too.

    Args:
        repository: Its commands are read.
        name: Of the argument.
        own: The flags of each argument of the parser.
    """
    for _, flags in repository.commands:
        given = [each for each in own if not flags.keys().isdisjoint(own[each])]
        if name in given and len(given) >= min(2, len(own)):
            return _plain(next(flags[flag] for flag in own[name] if flag in flags))
    return None


def _flags(call: ast.Call) -> list[str]:
    """The flags of an argument as its parser is told them."""
    return [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def _argument(path: Path, tree: ast.Module, call: ast.Call) -> tuple[str, Any]:
    """Name and default of one ``add_argument``; no name where it is no plain one."""
    flags = _flags(call)
    if not flags:
        return "", None
    stated = {key.arg: key.value for key in call.keywords if key.arg}
    long = next((flag for flag in flags if flag.startswith("--")), flags[0])
    name = long.lstrip("-").replace("-", "_")
    if isinstance(stated.get("dest"), ast.Constant):
        name = str(ast.literal_eval(stated["dest"]))
    action = ast.unparse(stated["action"]).strip("'\"") if "action" in stated else ""
    if "default" in stated:
        return name, _typed(Expression(path, tree, stated["default"]), stated.get("type"))
    if "choices" in stated and isinstance(stated["choices"], ast.List | ast.Tuple):
        first = next(iter(stated["choices"].elts), None)
        # What has to be stated on the command line is one of them.
        return name, None if first is None else Expression(path, tree, first)
    flags_of_truth = {"store_true": False, "store_false": True}
    return name, flags_of_truth.get(action)


def _typed(default: Expression, kind: ast.expr | None) -> Any:  # noqa: ANN401
    """A default after the type that argparse gives to texts."""
    node = default.node
    if not isinstance(node, ast.Constant):
        return default
    numbers = {"int": int, "float": float}
    is_text = isinstance(node.value, str) and isinstance(kind, ast.Name)
    if is_text and isinstance(kind, ast.Name) and kind.id in numbers:
        return _plain(str(node.value))
    return node.value


def _plain(text: str) -> Any:  # noqa: ANN401
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _of_file(repository: Repository, path: Path) -> Iterator[ValueSource]:
    if ".github" in path.parts:
        return
    try:
        held = read_settings(path)
    except (ValueError, OSError, RecursionError):
        return
    place, distance = repository.relative(path), repository.distance(path)
    for values in _mappings(held):
        yield ValueSource(place, SourceKind.FILE, path, values, distance)


def _mappings(held: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(held, Mapping):
        yield {str(key): value for key, value in held.items()}
        held = list(held.values())
    if isinstance(held, list):
        for each in held[:_MOST_LISTED]:
            if isinstance(each, Mapping | list):
                yield from _mappings(each)


def _of_python(repository: Repository, path: Path) -> Iterator[ValueSource]:
    tree, name = repository.tree(path), repository.relative(path)
    distance = repository.distance(path)
    parser = parser_values(repository, path)
    assigned = _attributes(path, tree, repository.nodes(path))
    if parser:
        taken_apart = {
            key: value
            for key, value in assigned.items()
            if isinstance(parser.get(key), str) and _takes_apart(value.node, key)
        }
        values = assigned | parser | taken_apart
        yield ValueSource(f"the arguments of {name}", SourceKind.PARSER, path, values, distance)
    elif len(assigned) >= _FEWEST_ASSIGNED:
        yield ValueSource(
            f"assignments in {name}", SourceKind.ASSIGNMENTS, path, assigned, distance + 1
        )
    literals = _module_settings(path, tree)
    if literals:
        yield ValueSource(name, SourceKind.LITERALS, path, literals, distance)
    for node in repository.nodes(path):
        for kind, words, values in _of_node(path, tree, node):
            yield ValueSource(f"{name}:{node.lineno}{words}", kind, path, values, distance)  # type: ignore[attr-defined]


def _takes_apart(node: ast.expr, name: str) -> bool:
    """Whether a script makes a list of a text that is its own argument of that name."""
    return f".{name}.split(" in ast.unparse(node)


def _of_node(
    path: Path, tree: ast.Module, node: ast.AST
) -> Iterator[tuple[SourceKind, str, dict[str, Any]]]:
    wrap: Callable[[ast.expr], Expression] = lambda value: Expression(path, tree, value)  # noqa: E731
    if isinstance(node, ast.Call):
        values = {key.arg: wrap(key.value) for key in node.keywords if key.arg}
        if len(values) >= _FEWEST_KEYWORDS:
            yield SourceKind.CALL, f" {ast.unparse(node.func)[:40]}(...)", values
    elif isinstance(node, ast.Dict) and len(node.keys) >= _FEWEST_ASSIGNED:
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            pairs = zip(keys, node.values, strict=True)
            yield SourceKind.LITERALS, "", {str(key): wrap(value) for key, value in pairs}
    elif isinstance(node, ast.ClassDef):
        fields = {
            each.target.id: wrap(each.value)
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.value
        }
        if len(fields) >= _FEWEST_ASSIGNED:
            yield SourceKind.LITERALS, f" {node.name}", fields


def _module_settings(path: Path, tree: ast.Module) -> dict[str, Any]:
    """The names that a file assigns, where it does little else: a configuration in Python."""
    values: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = Expression(path, tree, node.value)
    is_of_settings = len(values) >= max(_FEWEST_ASSIGNED, _SETTINGS_SHARE * len(tree.body))
    return values if is_of_settings else {}


def _attributes(path: Path, tree: ast.Module, nodes: tuple[ast.AST, ...]) -> dict[str, Any]:
    """The values that are assigned to attributes of objects: ``config.width = 64``."""
    values: dict[str, Any] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            continue
        target = node.targets[0]
        if ast.unparse(target.value).partition(".")[0] != "self":
            values.setdefault(target.attr, Expression(path, tree, node.value))
    return values
