"""Files of a user: written whole or not at all, looked at first, and read again on change."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any, Final, Generic, TypeVar

from nar.base.errors import ConfigError, InvalidInputError

_PART: Final = ".part"


def write_whole(path: Path, write: Callable[[Path], object], *, survives: bool = False) -> None:
    """Write a file so that readers see the old one or the new one, and never a part.

    Args:
        path: Where the file shall be; its directory exists.
        write: Writes the whole content to the path that it gets, which lies in the same directory.
        survives: Whether the file is on the disk when this returns, so that it outlives the machine
            and not only this process; and whether another process may write it at the same time.
            Parts of processes that were killed are left, for `remove_parts`.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as directory:
        ...     path = Path(directory) / "note.txt"
        ...     write_whole(path, lambda part: part.write_text("whole"))
        ...     path.read_text()
        'whole'
    """
    own = f".{token_hex(4)}" if survives else ""
    part = path.with_name(f"{path.name}{own}{_PART}")
    try:
        write(part)
        if survives:
            _flush(part)
        part.replace(path)
        if survives:
            _flush(path.parent)
    except OSError:
        # A disk that is full needs the room.
        part.unlink(missing_ok=True)
        raise


def _flush(path: Path) -> None:
    """Have a file, or the names in a directory, written to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_parts(directory: Path) -> None:
    """Remove what killed writers have left in a directory in which nobody writes now."""
    for part in directory.glob(f"*{_PART}"):
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all, where a user wants it.

    Raises:
        InvalidInputError: It cannot be written.
    """
    try:
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be written: {error.strerror}") from error


def yaml_content(text: str) -> Any:  # noqa: ANN401
    """What a text of YAML holds: plain values, lists and mappings.

    The parser in C is ten times as fast as the one in Python; some builds of PyYAML are without it.

    Raises:
        yaml.YAMLError: It is no YAML.

    Example:
        >>> yaml_content("widths: [8, 16]")
        {'widths': [8, 16]}
    """
    # Imported here, because most modules that import this one read no YAML.
    import yaml

    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def check_readable(path: Path) -> None:
    """Check that a file which somebody has named can be read.

    Raises:
        ConfigError: The file cannot be read.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise ConfigError(f"cannot read {path.absolute()}: {error.strerror}") from error


log = logging.getLogger(__name__)

Content = TypeVar("Content")
Stamp = tuple[int, int, int]


class WatchedFiles(Generic[Content]):
    """The content of some files, read again at the first request after any file has changed.

    While changed files are at fault, their last good content stays. Several threads may ask.

    Args:
        name: What log lines call the files, a plural: ``the certificates``.
        paths: The files. They may be missing for a moment while they are replaced.
        read: Reads all the files; raises ConfigError or OSError if they are at fault.

    Attributes:
        is_stale: Whether the files have changed since, and could not be read.

    Raises:
        ConfigError: From the first reading.
        OSError: From the first reading.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as directory:
        ...     path = Path(directory) / "note.txt"
        ...     _ = path.write_text("old")
        ...     note = WatchedFiles("the notes", [path], path.read_text)
        ...     before = note.content()
        ...     _ = path.write_text("newer")
        ...     before, note.content()
        ('old', 'newer')
    """

    def __init__(self, name: str, paths: Sequence[Path], read: Callable[[], Content]) -> None:
        self._name = name
        self._paths = tuple(paths)
        self._read = read
        self._lock = Lock()
        # Taken before the files are read, so that a file that changes meanwhile is read again.
        self._stamps = self._stamps_now()
        self._content = read()
        self.is_stale = False

    def content(self) -> Content:
        """The content that the files have now, or had when they were last good."""
        with self._lock:
            stamps = self._stamps_now()
            if stamps != self._stamps:
                # Set first, so that the log has only one line for each fault.
                self._stamps = stamps
                self._read_again()
            return self._content

    def stop(self) -> None:
        """Read no file any more: the content stays."""
        with self._lock:
            self._paths, self._stamps = (), ()

    def _read_again(self) -> None:
        try:
            self._content = self._read()
        except (ConfigError, OSError) as error:
            self.is_stale = True
            log.warning("%s stay as they were: %s", self._name, error)
        else:
            self.is_stale = False
            log.info("%s were read again", self._name)

    def _stamps_now(self) -> tuple[Stamp | None, ...]:
        return tuple(map(_stamp_or_none, self._paths))


def stamp(path: Path) -> Stamp:
    """Values that change when a file is written or replaced.

    Raises:
        OSError: The file is missing, or its state cannot be read.
    """
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _stamp_or_none(path: Path) -> Stamp | None:
    try:
        return stamp(path)
    except OSError:
        return None
