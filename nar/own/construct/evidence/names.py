"""What gives a name its value at a place: assignments, if they are made there, and imports."""

import ast
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from nar.own.construct.evidence.expressions import Expression, UnknownValueError
from nar.own.construct.evidence.repository import Repository

_CHANGING = ["append", "extend", "insert", "update", "setdefault", "pop", "remove", "add", "clear"]


def assignments_before(scope: ast.AST, name: str, line: int) -> list[ast.Assign]:
    """The assignments to a name in a scope above a line, the last first.

    Of a module only its own statements count, and those in its branches; of a function all.
    """
    nodes = _statements(scope)
    found = [
        node
        for node in nodes
        if isinstance(node, ast.Assign)
        and node.lineno < line
        and any(name in _names(target) for target in node.targets)
    ]
    return sorted(found, key=lambda node: node.lineno, reverse=True)


def attributes_set(scope: ast.AST, name: str, after: int, before: int) -> list[ast.Assign]:
    """The assignments to attributes and keys of a name's object between two lines, in order."""
    found = [
        node
        for node in _statements(scope)
        if isinstance(node, ast.Assign)
        and after < node.lineno < before
        and path_of(node.targets[0], name)
    ]
    return sorted(found, key=lambda node: node.lineno)


def path_of(target: ast.expr, name: str) -> tuple[str, ...]:
    """The attributes and keys that lead from a name to a target; none, where they do not.

    Example:
        >>> path_of(ast.parse("args.net['width']", mode="eval").body, "args")
        ('net', 'width')
    """
    path: list[str] = []
    while isinstance(target, ast.Attribute | ast.Subscript):
        if isinstance(target, ast.Attribute):
            path.append(target.attr)
        elif isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            path.append(target.slice.value)
        else:
            return ()
        target = target.value
    is_of_name = isinstance(target, ast.Name) and target.id == name
    return tuple(reversed(path)) if is_of_name else ()


def is_changed(scope: ast.AST, name: str) -> bool:
    """Whether a name's value is changed in a scope other than by assignment: by a loop, a call."""
    change = re.compile(rf"^{re.escape(name)}\.({'|'.join(_CHANGING)})$")
    for node in _statements(scope):
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name:
            return True
        if isinstance(node, ast.Call) and change.match(ast.unparse(node.func)):
            return True
        if isinstance(node, ast.Assign):
            targets = (ast.unparse(target) for target in node.targets)
            if any(target.startswith(f"{name}[") for target in targets):
                return True
        if isinstance(node, ast.For) and name in _names(node.target):
            return True
    return False


def is_made(
    scope: ast.AST, made: ast.stmt | ast.expr, condition: Callable[[ast.expr], bool | None]
) -> bool | None:
    """Whether an assignment or a call is reached, as far as the conditions around it are known.

    Args:
        scope: Function or module that it stands in.
        made: It.
        condition: The value of a condition; None where it is not known.

    Returns:
        None where a condition around it is not known.
    """
    answer: bool | None = True
    for node in ast.walk(scope):
        if not isinstance(node, ast.If) or not _spans(node, made):
            continue
        is_inside = any(_spans(statement, made) for statement in node.body)
        value = condition(node.test)
        if value is None:
            answer = None
        elif value != is_inside:
            return False
    return answer


def part_of(assignment: ast.Assign, name: str) -> int | None:
    """The index of a name in the tuple that is assigned to; None where it is the whole."""
    for target in assignment.targets:
        if isinstance(target, ast.Tuple | ast.List):
            names = [each.id if isinstance(each, ast.Name) else "" for each in target.elts]
            if name in names:
                return names.index(name)
    return None


def defined_name(
    found: Expression, name: str, repository: Repository, definitions: Callable[[Path], ModuleType]
) -> Any:  # noqa: ANN401
    """What a module imports or defines under a name.

    Args:
        found: An expression of the module's file.
        name: The name.
        repository: The repository of the file.
        definitions: Gives the module of a file, of which no more than definitions need be run.

    Raises:
        UnknownValueError: It does neither, or importing what it imports fails.
    """
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for each in node.names:
                if (each.asname or each.name.partition(".")[0]) == name:
                    path = _file_imported(found.path, node, repository.root)
                    return _imported(node, each, path, definitions)
    is_definition = any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
        for node in found.tree.body
    )
    if is_definition or found.path.suffix != ".py":
        module = definitions(found.path if is_definition else repository.path)
        if hasattr(module, name):
            return getattr(module, name)
    raise UnknownValueError(name)


def modules_imported(tree: ast.Module) -> set[str]:
    """The last names of the modules that a file imports, or imports from."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.rpartition(".")[2] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {each.name for each in node.names}
            found |= {(node.module or "").rpartition(".")[2]} - {""}
    return found


def packages_imported(tree: ast.Module) -> set[str]:
    """The outermost packages of which a file imports parts, by their whole names."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names if "." in each.name}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and "." in (node.module or ""):
            found.add(str(node.module).partition(".")[0])
    return found


def _imported(
    node: ast.Import | ast.ImportFrom,
    name: ast.alias,
    path: Path | None,
    definitions: Callable[[Path], ModuleType],
) -> Any:  # noqa: ANN401
    try:
        if path is not None:
            return getattr(definitions(path), name.name)
        if isinstance(node, ast.Import):
            importlib.import_module(name.name)
            return sys.modules[name.name if name.asname else name.name.partition(".")[0]]
        module = importlib.import_module("." * node.level + (node.module or ""), None)
        return getattr(module, name.name)
    except UnknownValueError:
        raise
    # What is imported may raise anything when it is run.
    except (Exception, SystemExit) as error:
        raise UnknownValueError(f"{name.name}: {error}") from error


def _file_imported(path: Path, node: ast.Import | ast.ImportFrom, root: Path) -> Path | None:
    """The file of the repository that a ``from`` import reads, if it is one."""
    if isinstance(node, ast.Import):
        return None
    parts = (node.module or "").split(".") if node.module else []
    for base in [path.parents[node.level - 1]] if node.level else [path.parent, root, root / "src"]:
        module = base.joinpath(*parts).with_suffix(".py")
        if parts and module.is_file():
            return module
        package = base.joinpath(*parts) / "__init__.py"
        if package.is_file() and package.is_relative_to(root):
            return package
    return None


def _statements(scope: ast.AST) -> list[ast.AST]:
    if not isinstance(scope, ast.Module):
        return list(ast.walk(scope))
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Lambda):
            found.append(node)
            waiting += ast.iter_child_nodes(node)
    return found


def _spans(outer: ast.stmt, inner: ast.stmt | ast.expr) -> bool:
    end = outer.end_lineno or outer.lineno
    return outer.lineno <= inner.lineno and (inner.end_lineno or inner.lineno) <= end


def _names(target: ast.expr) -> set[str]:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return {part.id for part in parts if isinstance(part, ast.Name)}
