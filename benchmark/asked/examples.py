"""The examples of an installed library: of its docstrings, its README, its tests."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from torch import nn

_FENCE: Final = re.compile(
    r"^[ \t]*```[ \t]*(?P<language>\w*)[^\n]*\n(?P<code>.*?)^[ \t]*```", re.DOTALL | re.MULTILINE
)
_LANGUAGES: Final = ("", "python", "py", "python3")
_DIRECTIVE: Final = re.compile(
    r"(?:::|code-block:: python|code:: python)[ \t]*\n(?P<code>(?:[ \t]*\n|[ \t]+[^\n]*\n)+)"
)


@dataclass(frozen=True, slots=True)
class Example:
    """Code that shows how something is used.

    Attributes:
        code: Python.
        place: Where it stands.
        names: What it may use without importing it: names of the module that it stands in.
    """

    code: str
    place: str
    names: dict[str, Any]


def modules_of(library: str) -> Iterator[ModuleType]:
    """All modules of a library that can be imported."""
    root = importlib.import_module(library)
    yield root
    for found in pkgutil.walk_packages(getattr(root, "__path__", ()), f"{library}.", _ignore):
        if ".tests" in found.name or found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        # A library's module may want what is not installed, or do anything.
        except (Exception, SystemExit):
            continue


def _ignore(_name: str) -> None:
    """A package that cannot be imported has no modules to walk."""


def classes_of(library: str) -> Iterator[type[nn.Module]]:
    """The public classes of modules that a library defines, each once, in the order of modules."""
    seen = set()
    for module in modules_of(library):
        for name, value in sorted(vars(module).items()):
            if not inspect.isclass(value) or not issubclass(value, nn.Module):
                continue
            is_here = value.__module__ == module.__name__ and value.__qualname__ == name
            if is_here and not name.startswith("_") and value not in seen:
                seen.add(value)
                yield value


def docstring_examples(library: str) -> Iterator[Example]:
    """The examples in what a library says of its modules, classes and functions."""
    for module in modules_of(library):
        names = dict(vars(module))
        texts = [(module.__name__, module.__doc__)]
        for name, value in sorted(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__:
                continue
            texts.append((f"{module.__name__}.{name}", getattr(value, "__doc__", None)))
            if inspect.isclass(value):
                methods = (getattr(value, method, None) for method in ("__init__", "forward"))
                texts += [(f"{module.__name__}.{name}", each.__doc__) for each in methods if each]
        for place, text in texts:
            for code in _codes(text or ""):
                yield Example(code, f"docstring of {place}", names)


def readme_examples(distribution: str) -> Iterator[Example]:
    """The examples of the description that a package was published with, its README mostly."""
    described = metadata.metadata(distribution).json
    for code in _codes(str(described.get("description", ""))):
        yield Example(code, f"README of {distribution}", {})


def page_examples(path: Path) -> Iterator[Example]:
    """The examples of a page of documentation that is not installed with the library."""
    for code in _codes(path.read_text()):
        yield Example(code, f"{path.name} of its repository", {})


def _codes(text: str) -> Iterator[str]:
    try:
        parts = doctest.DocTestParser().get_examples(text)
    except ValueError:
        parts = []
    if parts:
        yield "".join(part.source for part in parts)
    fenced = [
        found["code"] for found in _FENCE.finditer(text) if found["language"].lower() in _LANGUAGES
    ]
    for code in [*fenced, *(found["code"] for found in _DIRECTIVE.finditer(text))]:
        if ">>>" not in code and "(" in code:
            yield textwrap.dedent(code)


def statements(code: str) -> Iterator[Any]:
    """The statements of an example, compiled; those before a syntax error where it has one."""
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        lines = code.splitlines()[: (error.lineno or 1) - 1]
        if lines:
            yield from statements("\n".join(lines))
        return
    for statement in tree.body:
        yield compile(ast.Module([statement], []), "<example>", "exec")
