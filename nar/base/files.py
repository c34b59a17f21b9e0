"""Files of a user: written whole or not at all, and looked at before they are read."""

from collections.abc import Callable
from pathlib import Path

from nar.base.errors import ConfigError, InvalidInputError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that readers see the old one or the new one, and never a part.

    Args:
        path: Where the file shall be; its directory exists.
        write: Writes the whole content to the path that it gets, which lies in the same directory.

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


def check_readable(path: Path) -> None:
    """Check that a file which somebody has named can be read.

    Raises:
        ConfigError: The file cannot be read.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise ConfigError(f"cannot read {path.absolute()}: {error.strerror}") from error
