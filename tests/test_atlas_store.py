"""The collection of an atlas: made beside the files that answer, once, and never needed."""

import logging
import subprocess
import sys
from functools import partial
from pathlib import Path
from shutil import copytree, rmtree
from threading import Event

import pytest
from waiting import wait_for

from nar.answers import atlas_store
from nar.answers.atlas import read_atlas
from nar.base.errors import IndexUnavailableError
from nar.index.collection import SCHEMA_VERSION, Collection
from nar.index.exact import ExactIndex
from nar.index.reader import Reader
from nar.index.settings import IndexConfig


@pytest.fixture
def atlas(small_atlas):
    return small_atlas


@pytest.fixture
def cached(atlas, tmp_path, monkeypatch):
    """Where the collection of the atlas is if nobody says otherwise."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return atlas_store.atlas_config(atlas, IndexConfig(follow_s=0.05), is_named=False)


@pytest.fixture(scope="module")
def made_once(small_atlas, tmp_path_factory):
    """A collection of the atlas that nobody reads. Not to be changed."""
    config = IndexConfig(uri=str(tmp_path_factory.mktemp("made") / "index.db"))
    with atlas_store.open_atlas(small_atlas, config, Event()):
        pass
    return config.uri


@pytest.fixture
def made(made_once, cached):
    """The same where it is if nobody says otherwise; to be changed."""
    copytree(made_once, cached.uri)
    return cached


def files_of(atlas):
    content = read_atlas(atlas)
    return ExactIndex(content.rows, dim=content.embedder.dim)


def reader(atlas, config):
    """What a server of the atlas reads where nobody named an index."""
    return Reader(opening(atlas, config, is_named=False), config, files_of(atlas))


def opening(atlas, config, *, is_named):
    return partial(atlas_store.open_kept, atlas, config, is_named=is_named)


@pytest.mark.slow
def test_it_answers_from_its_files_while_its_collection_is_made_once(
    atlas, cached, monkeypatch, tmp_path
):
    assert Path(cached.uri).is_relative_to(tmp_path / "cache" / "nar")
    with reader(atlas, cached) as index:
        assert index.count() == 20
        wait_for(lambda: index.collection)
        assert index.collection.startswith("arch_")
        assert index.count() == 20
    monkeypatch.setattr(atlas_store, "_store_apart", None)  # would be called to make it again
    with reader(atlas, cached) as index:
        wait_for(lambda: index.collection)


@pytest.mark.slow
def test_a_second_server_answers_from_files_alone_and_says_that_this_is_no_fault(
    atlas, made, caplog
):
    caplog.set_level(logging.INFO, "nar")
    with reader(atlas, made) as first:
        wait_for(lambda: first.collection)
        with reader(atlas, made) as second:
            wait_for(lambda: "another server here keeps the stored atlas" in caplog.text)
            assert "this is no fault" in caplog.text
            assert (second.count(), second.collection) == (20, None)
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


@pytest.mark.slow
def test_a_second_server_of_an_index_that_was_named_is_warned(atlas, made, caplog):
    """What is written there is in no file."""
    with reader(atlas, made) as first:
        wait_for(lambda: first.collection)
        with Reader(opening(atlas, made, is_named=True), made, files_of(atlas)):
            wait_for(lambda: "is in use by process" in caplog.text)
    assert "answering from files alone" in caplog.text


@pytest.mark.slow
def test_a_server_that_ends_before_its_rows_were_compared_warns_of_nothing(
    atlas, made, caplog, monkeypatch
):
    """Most stops come while they are: the first comparison takes its time."""
    monkeypatch.setattr("nar.index.following._FIRST_PAUSE_S", 600)
    compared = []
    between = Collection.digests_between
    monkeypatch.setattr(
        Collection,
        "digests_between",
        lambda *given: compared.append(given) or between(*given),
    )
    with reader(atlas, made):
        wait_for(lambda: compared)
    assert not caplog.records


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_said(atlas, cached, caplog, tmp_path):
    (tmp_path / "cache").write_text("a file in the place of the directory")
    with reader(atlas, cached) as index:
        wait_for(lambda: "answering from files alone" in caplog.text)
        assert "XDG_CACHE_HOME" in caplog.text
        assert index.count() == 20


@pytest.mark.slow
def test_a_store_that_was_damaged_on_disk_leaves_the_files_to_answer(atlas, made, caplog):
    """It says which directory to delete; without it the collection is made again."""
    (manifest,) = Path(made.uri).rglob("manifest.json")
    manifest.write_text("{")
    with reader(atlas, made) as index:
        wait_for(lambda: "answering from files alone" in caplog.text)
        assert f"the index at {made.uri} is damaged" in caplog.text
        assert "delete that directory" in caplog.text
        assert index.count() == 20
    rmtree(made.uri)
    with reader(atlas, made) as index:
        wait_for(lambda: index.collection)
        assert index.count() == 20


@pytest.mark.slow
def test_a_store_that_lost_its_alias_heals(atlas, made):
    (Path(made.uri) / "aliases.json").unlink()
    with atlas_store.open_atlas(atlas, made, Event()) as index:
        assert index.count() == 20


FULL = """
import resource, sys
from pathlib import Path
from threading import Event
from nar.answers.atlas import Atlas
from nar.answers.atlas_store import open_apart, open_atlas
from nar.config import IndexConfig
from nar.base.errors import IndexUnavailableError
resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))
try:
    store = {"open_atlas": open_atlas, "open_apart": open_apart}[sys.argv[4]]
    store(Atlas(Path(sys.argv[1]), Path(sys.argv[2])), IndexConfig(uri=sys.argv[3]), Event())
except IndexUnavailableError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("store", ["open_atlas", "open_apart"])
def test_a_full_disk_is_said_with_the_way_out_and_without_a_traceback(atlas, cached, store):
    arguments = [str(atlas.directory), str(atlas.corpus), cached.uri, store]
    command = [sys.executable, "-c", FULL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"the index at {cached.uri} refused to" in done.stdout
    assert "make room there, or name another directory with XDG_CACHE_HOME" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_collection_that_was_damaged_leaves_the_files_to_answer(atlas, made, caplog):
    with atlas_store.open_atlas(atlas, made, Event()) as index:
        [row] = index.sample(1)
        record = {
            **index.live.milvus.client.get(index.live.name, ids=[row.id])[0],
            "digest": "0" * 32,
        }
        index.live.milvus.client.upsert(index.live.name, [record])
    with reader(atlas, made) as damaged:
        wait_for(lambda: "answering from files alone" in caplog.text)
        assert f"{made.uri} reads back damaged; delete that directory" in caplog.text
        assert damaged.get([row.id])[row.id].digest() == row.digest()


@pytest.mark.slow
@pytest.mark.parametrize("store", [atlas_store.open_atlas, atlas_store.open_apart])
def test_storing_it_ends_with_the_server_and_goes_on_later(atlas, cached, store):
    ending = Event()
    ending.set()
    with pytest.raises(IndexUnavailableError, match="the next start goes on"):
        store(atlas, cached, ending)
    with store(atlas, cached, Event()) as index:
        assert index.count() == 20


@pytest.mark.slow
def test_it_is_stored_where_and_how_the_settings_say(atlas, cached, tmp_path):
    hnsw = IndexConfig(uri=str(tmp_path / "mine" / "index.db"), kind="HNSW")
    named = atlas_store.atlas_config(atlas, hnsw, is_named=True)
    assert named == hnsw
    with atlas_store.open_atlas(atlas, named, Event()) as index:
        described = index.live.milvus.client.describe_index(index.live.name, "embedding")
        assert described["index_type"] == "HNSW"
    unnamed = atlas_store.atlas_config(atlas, hnsw, is_named=False)
    assert unnamed.uri != cached.uri
    assert unnamed.kind == "HNSW"


@pytest.mark.slow
def test_of_another_schema_it_lies_elsewhere(atlas, cached, monkeypatch):
    monkeypatch.setattr(atlas_store, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    other = atlas_store.atlas_config(atlas, cached, is_named=False)
    digest, version = Path(cached.uri).parent.name.split("-v")
    assert version == str(SCHEMA_VERSION)
    assert Path(other.uri).parent.name == f"{digest}-v{SCHEMA_VERSION + 1}"
