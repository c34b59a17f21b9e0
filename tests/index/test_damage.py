"""A damaged embedded index: noticed when it is opened or read, and named with its directory."""

import errno
import shutil
from functools import partial
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from backends import ENCODER
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DIM, row

from nar.base.errors import IndexUnavailableError, NarError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.following import checked_index, read_rows
from nar.index.lite import WAY_OUT, DamagedIndexError
from nar.index.settings import IndexConfig

ROWS = [row(f"row {number}", 1, number, number % 7) for number in range(300)]
NAMES = sorted(item.name for item in ROWS)
EAST = np.eye(1, DIM, dtype=np.float32)
# What may be lost without loss: the lock, the manifest before, what Milvus Lite derives anew.
DERIVED = ("LOCK", "manifest.json.prev", ".idx")


def publish(path):
    with (
        ArchitectureIndex(IndexConfig(uri=str(path))) as index,
        index.build(ENCODER, DIM) as build,
    ):
        build.load(ROWS)
        build.publish()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A published index, closed: what every case damages a copy of."""
    path = tmp_path_factory.mktemp("whole") / "index.db"
    publish(path)
    return path


@pytest.fixture
def copy(whole, tmp_path):
    """Makes a copy of it."""
    return partial(copy_of, whole, tmp_path / "index.db")


def copy_of(whole, path):
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(whole, path)
    return path


def files_of(path):
    files = (file for file in path.rglob("*") if file.is_file() and file.stat().st_size)
    return sorted(file.relative_to(path) for file in files)


def answers(path):
    """Names of all rows as a search gives them, which reads and checks them first."""
    config = IndexConfig(uri=str(path))
    with ArchitectureIndex(config, encoder=ENCODER) as index:
        return sorted(
            hit.name for hit in checked_index(index, config).search(EAST, len(ROWS) + 1)[0]
        )


def answers_or_error(path):
    try:
        return answers(path)
    except NarError as error:
        return str(error)


def cut(file, at, _):
    with file.open("r+b") as content:
        content.truncate(at)


def flip(file, at, length):
    content = bytearray(file.read_bytes())
    for position in range(at, min(at + length, len(content))):
        content[position] ^= 0x55
    file.write_bytes(content)


def remove(file, _at, _length):
    file.unlink()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_damage_gives_a_wrong_answer(copy, whole):
    """Every file removed, cut and flipped: the rows are all there, or an error says what is wrong.

    Which encoder or version of columns the files name may be what was flipped.
    """

    @settings(max_examples=60)
    @given(
        st.sampled_from([remove, cut, flip]),
        st.sampled_from(files_of(whole)),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from([1, 64, 4_096]),
    )
    def holds(damage, name, share, length):
        path = copy()
        file = path / name
        damage(file, int(share * file.stat().st_size), length)
        outcome = answers_or_error(path)
        assert outcome == NAMES or str(path) in outcome or outcome.startswith("wanted ")

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["index_specs", "field_name", "index_type", "metric_type"])
def test_a_manifest_that_does_not_say_how_vectors_are_indexed(copy, key):
    path = copy()
    (file,) = path.rglob("manifest.json")
    said = f'"{key}":'
    assert said in file.read_text()
    file.write_text(file.read_text().replace(said, said.upper()))
    assert str(path) in answers_or_error(path)


@pytest.mark.parametrize("damage", [remove, cut, flip])
@pytest.mark.parametrize("name", ["manifest.json", "*.parquet", "schema.json"])
def test_what_is_damaged_is_said_with_the_way_out(copy, damage, name):
    path = copy()
    (file,) = path.rglob(name)
    damage(file, file.stat().st_size // 2, 4_096)
    with pytest.raises(IndexUnavailableError, match="delete that directory") as caught:
        answers(path)
    assert str(path) in str(caught.value)


@pytest.mark.slow
def test_the_way_out_leads_out(copy):
    path = copy()
    (file,) = path.rglob("manifest.json")
    file.write_text("{")
    for _ in range(2):  # an attempt mends nothing by itself, and leaves no lock
        with pytest.raises(DamagedIndexError, match=r"manifest\.json"):
            answers(path)
    shutil.rmtree(path)
    publish(path)
    assert len(answers(path)) == len(ROWS)


def test_what_is_lost_without_loss_is_made_anew(copy):
    path = copy()
    for name in files_of(path):
        if name.name.endswith(DERIVED):
            (path / name).unlink()
    assert len(answers(path)) == len(ROWS)


@pytest.mark.slow
def test_half_of_a_collection_that_nobody_reads_is_no_damage(copy):
    path = copy()
    with (
        ArchitectureIndex(IndexConfig(uri=str(path))) as index,
        index.build(ENCODER, DIM, job="half") as build,
    ):
        build.upsert(ROWS[:3])
        build.staging.flush()
    (half,) = path.glob("collections/*half")
    for file in half.rglob("*.parquet"):
        file.unlink()
    assert len(answers(path)) == len(ROWS)


@pytest.mark.slow
def test_a_collection_that_found_no_room_can_be_made_once_there_is(tmp_path, monkeypatch):
    path = tmp_path / "index.db"
    job = partial(ArchitectureIndex.build, encoder=ENCODER, dim=DIM, job="again")

    def is_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full, ArchitectureIndex(IndexConfig(uri=str(path))) as index:
        full.setattr("milvus_lite.db.save_schema", is_full)
        with pytest.raises(IndexUnavailableError, match="No space left"):
            job(index)
    assert [*(path / "collections").iterdir()]
    with ArchitectureIndex(IndexConfig(uri=str(path))) as index, job(index) as build:
        build.load(ROWS)
        assert build.publish() == len(ROWS)


@pytest.mark.slow
def test_vectors_that_changed_on_disk_are_named(copy):
    """4 kB of the vectors themselves, whose file still reads as Parquet."""
    path = copy()
    with ArchitectureIndex(IndexConfig(uri=str(path))) as index:
        stored = index.live.milvus.client.query(
            index.live.name, filter="", limit=1, output_fields=["*"]
        )
        stored[0]["embedding"] = [3.0] * DIM
        index.live.milvus.client.upsert(index.live.name, stored)
        with pytest.raises(DamagedIndexError, match=f"{path} reads back damaged; {WAY_OUT}"):
            read_rows(index.live, Event())
    with pytest.raises(DamagedIndexError, match=str(Path(path))):
        answers(path)
