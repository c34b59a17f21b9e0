"""The files of a repository, each found, read and parsed once; bounded in number and bytes."""

import ast
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from nar.own.construct.evidence.parsed import parsed_file, parsed_text, text_of
from nar.own.construct.root import is_repository, repository_root

# Chosen: repositories of research code have fewer; of the others the nearest files are read.
_MOST_PYTHON = 700
_MOST_SETTINGS = 300  # files of settings that are read
SETTINGS_ENDINGS = frozenset({".json", ".yaml", ".yml"})
_MOST_ENTRIES = 20_000  # files and folders that are looked at at all
_MOST_BYTES = 400_000  # a longer file is generated, or data
_MOST_SETTINGS_BYTES = 60_000  # a longer file holds data rather than settings
_LEFT_OUT = re.compile(
    r"^(\..*|__pycache__|node_modules|site-packages|venv|env|build|dist|wandb|.*\.egg-info)$"
)
_TESTS = re.compile(r"(^|_)tests?(_|\.|$)")
_TEST_DISTANCE = 9  # tests come after all that is not a test: deeper repositories are not seen
_PYTHON_BLOCK = re.compile(r"```(?:python|py|Python)\s*\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(r"\bpython3?\b|torchrun|accelerate launch|^\s*--\w")
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)[ =]+((?:[^\s-]|-\d)\S*)")


class Repository:
    """One repository as text, seen from one of its files.

    Attributes:
        path: The file that was asked about.
        root: The folder of the repository.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.root = repository_root(path)

    @cached_property
    def python_files(self) -> tuple[Path, ...]:
        """Its Python files, the nearest to the asked one first, tests last."""
        found = self._nearest(lambda path: path.suffix == ".py", _MOST_BYTES)
        return tuple(dict.fromkeys((self.path, *found[:_MOST_PYTHON])))

    @cached_property
    def settings_files(self) -> tuple[Path, ...]:
        """Its files of YAML and JSON, the nearest first."""
        found = self._nearest(lambda path: path.suffix in SETTINGS_ENDINGS, _MOST_SETTINGS_BYTES)
        return tuple(found[:_MOST_SETTINGS])

    @cached_property
    def readme_code(self) -> tuple[tuple[Path, ast.Module], ...]:
        """The blocks of Python in its READMEs and documents, the outermost file first."""
        found = []
        for path in self._documents:
            for block in _PYTHON_BLOCK.findall(self.text(path)):
                text = re.sub(r"^(>>>|\.\.\.) ?", "", block, flags=re.MULTILINE)
                tree = parsed_text(text)
                if tree is not None:
                    found.append((path, tree))
        return tuple(found)

    @cached_property
    def commands(self) -> tuple[tuple[str, dict[str, str]], ...]:
        """The commands in READMEs and shell scripts: where they stand, and the values of flags."""
        scripts = self._nearest(lambda path: path.suffix == ".sh", _MOST_SETTINGS_BYTES)
        found = []
        for path in (*self._documents, *scripts):
            lines = self.text(path).replace("\\\n", " ").splitlines()
            for line in lines:
                if _COMMAND.search(line):
                    flags = {
                        name.replace("-", "_"): value.strip("'\"`")
                        for name, value in _FLAG.findall(line)
                    }
                    found.append((self.relative(path), flags))
        return tuple(found)

    def text(self, path: Path) -> str:
        """A file's text, with marks in place of what is no UTF-8; empty where it cannot be read."""
        return text_of(path)

    def tree(self, path: Path) -> ast.Module:
        """A Python file's syntax tree; one without statements where it has errors."""
        return parsed_file(path).tree

    def nodes(self, path: Path) -> tuple[ast.AST, ...]:
        """All nodes of a Python file's syntax tree."""
        return parsed_file(path).nodes

    def relative(self, path: Path) -> str:
        """A file's path as it is written below the root."""
        whole = path.resolve()
        inside = whole.is_relative_to(self.root)
        return whole.relative_to(self.root).as_posix() if inside else str(path)

    def distance(self, path: Path) -> int:
        """Folders on the way from the asked file to another; tests lie behind all others."""
        here, there = self.path.parent.parts, path.parent.parts
        pairs = zip(here, there, strict=False)
        shared = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(here), len(there)))
        return len(here) + len(there) - 2 * shared + _TEST_DISTANCE * self.is_test(path)

    def is_test(self, path: Path) -> bool:
        """Whether a file is one of tests, by the names of it and of its folders.

        A file that reads a command line is a script, which tests a trained model.
        """
        *folders, name = path.relative_to(self.root).parts
        if any(map(_TESTS.search, folders)):
            return True
        return bool(_TESTS.search(name)) and "ArgumentParser" not in self.text(path)

    @cached_property
    def _documents(self) -> tuple[Path, ...]:
        found = [path for path in self._files if path.suffix in {".md", ".rst"}]
        return tuple(sorted(found, key=lambda path: (len(path.parts), path.name))[:30])

    def _nearest(self, is_wanted: Callable[[Path], bool], most_bytes: int) -> list[Path]:
        found = [
            path for path in self._files if is_wanted(path) and path.stat().st_size <= most_bytes
        ]
        return sorted(found, key=lambda path: (self.distance(path), str(path)))

    @cached_property
    def _files(self) -> tuple[Path, ...]:
        is_whole = is_repository(self.root)
        # A folder that bears no marks may be anything, a home or a disk: it is not gone through.
        depth = None if is_whole or self.root != self.path.parent else 1
        if self.root in {Path.home(), Path(tempfile.gettempdir()).resolve()}:
            depth = 0
        return tuple(_walk(self.root, depth))


def _walk(root: Path, depth: int | None) -> Iterator[Path]:
    left = _MOST_ENTRIES
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        level = len(here.relative_to(root).parts)
        folders[:] = sorted(name for name in folders if not _LEFT_OUT.match(name))
        if depth is not None and level >= depth:
            folders.clear()
        for name in sorted(files):
            left -= 1
            if left < 0:
                return
            path = here / name
            if path.is_file():
                yield path
