"""Where a corpus lies: a directory that this machine mounts, or the URI of an object store.

Workers of a cluster read their parts of a corpus themselves, so its location has to mean the same
everywhere: a path on storage that every node mounts, or the URI of any file system that pyarrow
opens (``s3://bucket/corpus``, ``gs://``, ``abfs://``, ``hdfs://``). A corpus is written to a path.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from nar.base.errors import InvalidInputError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


@dataclass(frozen=True, slots=True)
class RemotePath:
    """A directory of another file system, or a file in it; readable as a `pathlib.Path` is.

    Attributes:
        directory: URI of the directory as pyarrow reads it, options behind ``?`` included.
        file: Path of the file from there; empty for the directory.

    Example:
        >>> path = RemotePath("s3://key:secret@zoo/corpus?region=eu-west-1") / "manifest.json"
        >>> path.name, str(path)
        ('manifest.json', 's3://zoo/corpus/manifest.json')
    """

    directory: str = field(repr=False)
    file: str = ""

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(self.directory, f"{self.file}/{name}" if self.file else name)

    def __str__(self) -> str:
        # Neither a key nor an option that may hold one is shown in an error or a log.
        parts = urlsplit(self.directory)
        bucket, path = parts.netloc.rpartition("@")[2], parts.path.rstrip("/")
        return f"{parts.scheme}://{bucket}{path}" + (f"/{self.file}" if self.file else "")

    @property
    def name(self) -> str:
        """What stands behind the last slash."""
        return str(self).rpartition("/")[2]

    def absolute(self) -> "RemotePath":
        """This path itself: no URI depends on where a process runs."""
        return self

    def read_bytes(self) -> bytes:
        """The bytes of the file.

        Raises:
            OSError: There is no file (`FileNotFoundError`), or it cannot be read.
        """
        system, root = _opened(self.directory)
        with system.open_input_file(f"{root.rstrip('/')}/{self.file}") as file:
            content: bytes = file.read()
        return content


Location: TypeAlias = Path | RemotePath


def located(text: str) -> Location:
    """A directory as somebody writes it: a path, or a URI.

    Raises:
        InvalidInputError: pyarrow opens no file system of that URI.

    Example:
        >>> located("work/corpus").name
        'corpus'
    """
    if "://" not in text:
        return Path(text)
    import pyarrow as pa

    path = RemotePath(text)
    try:
        _opened(text)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].replace(text, str(path))
        raise InvalidInputError(
            "corpus", f"wanted a path, or a URI that pyarrow opens, came {path}: {reason}"
        ) from error
    return path


@cache
def _opened(uri: str) -> "tuple[FileSystem, str]":
    """The file system of a URI, and the path in it; a process opens it once."""
    # Imported here, for it loads the libraries of the object stores.
    from pyarrow.fs import FileSystem

    system, root = FileSystem.from_uri(uri)
    return system, root
