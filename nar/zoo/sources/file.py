"""A user's own models: a factory in a Python file, an exported program, ONNX, a config.json."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from nar.base.errors import InvalidInputError, UnknownArchitectureError
from nar.capture import Capture, capture_exported, capture_onnx
from nar.graphs.architecture import UNKNOWN, Labels
from nar.zoo.sources.factories import capture_factory
from nar.zoo.sources.transformers.config_file import capture_config_file
from nar.zoo.sources.user_code import read_arguments
from nar.zoo.spec import ArchitectureSpec

SOURCE = "file"
_FACTORY: Final = re.compile(r"(?P<path>.*\.py):(?P<factory>\w+)(?P<arguments>\(.*\))?", re.DOTALL)

_READERS: dict[str, Callable[..., Capture]] = {
    ".pt2": capture_exported,
    ".onnx": capture_onnx,
    ".json": capture_config_file,
}


def is_file_name(name: str) -> bool:
    """Whether a name means a file: ``path/to/file.py:factory``, ``model.onnx``, ``config.json``."""
    return bool(_FACTORY.fullmatch(name)) or Path(name).suffix in _READERS


def resolve_file(name: str, input_shape: Sequence[int] | None = None) -> ArchitectureSpec:
    """The spec behind the name of a file, which is not read yet.

    Args:
        name: A file, or a factory in one, with arguments or without: ``net.py:make(64)``.
        input_shape: Of a tensor that a factory's module is given, whatever inputs it brings.

    Raises:
        UnknownArchitectureError: There is no such file.
        InvalidInputError: The arguments are no values, or a shape is given for no factory.
    """
    named = _FACTORY.fullmatch(name)
    path = Path(named["path"] if named else name)
    if not path.is_file():
        raise UnknownArchitectureError(f"{name}: there is no file {path}")
    labels = Labels(name=name, source=SOURCE, library=path.name, family=UNKNOWN, task=UNKNOWN)
    if named:
        arguments = read_arguments(named["arguments"] or "")
        capture = partial(capture_factory, path, named["factory"], arguments, input_shape)
        return ArchitectureSpec(labels, partial(capture, name=name))
    if input_shape:
        raise InvalidInputError(name, "wanted an input shape for path/to/file.py:factory only")
    return ArchitectureSpec(labels, partial(_READERS[path.suffix], path, name=name))
