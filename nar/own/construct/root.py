"""The root of the repository that a file lies in, and what belongs on the path for its imports."""

import ast
import tempfile
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

# Written where a repository is started, so the nearest ends the search.
_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
# Sub-folders have these too, so the outermost is taken.
_READMES = ("README.md", "README.rst", "README.txt", "README", "requirements.txt")
# Chosen: repositories nest their models at most so deep; a home with a README is not reached.
_LEVELS = 7


def repository_root(path: Path) -> Path:
    """The folder of the repository that a file belongs to; its own folder where nothing tells.

    It is the nearest folder that bears the marks of a repository, else the outermost one with a
    README, else the one in which a package lies that the file imports and nobody has installed.
    """
    folder = path.resolve().parent
    above = list(_folders_above(folder))
    marked = next((each for each in above if _has_one_of(each, _MARKS)), None)
    if marked is not None:
        return marked
    described = [each for each in above if _has_one_of(each, _READMES)]
    return described[-1] if described else _holder_of_imports(path, above) or _top(folder)


def is_repository(root: Path) -> bool:
    """Whether a folder bears the marks of a repository or a README."""
    return _has_one_of(root, (*_MARKS, *_READMES))


def import_folders(root: Path, path: Path) -> list[str]:
    """Folders that an editable install of the repository puts on the path, and the file's own.

    Also that from which scripts import the file: the one above it that holds what it imports.
    """
    whole = path.resolve()
    between = [each for each in whole.parents if each.is_relative_to(root) and each != root]
    holding = [each for each in between if _holds(each, _imported_by(whole))]
    folders = [root, root / "src", *holding[-1:], whole.parent]
    return [str(folder) for folder in dict.fromkeys(folders) if folder.is_dir()]


def imported_packages(tree: ast.Module) -> set[str]:
    """First parts of the names that a file imports, its relative imports left out."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _folders_above(folder: Path) -> Iterator[Path]:
    """The folder and those above it, up to the home, the temporary folder or the disk's root."""
    ends = {Path.home(), Path(tempfile.gettempdir()).resolve(), Path(folder.anchor)}
    for each in (folder, *folder.parents)[:_LEVELS]:
        if each in ends:
            return
        yield each


def _has_one_of(folder: Path, names: tuple[str, ...]) -> bool:
    return any((folder / name).exists() for name in names)


def _imported_by(path: Path) -> set[str]:
    try:
        return imported_packages(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError):  # running the file reports it
        return set()


def _holds(folder: Path, packages: Iterable[str]) -> bool:
    return any((folder / each).is_dir() or (folder / f"{each}.py").is_file() for each in packages)


def _holder_of_imports(path: Path, above: list[Path]) -> Path | None:
    missing = [each for each in _imported_by(path) if PathFinder.find_spec(each) is None]
    return next((folder for folder in above[1:] if _holds(folder, missing)), None)


def _top(folder: Path) -> Path:
    """The folder above the outermost package that a folder belongs to, or the folder itself."""
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder
