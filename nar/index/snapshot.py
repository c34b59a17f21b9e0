"""Snapshots: every row of the published collection in files, and an index again from them."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from nar.base.errors import IndexMismatchError, IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import Advance, IndexBuild
from nar.index.collection import SCHEMA_VERSION, Collection
from nar.index.damage import DamagedIndexError
from nar.index.records import StoredRow
from nar.index.rows import IndexRow
from nar.index.snapshot_files import (
    FORMAT_VERSION,
    RowsDigest,
    Shard,
    Snapshot,
    SnapshotError,
    read_shard,
    shard_bytes,
    write_shard,
)


def take_snapshot(
    index: ArchitectureIndex, directory: Path, advance: Advance | None = None
) -> Snapshot:
    """Write the published rows into a new directory, which is whole or not there at all.

    Of the rows, one page is in memory at a time.

    Args:
        index: What is read.
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
    told, shards = RowsDigest(), list[Shard]()
    for stored in filter(None, live.pages()):
        stored.sort(key=lambda each: each.row.id)
        for each in stored:
            _check(each, live)
            told.add(each.row.id, each.digest)
        name = f"rows-{len(shards):05d}.parquet"
        shards.append(write_shard(directory / name, stored, live.dim))
        if advance:
            advance(len(stored))
    if told.hex() != _digest_now(live):
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
        digest=told.hex(),
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
    told = RowsDigest()
    for page in live.digest_pages():
        for key in sorted(page):
            told.add(key, page[key])
    return told.hex()


def restore_snapshot(
    index: ArchitectureIndex,
    directory: Path,
    *,
    other_encoder: bool = False,
    advance: Advance | None = None,
) -> Snapshot:
    """Build a collection of the rows of a snapshot, verify each of them, and publish it.

    Readers get the rows before until then, and for good if this fails.

    Args:
        index: Where; on whatever back end the snapshot was taken.
        directory: The snapshot.
        other_encoder: Whether it may replace the vectors of another encoder.
        advance: Called with the number of rows after each batch.

    Raises:
        SnapshotError: Names the file that is missing or damaged; nothing was published.
        IndexMismatchError: What is published now is of another encoder, and nobody said that this
            is meant.
        IndexVerificationError: A row reads back otherwise; nothing was published.
    """
    snapshot = Snapshot.read(directory)
    versions = (snapshot.format_version, snapshot.schema_version)
    if versions != (FORMAT_VERSION, SCHEMA_VERSION):
        raise SnapshotError(
            f"{directory} has format {versions[0]} and schema version {versions[1]}, wanted "
            f"{FORMAT_VERSION} and {SCHEMA_VERSION}; use the version of NAR that took it"
        )
    if not other_encoder:
        _check_encoder(index, snapshot)
    # Before anything is built: a backup that is damaged is said at once.
    for shard in snapshot.shards:
        shard_bytes(directory / shard.file, shard)
    with index.build(snapshot.encoder, snapshot.dim) as build:
        build.load(_rows(directory, snapshot), advance)
        _check_whole(build, directory, snapshot)
        build.publish()
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
