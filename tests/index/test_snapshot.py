"""Snapshots: what is taken is restored row by row on any back end, and damage is never restored."""

import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from backends import ENCODER
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DIM, row

from nar.base.errors import IndexMismatchError, IndexUnavailableError
from nar.index import collection, snapshot
from nar.index.architecture_index import ArchitectureIndex
from nar.index.settings import IndexConfig
from nar.index.snapshot import MANIFEST, Snapshot, SnapshotError, restore_snapshot, take_snapshot

OTHER_ENCODER = "f" * 64
ROWS = [
    row(f"row {number} \N{GREEK SMALL LETTER MU} 'x'", 0.1, number / 3, -number, parameters=number)
    for number in range(40)
]
NEW = [row(f"new {number}", 1, number) for number in range(3)]


def publish(index, rows, encoder=ENCODER):
    with index.build(encoder, DIM) as build:
        build.load(rows)
        build.publish()


def digests(index):
    return sorted(stored.row.digest() for page in index.live.pages() for stored in page)


def digests_of(rows):
    return sorted(item.digest() for item in rows)


@pytest.fixture
def opens(request, tmp_path):
    """Opens an empty index of its own, of either kind."""

    @contextmanager
    def opened(kind, alias):
        uri = str(tmp_path / f"{alias}.db")
        if kind == "server":
            uri, alias = request.getfixturevalue("milvus_uri"), f"{request.node.name[:40]}_{alias}"
        name = "".join(letter if letter.isalnum() else "_" for letter in alias)
        with ArchitectureIndex(IndexConfig(uri=uri, alias=name)) as index:
            yield index

    return opened


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("lite", "lite"),
        pytest.param("server", "server", marks=pytest.mark.milvus_server),
        pytest.param("lite", "server", marks=pytest.mark.milvus_server),
        pytest.param("server", "lite", marks=pytest.mark.milvus_server),
    ],
)
def test_what_is_taken_is_restored_row_by_row(opens, tmp_path, monkeypatch, source, target):
    monkeypatch.setattr(collection, "PAGE_ROWS", 3)  # 16 pages, of which some are empty
    with opens(source, "source") as index:
        publish(index, ROWS)
        index.upsert(NEW)
        taken = take_snapshot(index, tmp_path / "taken")
        assert (taken.rows, taken.encoder, taken.dim) == (43, ENCODER, DIM)
        assert taken.collection == index.live.name
        assert 2 < len(taken.shards) <= 16
    with opens(target, "target") as index:
        publish(index, NEW)
        before = index.live.name
        restored = restore_snapshot(index, tmp_path / "taken")
        assert restored == taken
        assert digests(index) == digests_of([*ROWS, *NEW])
        assert index.live.name != before
        assert index.search(np.eye(1, DIM), 1)


@pytest.mark.slow
def test_an_index_without_rows_has_a_snapshot(opens, tmp_path):
    with opens("lite", "empty") as index:
        publish(index, [])
        assert take_snapshot(index, tmp_path / "taken").shards == ()
        publish(index, NEW)
        restore_snapshot(index, tmp_path / "taken")
        assert index.count() == 0


@pytest.mark.slow
def test_what_is_written_meanwhile_is_noticed(opens, tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "PAGE_ROWS", 3)
    with opens("lite", "busy") as index:
        publish(index, ROWS)
        first = min(ROWS, key=lambda item: item.id)  # of the first page
        changed = iter([row(first.name, 9)])

        def write(_):
            index.upsert(list(changed))

        with pytest.raises(IndexUnavailableError, match="were written while it was read"):
            take_snapshot(index, tmp_path / "taken", write)
        assert list(tmp_path.glob("taken*")) == []
        assert take_snapshot(index, tmp_path / "taken").rows == len(ROWS)


@pytest.mark.slow
def test_a_directory_that_is_there_is_left_alone(opens, tmp_path):
    with opens("lite", "some") as index:
        publish(index, NEW)
        take_snapshot(index, tmp_path / "taken")
        with pytest.raises(SnapshotError, match="is there already"):
            take_snapshot(index, tmp_path / "taken")
        (tmp_path / "file").touch()
        with pytest.raises(SnapshotError, match="cannot be written"):
            take_snapshot(index, tmp_path / "file" / "below")


@pytest.mark.slow
def test_vectors_of_another_encoder_are_restored_only_when_told(opens, tmp_path):
    with opens("lite", "some") as index:
        publish(index, ROWS)
        take_snapshot(index, tmp_path / "taken")
        publish(index, NEW, OTHER_ENCODER)
        with pytest.raises(IndexMismatchError, match="--other-encoder"):
            restore_snapshot(index, tmp_path / "taken")
        assert digests(index) == digests_of(NEW)
        restore_snapshot(index, tmp_path / "taken", other_encoder=True)
        assert (index.encoder, digests(index)) == (ENCODER, digests_of(ROWS))


@pytest.mark.slow
def test_a_snapshot_of_another_schema_is_refused(opens, tmp_path, monkeypatch):
    with opens("lite", "some") as index:
        publish(index, NEW)
        take_snapshot(index, tmp_path / "taken")
        monkeypatch.setattr(snapshot, "SCHEMA_VERSION", 99)
        with pytest.raises(SnapshotError, match="the version of NAR that took it"):
            restore_snapshot(index, tmp_path / "taken")


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """A snapshot of two shards, and an index of other rows to restore it to."""
    directory = tmp_path_factory.mktemp("taken")
    with ArchitectureIndex(IndexConfig(uri=str(directory / "index.db"))) as index:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(collection, "PAGE_ROWS", 20)
            publish(index, ROWS)
            taken = take_snapshot(index, directory / "whole")
        publish(index, NEW)
        yield index, directory / "whole", taken


@pytest.mark.slow
def test_no_damage_is_restored(taken):
    index, whole, snapshot = taken
    names = [MANIFEST, *(shard.file for shard in snapshot.shards)]
    copy = whole.with_name("copy")

    @settings(max_examples=100)
    @given(st.sampled_from(names), st.floats(0, 1, exclude_max=True), st.integers(0, 255))
    def holds(name, share, mask):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        content = bytearray((copy / name).read_bytes())
        at = int(share * len(content))
        if mask:
            content[at] ^= mask
        (copy / name).write_bytes(content if mask else content[:at])
        with pytest.raises(SnapshotError, match=name):
            restore_snapshot(index, copy)

    holds()
    assert digests(index) == digests_of(NEW)
    assert [each for each in _collections(index) if each != index.live.name] == []


def _collections(index):
    return index.live.milvus.client.list_collections()


@pytest.mark.slow
def test_a_file_that_is_missing_is_named(taken, tmp_path):
    index, whole, snapshot = taken
    for name in (MANIFEST, snapshot.shards[-1].file):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(whole, tmp_path / "copy")
        (tmp_path / "copy" / name).unlink()
        with pytest.raises(SnapshotError, match=name):
            restore_snapshot(index, tmp_path / "copy")
    assert Snapshot.read(whole) == snapshot
