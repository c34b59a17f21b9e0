"""Files read and parsed once a process, for as long as they do not change.

A folder of models is asked about one by one, and each question reads the same repository.
"""

import ast
import json
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

# Chosen: more than the files that are read of one repository.
_KEPT: Final = 1024
# The parser in C is ten times as fast; some builds of PyYAML are without it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedFile:
    """A file of Python.

    Attributes:
        tree: Its syntax tree; one without statements where it has errors.
        nodes: All nodes of the tree.
    """

    tree: ast.Module
    nodes: tuple[ast.AST, ...]


def text_of(path: Path) -> str:
    """A file's text, with marks in place of what is no UTF-8; empty where it cannot be read."""
    try:
        known = path.stat()
    except OSError:
        return ""
    return _text(path, known.st_mtime_ns, known.st_size)


def parsed_file(path: Path) -> ParsedFile:
    """A file of Python as it is now; an empty one where it cannot be read."""
    try:
        known = path.stat()
    except OSError:
        return ParsedFile(ast.Module([], []), ())
    return _parsed_file(path, known.st_mtime_ns, known.st_size)


def read_settings(path: Path) -> Any:  # noqa: ANN401
    """What a file of JSON or YAML holds; it is not to be changed.

    Raises:
        ValueError: It is neither.
        OSError: It cannot be read.
    """
    known = path.stat()
    return _settings(path, known.st_mtime_ns, known.st_size)


def parsed_text(text: str) -> ast.Module | None:
    """The syntax tree of a text; None where it has errors."""
    try:
        with warnings.catch_warnings():
            # Old repositories have invalid escapes in their texts.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


@lru_cache(_KEPT)
def _text(path: Path, _mtime_ns: int, _size: int) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""


@lru_cache(_KEPT)
def _parsed_file(path: Path, _mtime_ns: int, _size: int) -> ParsedFile:
    tree = parsed_text(text_of(path)) or ast.Module([], [])
    return ParsedFile(tree, tuple(ast.walk(tree)))


@lru_cache(_KEPT)
def _settings(path: Path, _mtime_ns: int, _size: int) -> Any:  # noqa: ANN401
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        return json.loads(text)
    try:
        return yaml.load(text, _LOADER)
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error
