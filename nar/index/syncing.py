"""What Milvus Lite has written reaches the disk: it does not wait for that itself."""

import os
from pathlib import Path

from nar.base.errors import IndexUnavailableError
from nar.base.watched import Stamp, stamp


class Synced:
    """The directory of an embedded index, whichever process writes there.

    Args:
        path: Which.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced: dict[Path, Stamp] = {}

    def sync(self) -> None:
        """Return when the disk has what was written.

        Raises:
            IndexUnavailableError: The disk refuses.
        """
        for path in self._path.rglob("*"):
            try:
                current = stamp(path)
                if self._synced.get(path) != current:
                    _sync(path)
                    self._synced[path] = current
            except FileNotFoundError:
                continue  # Milvus Lite compacts in the background
            except OSError as error:
                reason = f"{path} cannot be written to its disk: {error.strerror}"
                raise IndexUnavailableError(reason) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
