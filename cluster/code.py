"""Digest of the code that decides a result: a module, and all of `nar` that it imports.

Comments, docstrings and layout do not count: a capture of hours outlives their editing.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nar
from cluster.ledger import digest, file_digest

ROOT = Path(nar.__file__).parents[1]
_DATA_SUFFIXES = (".yaml", ".txt", ".csv", ".json")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ModuleCode:
    """What one module says.

    Attributes:
        digest: Of its syntax tree and of the data files that it names.
        imports: Modules of `nar` that it imports.
    """

    digest: str
    imports: frozenset[str]


def closure(module: str, *, without: tuple[str, ...] = ()) -> dict[str, ModuleCode]:
    """A module and all modules of `nar` that it imports, directly or not, by dotted name.

    Args:
        module: Dotted name of a module of `nar`.
        without: Packages that are left out, with what only they import.
    """
    found: dict[str, ModuleCode] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and not _is_within(name, without):
            found[name] = read_module(name)
            waiting.extend(found[name].imports)
    return dict(sorted(found.items()))


def closure_digest(module: str, *, without: tuple[str, ...] = ()) -> str:
    """One digest for all of `closure`."""
    modules = closure(module, without=without)
    return digest(*(part for name, code in modules.items() for part in (name, code.digest)))


def _is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@cache
def read_module(name: str) -> ModuleCode:
    """Parse one module of `nar`."""
    path = _path(name)
    assert path is not None, f"{name} is a module of nar"
    tree = ast.parse(path.read_bytes())
    imports = frozenset(_imports(tree))
    _strip_docstrings(tree)
    texts = frozenset(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    data = sorted(text for text in texts if text.endswith(_DATA_SUFFIXES))
    contents = (file_digest(path.parent / name) for name in data)
    return ModuleCode(digest(ast.dump(tree), *contents), imports)


def _path(name: str) -> Path | None:
    base = ROOT.joinpath(*name.split("."))
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if _is_within(name, ("nar",)) and _path(name))


def _strip_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
