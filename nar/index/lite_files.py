"""The files of a Milvus Lite index: damage is found before they are read, writes reach the disk.

Milvus Lite would go on with fewer rows where a file is damaged, and waits for no disk.
"""

import json
import os
import shutil
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any, Final

from nar.base.errors import IndexUnavailableError
from nar.base.files import Stamp, stamp
from nar.index.settings import is_lite

_AGAIN: Final = "build the index again or restore a snapshot of it"
WAY_OUT: Final = f"delete that directory, then {_AGAIN}"

# Milvus Lite would take a manifest without these keys for a manifest of other rows, or of no rows.
_KEYS: Final = frozenset(
    {"version", "current_seq", "active_wal_number", "partitions", "index_specs"}
)
_KINDS: Final = frozenset({"data_files", "delta_files"})
# The keys that say how vectors are indexed. A search of vectors that are indexed otherwise finds
# nothing.
_INDEX: Final = frozenset({"field_name", "index_type", "metric_type"})


class DamagedIndexError(IndexUnavailableError):
    """A row reads back otherwise than it was written, or a file of Milvus Lite is broken."""


def way_out(uri: str) -> str:
    """What to do where rows of an index are damaged: a directory of Milvus Lite has to be deleted.

    Example:
        >>> way_out("http://127.0.0.1:19530")
        'build the index again or restore a snapshot of it'
    """
    return WAY_OUT if is_lite(uri) else _AGAIN


def check_files(database: Path) -> None:
    """Check that the files of published collections, to which an alias leads, are whole.

    In place of a manifest that it cannot read, Milvus Lite takes the manifest before, which has
    fewer rows, and it ignores that files of rows are missing. A collection to which no alias
    leads may be incomplete, because a build or a drop was killed.

    Args:
        database: Directory of a Milvus Lite index; no process writes there.

    Raises:
        DamagedIndexError: Names the file and the way out.
    """
    names = database / "aliases.json"
    aliases = _json(names) if names.exists() else {}
    for name in sorted(set(aliases.values())):
        collection = database / "collections" / name
        _json(collection / "schema.json")
        _check_indexes(collection)
        for file in _listed(collection):
            if not file.is_file():
                raise _damaged(database, f"{file.relative_to(database)} is missing")


def remove_unmade(database: Path) -> None:
    """Remove the files of collections that were not made to the end: killed, or out of room.

    Milvus Lite sees no collection there, but cannot make a collection of that name either.

    Args:
        database: Directory of a Milvus Lite index that this process holds; `check_files` passed.
    """
    for schema in (path / "schema.json" for path in (database / "collections").iterdir()):
        if not schema.exists():
            shutil.rmtree(schema.parent)


def _check_indexes(collection: Path) -> None:
    """Check that the manifest of a collection says how its vectors are indexed."""
    indexes = _json(collection / "manifest.json", _KEYS)["index_specs"]
    if not (
        isinstance(indexes, dict)
        and indexes
        and all(isinstance(each, dict) and each.keys() >= _INDEX for each in indexes.values())
    ):
        raise _damaged(collection.parents[1], f"{collection.name} has no index of its vectors")


def _listed(collection: Path) -> Iterator[Path]:
    """The files of rows that the manifest of a collection names."""
    for name, files in _json(collection / "manifest.json", _KEYS)["partitions"].items():
        if not (isinstance(files, dict) and files.keys() >= _KINDS):
            raise _damaged(collection.parents[1], f"{collection.name} has no lists of files")
        for kind in _KINDS:
            yield from (collection / "partitions" / name / file for file in files[kind])


def _json(path: Path, keys: Set[str] = frozenset()) -> dict[str, Any]:
    """The content of a file of Milvus Lite, which must have these keys and may have others."""
    database = path.parent if path.name == "aliases.json" else path.parents[2]
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(database, f"{path.relative_to(database)}: {error}") from error
    if not (isinstance(content, dict) and content.keys() >= keys):
        raise _damaged(database, f"{path.relative_to(database)} lacks what it should say")
    return content


def _damaged(database: Path, reason: str) -> DamagedIndexError:
    return DamagedIndexError(f"the index at {database} is damaged ({reason}); {WAY_OUT}")


class Synced:
    """The directory of a Milvus Lite index, whichever process writes there.

    Args:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced: dict[Path, Stamp] = {}

    def sync(self) -> None:
        """Return when everything that was written is on the disk.

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
