"""Snapshots: every row of the published collection in files, from which an index is restored.

The files are a manifest, and shards of rows in Parquet, each with its digest. A row of a shard is
a row of the index: its columns, its vector, and the digest over both.
"""

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from nar.base.errors import IndexMismatchError, IndexUnavailableError, NarError
from nar.base.files import write_whole
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import Advance, IndexBuild
from nar.index.collection import SCHEMA_VERSION, Collection
from nar.index.dialect import StoredRow
from nar.index.lite import DamagedIndexError
from nar.index.rows import COLUMNS, COUNTS, OWN, IndexRow

# The version of the format of the files: counts up with every change.
FORMAT_VERSION: Final = 1
MANIFEST: Final = "manifest.json"
_ANOTHER: Final = "restore another snapshot"


class SnapshotError(NarError):
    """A snapshot that is missing, damaged, or of another version."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SnapshotShard(_Record):
    """One Parquet file: its name beside the manifest, its number of rows, its sha256 (hex)."""

    file: str
    rows: int
    sha256: str


class Snapshot(_Record):
    """The manifest of a snapshot.

    Attributes:
        format_version: Version of the format of these files.
        schema_version: Version of the columns of the index.
        collection: Name of the collection that was read.
        encoder: Fingerprint of the encoder that made the vectors.
        dim: Length of the vectors.
        taken: When the snapshot was complete, ISO 8601.
        rows: Number of rows.
        digest: `RowsDigest` of all rows.
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
    shards: tuple[SnapshotShard, ...]
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
            SnapshotError: The manifest is missing, or not as it was written.
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
        >>> digest = RowsDigest()
        >>> digest.add("a", "1")
        >>> len(digest.hex())
        64
    """

    def __init__(self) -> None:
        self._hash = sha256()

    def add(self, key: str, digest: str) -> None:
        """Add a row, by its id and its digest."""
        self._hash.update(f"{key} {digest}\n".encode())

    def hex(self) -> str:
        """The digest of the rows so far."""
        return self._hash.hexdigest()


def write_shard(path: Path, stored: Sequence[StoredRow], dim: int) -> SnapshotShard:
    """Write some rows, whole or not at all.

    Args:
        path: The file.
        stored: At least one row.
        dim: Length of their vectors.
    """
    rows = [each.row for each in stored]
    columns = {
        name: pa.array([getattr(row, name) for row in rows], _type(name))
        for name in (*COLUMNS, OWN)
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
    return SnapshotShard(
        file=path.name, rows=len(rows), sha256=sha256(path.read_bytes()).hexdigest()
    )


def _type(column: str) -> pa.DataType:
    return pa.int64() if column in COUNTS else pa.string()


def shard_bytes(path: Path, shard: SnapshotShard) -> bytes:
    """The bytes of a shard, if they are as they were written.

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


def read_shard(path: Path, shard: SnapshotShard) -> list[IndexRow]:
    """Read the rows of a file, in the order in which they were written.

    Raises:
        SnapshotError: Names a file that is missing or not as it was written.
    """
    table = pq.ParquetFile(pa.BufferReader(shard_bytes(path, shard))).read()
    flat = table.column("embedding").combine_chunks().flatten().to_numpy()
    vectors = flat.reshape(len(table), -1)
    names = (*COLUMNS, *([OWN] if OWN in table.column_names else []))
    columns = [table.column(name).to_pylist() for name in names]
    rows = [
        IndexRow(**dict(zip(names, values, strict=True)), embedding=vector)
        for *values, vector in zip(*columns, vectors, strict=True)
    ]
    if [row.digest() for row in rows] != table.column("digest").to_pylist():
        raise SnapshotError(f"{path} holds rows that are not as they were read; {_ANOTHER}")
    return rows


def take_snapshot(
    index: ArchitectureIndex, directory: Path, advance: Advance | None = None
) -> Snapshot:
    """Write the published rows into a new directory, which is whole or not there at all.

    One page of rows is in memory at a time.

    Args:
        index: The index to read.
        directory: Must not exist yet.
        advance: Called with the number of rows after each page.

    Raises:
        SnapshotError: The directory exists, or cannot be written.
        DamagedIndexError: Names a row that reads back otherwise than it was written.
        IndexUnavailableError: Nothing is published, or rows were written meanwhile.
    """
    if directory.exists():
        raise SnapshotError(f"{directory} is there already; name a directory that is not")
    part = directory.with_name(f"{directory.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        snapshot = _write(index.live, part, advance)
        part.rename(directory)
    except OSError as error:
        raise SnapshotError(
            f"{part} cannot be written ({error.strerror}); name a directory elsewhere"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return snapshot


def _write(live: Collection, directory: Path, advance: Advance | None) -> Snapshot:
    digest, shards = RowsDigest(), list[SnapshotShard]()
    for stored in filter(None, live.pages()):
        stored.sort(key=lambda each: each.row.id)
        for each in stored:
            _check(each, live)
            digest.add(each.row.id, each.digest)
        name = f"rows-{len(shards):05d}.parquet"
        shards.append(write_shard(directory / name, stored, live.dim))
        if advance:
            advance(len(stored))
    if digest.hex() != _digest_now(live):
        raise IndexUnavailableError(
            f"rows of {live.name} at {live.milvus.uri} were written while it was read; take the "
            "snapshot again when nobody writes"
        )
    snapshot = Snapshot(
        schema_version=live.schema_version,
        collection=live.name,
        encoder=live.encoder,
        dim=live.dim,
        taken=datetime.now(UTC).isoformat(timespec="seconds"),
        rows=sum(shard.rows for shard in shards),
        digest=digest.hex(),
        shards=tuple(shards),
    ).sealed()
    snapshot.write(directory)
    return snapshot


def _check(stored: StoredRow, live: Collection) -> None:
    if stored.row.digest() != stored.digest:
        raise DamagedIndexError(
            f"row {stored.row.id} ({stored.row.name}) of {live.name} at {live.milvus.uri} reads "
            "back damaged; build the index again, or restore the snapshot before"
        )


def _digest_now(live: Collection) -> str:
    digest = RowsDigest()
    for page in live.digest_pages():
        for key in sorted(page):
            digest.add(key, page[key])
    return digest.hex()


def restore_snapshot(
    index: ArchitectureIndex,
    directory: Path,
    *,
    other_encoder: bool = False,
    advance: Advance | None = None,
) -> Snapshot:
    """Build a collection of the rows of a snapshot, verify each row, and publish the collection.

    Readers get the present rows until then, and for good if this fails.

    Args:
        index: The index to restore into; its back end may differ from that of the snapshot.
        directory: The snapshot.
        other_encoder: Whether it may replace the vectors of another encoder.
        advance: Called with the number of rows after each batch.

    Raises:
        SnapshotError: Names the file that is missing or damaged; nothing was published.
        IndexMismatchError: The published vectors are of another encoder, and ``other_encoder`` is
            not set.
        IndexVerificationError: A row reads back otherwise; nothing was published.
    """
    snapshot = Snapshot.read(directory)
    versions = (snapshot.format_version, snapshot.schema_version)
    # In the columns before these, rows had no labels of their own.
    if versions not in ((FORMAT_VERSION, SCHEMA_VERSION), (FORMAT_VERSION, SCHEMA_VERSION - 1)):
        raise SnapshotError(
            f"{directory} has format {versions[0]} and schema version {versions[1]}, wanted "
            f"{FORMAT_VERSION} and {SCHEMA_VERSION}; use the version of NAR that took it"
        )
    if not other_encoder:
        _check_encoder(index, snapshot)
    # All shards are read before anything is built: a damaged snapshot is refused at once.
    for shard in snapshot.shards:
        shard_bytes(directory / shard.file, shard)
    with index.build(snapshot.encoder, snapshot.dim) as build:
        build.load(_rows(directory, snapshot), advance)
        _check_whole(build, directory, snapshot)
        build.publish(keep_before=True, by="restore")
    return snapshot


def _check_encoder(index: ArchitectureIndex, snapshot: Snapshot) -> None:
    if index.is_published and index.encoder != snapshot.encoder:
        raise IndexMismatchError(
            f"the snapshot holds vectors of encoder {snapshot.encoder}, the index those of "
            f"{index.encoder}: servers of that encoder would refuse it; say --other-encoder if "
            "this is meant"
        )


def _rows(directory: Path, snapshot: Snapshot) -> Iterator[IndexRow]:
    for shard in snapshot.shards:
        yield from read_shard(directory / shard.file, shard)


def _check_whole(build: IndexBuild, directory: Path, snapshot: Snapshot) -> None:
    if len(build.rows) != snapshot.rows:
        raise SnapshotError(
            f"{directory} holds {len(build.rows)} rows, its manifest says {snapshot.rows}; restore "
            "another snapshot"
        )
