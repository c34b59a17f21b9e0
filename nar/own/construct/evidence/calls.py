"""The calls of a class or function in a repository and in its READMEs."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nar.own.construct.evidence.expressions import Expression, enclosing_functions
from nar.own.construct.evidence.names import assignments_before
from nar.own.construct.evidence.repository import Repository

_IMPORTS = re.compile(r"(^|\.)(import_module|__import__)$")
_MOST_CALLS = 40  # of one name, the nearest: more are a layer that stands everywhere


@dataclass(frozen=True, slots=True, eq=False)
class CallSite:
    """One call at its place.

    Attributes:
        path: The file.
        tree: Its syntax tree, or that of a block in a README.
        node: The call.
        place: In words: ``train.py:12``, ``README.md``.
    """

    path: Path
    tree: ast.Module
    node: ast.Call
    place: str

    @property
    def is_plain(self) -> bool:
        """Whether it has no ``*`` and no ``**``, so that all its arguments are seen."""
        starred = any(isinstance(each, ast.Starred) for each in self.node.args)
        return not starred and all(key.arg for key in self.node.keywords)

    @property
    def spread(self) -> list[Expression]:
        """What it gives by ``**``."""
        return [
            Expression(self.path, self.tree, key.value)
            for key in self.node.keywords
            if key.arg is None
        ]

    def argument(self, name: str, positions: list[str]) -> Expression | None:
        """What it gives for a parameter.

        Args:
            name: Of the parameter.
            positions: The parameters in their order.
        """
        return self.arguments(positions).get(name)

    def arguments(self, positions: list[str]) -> dict[str, Expression]:
        """What it gives, by the names of parameters, up to a ``*``.

        Args:
            positions: The parameters in their order.
        """
        given: dict[str, ast.expr] = {}
        for name, node in zip(positions, self.node.args, strict=False):
            if isinstance(node, ast.Starred):
                break
            given[name] = node
        given |= {key.arg: key.value for key in self.node.keywords if key.arg}
        return {name: Expression(self.path, self.tree, node) for name, node in given.items()}


def calls_of(repository: Repository, name: str, defined_in: Path | None = None) -> list[CallSite]:
    """The calls of a name, those of the nearest files first.

    Args:
        repository: Where to look.
        name: Of a class or function.
        defined_in: The file that defines it: calls of another thing of that name are left out,
            as far as imports tell.
    """
    found: list[CallSite] = []
    for path in repository.python_files:
        text = repository.text(path)
        if not re.search(rf"\b{re.escape(name)}(\(| as )", text):
            continue
        tree = repository.tree(path)
        if defined_in is not None and path != defined_in and _means_another(tree, name, defined_in):
            continue
        found += [
            CallSite(path, tree, node, f"{repository.relative(path)}:{node.lineno}")
            for node in _calls(repository.nodes(path), _names_of(repository.nodes(path), name))
        ]
    for path, tree in repository.readme_code:
        place = f"the code in {repository.relative(path)}"
        nodes = tuple(ast.walk(tree))
        found += [
            CallSite(path, tree, node, place) for node in _calls(nodes, _names_of(nodes, name))
        ]
    return found[:_MOST_CALLS]


def imported_by_name(call: CallSite) -> Expression | None:
    """The name of a module whose class or function is called, where a call imports it by a name.

    ``net = importlib.import_module(args.model)`` stands before ``net.build()``; None where the
    called thing is imported in another way.
    """
    called = call.node.func
    holder = called.value if isinstance(called, ast.Attribute) else None
    if not isinstance(holder, ast.Name):
        return None
    line = call.node.lineno
    for scope in (*enclosing_functions(call.tree, line), call.tree):
        for node in assignments_before(scope, holder.id, line):
            made = node.value
            if isinstance(made, ast.Call) and made.args and _IMPORTS.search(ast.unparse(made.func)):
                return Expression(call.path, call.tree, made.args[0])
    return None


def _names_of(nodes: tuple[ast.AST, ...], name: str) -> set[str]:
    """A name, and those that a file imports it under."""
    names = {name}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname for each in node.names if each.asname and each.name == name}
    return names


def _calls(nodes: tuple[ast.AST, ...], names: set[str]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call):
            called = node.func
            last = getattr(called, "id", None) or getattr(called, "attr", None)
            if last in names:
                yield node


def _means_another(tree: ast.Module, name: str, defined_in: Path) -> bool:
    """Whether a file defines a name itself, or imports it from a module of another name."""
    own = (each for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef))
    if any(each.name == name for each in own):
        return True
    homes = {defined_in.stem, defined_in.parent.name, *(p.name for p in defined_in.parents[1:3])}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            bound = {each.asname or each.name for each in node.names}
            if name in bound:
                return not homes & set(node.module.split("."))
    return False
