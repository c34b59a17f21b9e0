"""The classes of modules that a folder of Python files defines, read without running any of it.

A class is one of modules by its bases: one of a library's, or a class of the folder that is one. It
is a part of another where the other's body names it, and not for its type alone.
"""

import ast
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

# Last parts of the names of bases, by whether they bring a forward.
_BASES: Final[Mapping[str, bool]] = {
    "Module": False,
    "LightningModule": False,
    "PreTrainedModel": False,
    "ModelMixin": False,
    "BaseModule": False,
    "Sequential": True,
}
# A class that is named here alone is no part.
_ASKS: Final = frozenset({"isinstance", "issubclass"})
_ANNOTATIONS: Final = frozenset({"annotation", "returns"})
_LEFT_OUT: Final = re.compile(
    r"^(\..*|__pycache__|node_modules|site-packages|venv|env|build|dist|wandb|.*\.egg-info)$"
)
_TESTS: Final = re.compile(r"(^|_)tests?(_|\.|$)")
# Chosen: repositories of research code have fewer files, and longer ones are made by programs.
_MOST_FILES: Final = 700
_MOST_BYTES: Final = 400_000  # of a file
# Chosen: a home or a disk has more, and is no repository; so many take three seconds.
_MOST_ENTRIES: Final = 50_000


@dataclass(frozen=True, slots=True)
class DefinedModule:
    """A class of modules.

    Attributes:
        path: Its file.
        name: Name of the class.
        line: Where it stands in the file.
        reach: How many other classes of the folder it is made of, directly or by way of others.
        is_part: Whether another class of the folder names it.
    """

    path: Path
    name: str
    line: int
    reach: int
    is_part: bool

    @property
    def spec(self) -> str:
        """What `nar search` takes for it: ``path/to/file.py:Class``."""
        return f"{self.path}:{self.name}"


def modules_of(code: Path) -> tuple[DefinedModule, ...]:
    """The classes of modules in a folder and in the folders below it, the outermost first.

    First come those that no other names, and among these the ones that are made of most others;
    what lies in tests comes last.

    Args:
        code: The folder, or one file; files that cannot be parsed are passed over.
    """
    found = [
        (path, node)
        for path in ([code] if code.is_file() else _files(code))
        for node in _statements(path)
        if isinstance(node, ast.ClassDef)
    ]
    classes = {node.name: node for _, node in found}
    modules = {name for name in classes if _is_module(name, classes)}
    named = {name: _named(classes[name]) & modules - {name} for name in modules}
    reach = {name: _below(name, named.__getitem__) - {name} for name in modules}
    # Two classes that name each other are parts of nothing.
    parts = {part for name in modules for part in reach[name] if name not in reach[part]}
    listed = [
        DefinedModule(path, node.name, node.lineno, len(reach[node.name]), node.name in parts)
        for path, node in found
        if node.name in modules
    ]
    return tuple(sorted(listed, key=lambda each: _order(each, code)))


def _order(each: DefinedModule, code: Path) -> tuple[bool, bool, int, Path, int]:
    is_test = any(_TESTS.search(part) for part in each.path.relative_to(code).parts)
    return is_test, each.is_part, -each.reach, each.path, each.line


def _files(folder: Path) -> Iterator[Path]:
    found = (path for path in islice(_entries(folder), _MOST_ENTRIES) if path.suffix == ".py")
    fitting = (path for path in found if path.is_file() and path.stat().st_size <= _MOST_BYTES)
    return islice(fitting, _MOST_FILES)


def _entries(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _LEFT_OUT.match(name))
        yield from (Path(here, name) for name in sorted(files))


def _statements(path: Path) -> list[ast.stmt]:
    """The outermost statements of a file; none where it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            # Old files have invalid escapes in their texts.
            warnings.simplefilter("ignore")
            return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []


def _is_module(name: str, classes: Mapping[str, ast.ClassDef]) -> bool:
    """Whether a class derives from a base of modules, and has a forward or inherits one."""
    line = _below(name, lambda each: _bases(classes[each]) if each in classes else set())
    return bool(line & _BASES.keys()) and any(
        _BASES.get(each, False) or (each in classes and _has_forward(classes[each]))
        for each in line
    )


def _has_forward(node: ast.ClassDef) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(each, kinds) and each.name == "forward" for each in node.body)


def _bases(node: ast.ClassDef) -> set[str]:
    return {_last(base) for base in node.bases}


def _named(node: ast.ClassDef) -> set[str]:
    """Last parts of the names in the body of a class that may make something."""
    return {name for part in node.body for name in _names(part)}


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _last(node.func) in _ASKS:
        return
    if name := _last(node):
        yield name
    for field, value in ast.iter_fields(node):
        if field not in _ANNOTATIONS:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from _names(each)


def _last(node: ast.AST) -> str:
    """The last part of a dotted name; empty for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _below(name: str, next_of: Callable[[str], set[str]]) -> set[str]:
    """A name and all that it leads to."""
    waiting, seen = [name], {name}
    while waiting:
        new = next_of(waiting.pop()) - seen
        seen |= new
        waiting.extend(new)
    return seen
