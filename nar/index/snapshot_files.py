"""The files of a snapshot: a manifest, and shards of rows in Parquet, each with its digest.

A row of a shard is a row of the index: its columns, its vector, and the digest over both.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from nar.base.errors import NarError
from nar.base.files import write_whole
from nar.index.records import StoredRow
from nar.index.rows import COLUMNS, COUNTS, IndexRow

FORMAT_VERSION: Final = 1
MANIFEST: Final = "manifest.json"
_ANOTHER: Final = "restore another snapshot"


class SnapshotError(NarError):
    """A snapshot that is missing, damaged, or of another version."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Shard(_Record):
    """One Parquet file: its name beside the manifest, its number of rows, its sha256 (hex)."""

    file: str
    rows: int
    sha256: str


class Snapshot(_Record):
    """The manifest of a snapshot.

    Attributes:
        format_version: Of these files.
        schema_version: Of the columns of the index.
        collection: The one that was read.
        encoder: Fingerprint of the encoder whose vectors these are.
        dim: Their length.
        taken: When it was complete, ISO 8601.
        rows: How many there are.
        digest: `RowsDigest` of all of them.
        shards: The files, in the order of ids.
        seal: Sha256 (hex) of everything above.
    """

    format_version: int = FORMAT_VERSION
    schema_version: int
    collection: str
    encoder: str
    dim: int
    taken: str
    rows: int
    digest: str
    shards: tuple[Shard, ...]
    seal: str = ""

    def sealed(self) -> Self:
        """The same with the seal that belongs to it."""
        text = self.model_dump_json(exclude={"seal"})
        return self.model_copy(update={"seal": sha256(text.encode()).hexdigest()})

    def write(self, directory: Path) -> None:
        """Write the manifest, whole or not at all."""
        write_whole(directory / MANIFEST, lambda part: part.write_bytes(self._text()))

    def _text(self) -> bytes:
        return self.model_dump_json(indent=2).encode() + b"\n"

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Read the manifest of a snapshot.

        Raises:
            SnapshotError: There is none, or it is not as it was written.
        """
        path = directory / MANIFEST
        try:
            content = path.read_bytes()
            manifest = cls.model_validate_json(content)
        except OSError as error:
            raise SnapshotError(f"no snapshot at {directory} ({path}: {error.strerror})") from error
        except ValidationError as error:
            raise SnapshotError(f"{path} is damaged, or of another version; {_ANOTHER}") from error
        if manifest._text() != content or manifest.sealed() != manifest:
            raise SnapshotError(f"{path} is damaged: its seal does not fit; {_ANOTHER}")
        return manifest


class RowsDigest:
    """One digest over rows that come in the order of their ids.

    Example:
        >>> told = RowsDigest()
        >>> told.add("a", "1")
        >>> len(told.hex())
        64
    """

    def __init__(self) -> None:
        self._hash = sha256()

    def add(self, key: str, digest: str) -> None:
        """Take one row in, by its id and its digest."""
        self._hash.update(f"{key} {digest}\n".encode())

    def hex(self) -> str:
        """What the rows so far come to."""
        return self._hash.hexdigest()


def write_shard(path: Path, stored: Sequence[StoredRow], dim: int) -> Shard:
    """Write some rows, whole or not at all.

    Args:
        path: Of the file.
        stored: At least one row.
        dim: Length of their vectors.
    """
    rows = [each.row for each in stored]
    columns = {
        name: pa.array([getattr(row, name) for row in rows], _type(name)) for name in COLUMNS
    }
    vectors = pa.array(np.stack([row.embedding for row in rows]).ravel())
    table = pa.table(
        {
            **columns,
            "digest": pa.array([each.digest for each in stored], pa.string()),
            "embedding": pa.FixedSizeListArray.from_arrays(vectors, dim),
        }
    )
    write_whole(path, lambda part: pq.write_table(table, part, compression="zstd"))
    return Shard(file=path.name, rows=len(rows), sha256=sha256(path.read_bytes()).hexdigest())


def _type(column: str) -> pa.DataType:
    return pa.int64() if column in COUNTS else pa.string()


def shard_bytes(path: Path, shard: Shard) -> bytes:
    """What a file holds, if that is what was written.

    Raises:
        SnapshotError: Names a file that is missing or not as it was written.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read ({error.strerror}); {_ANOTHER}") from error
    if sha256(content).hexdigest() != shard.sha256:
        raise SnapshotError(f"{path} is damaged: its digest is another; {_ANOTHER}")
    return content


def read_shard(path: Path, shard: Shard) -> list[IndexRow]:
    """Read the rows of a file, in the order in which they were written.

    Raises:
        SnapshotError: Names a file that is missing or not as it was written.
    """
    table = pq.ParquetFile(pa.BufferReader(shard_bytes(path, shard))).read()
    flat = table.column("embedding").combine_chunks().flatten().to_numpy()
    vectors = flat.reshape(len(table), -1)
    columns = [table.column(name).to_pylist() for name in COLUMNS]
    rows = [
        IndexRow(**dict(zip(COLUMNS, values, strict=True)), embedding=vector)
        for *values, vector in zip(*columns, vectors, strict=True)
    ]
    if [row.digest() for row in rows] != table.column("digest").to_pylist():
        raise SnapshotError(f"{path} holds rows that are not as they were read; {_ANOTHER}")
    return rows
