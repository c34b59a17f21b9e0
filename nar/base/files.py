"""Files: whole or not at all when written, and read from the package they ship with."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from nar.base.errors import ConfigError, InvalidInputError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that readers see the old one or the new one, and never a part.

    Args:
        path: Where the file shall be; its directory exists.
        write: Writes everything to the path that it is given, which lies in the same directory.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as directory:
        ...     path = Path(directory) / "note.txt"
        ...     write_whole(path, lambda part: part.write_text("whole"))
        ...     path.read_text()
        'whole'
    """
    part = path.with_name(f"{path.name}.part")
    try:
        write(part)
        part.replace(path)
    except OSError:
        # A disk that is full needs the room.
        part.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all, where a user wants it.

    Raises:
        InvalidInputError: It cannot be written.
    """
    try:
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be written: {error.strerror}") from error


def package_path(*parts: str, package: str = "nar") -> Path:
    """Path of a file that ships with NAR, below the directory of its package.

    Example:
        >>> package_path("zoo", "demo.txt").name
        'demo.txt'
    """
    # NAR is installed as files, never as an archive: its data are read by memory map.
    return Path(str(files(package))).joinpath(*parts)


def package_text(*parts: str, package: str = "nar") -> str:
    """The text of a file that ships with NAR."""
    return package_path(*parts, package=package).read_text(encoding="utf-8")


@cache
def package_yaml(*parts: str, package: str = "nar") -> Any:  # noqa: ANN401
    """What a YAML file that ships with NAR says, read once. Shared: leave it as it is."""
    # Most of what imports this module reads no YAML.
    import yaml

    return yaml.safe_load(package_text(*parts, package=package))


def package_lines(*parts: str, package: str = "nar") -> list[str]:
    """The lines of a list that ships with NAR, without empty ones and comments (``#``)."""
    lines = package_text(*parts, package=package).splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def check_readable(path: Path) -> None:
    """See that a file which somebody has named can be read.

    Raises:
        ConfigError: It cannot.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise ConfigError(f"cannot read {path.absolute()}: {error.strerror}") from error
