"""Files read and parsed once a process, for as long as they do not change.

A folder of models is asked about one by one, and each question reads the same repository.
"""

import ast
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from nar.base.files import yaml_content

# Chosen: more than the files that are read of one repository.
_KEPT: Final = 1024
# A place in the same file that a value is taken from: ``${model.width}``.
_INTERPOLATION: Final = re.compile(r"\$\{([\w.]+)\}")
_LEFT_OPEN: Final = "???"  # omegaconf's mark of a value that a script gives
_NESTED: Final = 8  # Chosen: a value that leads further leads in a circle

_OPEN: Final = object()  # stands for a value that the file does not hold


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
        held = yaml_content(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return interpolated(held, held) if "${" in text or _LEFT_OPEN in text else held


def interpolated(held: Any, whole: Any, depth: int = 0) -> Any:  # noqa: ANN401
    """Settings with the values that they take from other places of their file, as hydra has them.

    What a script gives and what another file holds is left out: nobody takes its mark for a value.

    Args:
        held: A part of the file.
        whole: All of it.
        depth: Places that lead to this one.

    Example:
        >>> interpolated({"a": "${b.c}", "d": "???"}, {"b": {"c": 3}})
        {'a': 3}
    """
    if isinstance(held, Mapping):
        found = ((key, interpolated(value, whole, depth)) for key, value in held.items())
        return {key: value for key, value in found if value is not _OPEN}
    if isinstance(held, list):
        values = (interpolated(value, whole, depth) for value in held)
        return [value for value in values if value is not _OPEN]
    if not isinstance(held, str):
        return held
    if held == _LEFT_OPEN or depth > _NESTED:
        return _OPEN
    alone = _INTERPOLATION.fullmatch(held)
    if alone is None:
        return _OPEN if held.startswith("${") else held
    place = whole
    for key in alone[1].split("."):
        if not isinstance(place, Mapping) or key not in place:
            return _OPEN
        place = place[key]
    return interpolated(place, whole, depth + 1)
