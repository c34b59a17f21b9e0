"""Expressions of a repository's files, found now and worked out when they are asked for."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class UnknownValueError(Exception):
    """An expression whose value cannot be worked out without running more than definitions."""


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An expression at its place.

    Attributes:
        path: The file.
        tree: The syntax tree that it stands in: of the file, or of a block in a README.
        node: The expression.
    """

    path: Path
    tree: ast.Module
    node: ast.expr

    def beside(self, node: ast.expr) -> "Expression":
        """Another expression of the same file."""
        return Expression(self.path, self.tree, node)


def literal(node: ast.expr) -> Any:  # noqa: ANN401
    """The value of an expression that is a literal.

    Raises:
        UnknownValueError: It is none.
    """
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise UnknownValueError(ast.unparse(node)[:60]) from error


def enclosing_functions(tree: ast.Module, line: int) -> list[ast.FunctionDef]:
    """The functions that a line stands in, the inner first."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return sorted(around, key=lambda node: node.lineno, reverse=True)


def enclosing_class(tree: ast.Module, line: int) -> ast.ClassDef | None:
    """The innermost class that a line stands in."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def parameters(function: ast.FunctionDef) -> list[str]:
    """Names of a function's parameters but for ``*args`` and ``**kwargs``, a method's self too."""
    own = function.args
    return [each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs)]


def default_of(function: ast.FunctionDef, name: str) -> ast.expr | None:
    """The default of a parameter; None where it has none."""
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    last = positional[len(positional) - len(own.defaults) :]
    pairs = [*zip(last, own.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(own.kwonlyargs, own.kw_defaults, strict=True) if d is not None]
    return next((default for parameter, default in pairs if parameter.arg == name), None)
