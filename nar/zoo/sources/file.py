"""A user's own models: a factory in a Python file, an exported program, ONNX, a config.json."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from nar.architecture import Labels
from nar.capture import Capture, capture_exported, capture_onnx
from nar.errors import UnknownArchitectureError
from nar.zoo.sources.factories import capture_factory
from nar.zoo.sources.transformers.config_file import capture_config_file
from nar.zoo.spec import ArchitectureSpec

SOURCE = "file"

_READERS: dict[str, Callable[..., Capture]] = {
    ".pt2": capture_exported,
    ".onnx": capture_onnx,
    ".json": capture_config_file,
}


def is_file_name(name: str) -> bool:
    """Whether a name means a file: ``path/to/file.py:factory``, ``model.onnx``, ``config.json``."""
    path, factory = _path_and_factory(name)
    return bool(factory) or path.suffix in _READERS


def resolve_file(name: str) -> ArchitectureSpec:
    """The spec behind the name of a file, which is not read yet.

    Raises:
        UnknownArchitectureError: There is no such file.
    """
    path, factory = _path_and_factory(name)
    if not path.is_file():
        raise UnknownArchitectureError(f"{name}: there is no file {path}")
    labels = Labels(name=name, source=SOURCE, library=path.name, family="unknown", task="unknown")
    if factory:
        return ArchitectureSpec(labels, partial(capture_factory, path, factory, name=name))
    return ArchitectureSpec(labels, partial(_READERS[path.suffix], path, name=name))


def _path_and_factory(name: str) -> tuple[Path, str]:
    path, _, factory = name.rpartition(":")
    return (Path(path), factory) if path.endswith(".py") else (Path(name), "")
