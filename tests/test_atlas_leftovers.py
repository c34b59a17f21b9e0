"""What earlier atlases and killed processes left in the cache goes when one is opened there."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from nar.answers import atlas_store
from nar.answers.atlas import read_atlas
from nar.index.collection import SCHEMA_VERSION
from nar.index.publishing import orphans
from nar.index.settings import IndexConfig


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "nar"


@pytest.fixture
def cached(small_atlas, cache):
    return atlas_store.atlas_config(small_atlas, IndexConfig(batch_rows=5), is_named=False)


@pytest.fixture
def superseded(small_atlas, cached, monkeypatch):
    """The same, as another schema has named it."""
    with monkeypatch.context() as patched:
        patched.setattr(atlas_store, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
        return atlas_store.atlas_config(small_atlas, cached, is_named=False)


def opened(atlas, config):
    return atlas_store.open_atlas(atlas, config, Event())


def names(directory):
    return sorted(each.name for each in directory.iterdir())


def directory_of(config):
    return Path(config.uri).parent


@pytest.mark.slow
@pytest.mark.parametrize("store", [atlas_store.open_atlas, atlas_store.open_apart])
def test_what_earlier_atlases_left_is_removed(
    small_atlas, cache, cached, superseded, store, caplog
):
    caplog.set_level("INFO", "nar.answers.atlas_store")
    opened(small_atlas, superseded).close()
    earlier = cache / "0123456789abcdef-v2-hnsw"
    shutil.copytree(directory_of(superseded), earlier)
    # Removals that were killed.
    for name in (earlier.name, directory_of(superseded).name, directory_of(cached).name):
        (cache / f"{name}.removed" / "index.db").mkdir(parents=True)
    with store(small_atlas, cached, Event()) as index:
        assert index.count() == 20
        assert names(cache) == [directory_of(cached).name]
    assert caplog.text.count("removed what earlier atlases left") == 1


@pytest.mark.slow
def test_what_is_in_use_is_removed_later(small_atlas, cache, cached, superseded):
    both = sorted(directory_of(each).name for each in (cached, superseded))
    with opened(small_atlas, superseded) as earlier:
        opened(small_atlas, cached).close()
        assert names(cache) == both
        assert earlier.count() == 20
    with atlas_store.open_apart(small_atlas, superseded, Event()) as earlier:
        opened(small_atlas, cached).close()
        assert names(cache) == both
        assert earlier.count() == 20
    opened(small_atlas, cached).close()
    assert names(cache) == [directory_of(cached).name]


@pytest.mark.slow
def test_the_index_of_the_other_kind_stays(small_atlas, cache, cached):
    graph = cached.model_copy(update={"kind": "HNSW"})
    other = atlas_store.atlas_config(small_atlas, graph, is_named=False)
    opened(small_atlas, other).close()
    opened(small_atlas, cached).close()
    assert directory_of(other).is_dir()
    assert directory_of(cached).is_dir()


@pytest.mark.slow
def test_what_nar_has_not_made_stays(small_atlas, cache, cached, superseded, tmp_path):
    opened(small_atlas, superseded).close()
    made = directory_of(superseded)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(made, elsewhere)
    shutil.copytree(made, cache / "my-index-v2")
    shutil.copytree(made, cache / "0123456789abcdef-v3")
    (cache / "0123456789abcdef-v3" / "notes.txt").write_text("mine")
    (cache / "0123456789abcdef-v4").symlink_to(elsewhere)
    (cache / "0123456789abcdef-v5").mkdir()
    (cache / "0123456789abcdef-v5" / "index.db").write_text("mine")
    (cache / "blocks-0123456789abcdef.parquet").write_text("of the page")
    before = names(cache)
    opened(small_atlas, cached).close()
    assert names(cache) == sorted({*before, directory_of(cached).name} - {made.name})
    assert (elsewhere / "index.db" / "LOCK").exists()


@pytest.mark.slow
def test_what_lies_beside_a_named_index_stays(small_atlas, cached, superseded, tmp_path):
    opened(small_atlas, superseded).close()
    backup = tmp_path / "backup"
    shutil.copytree(directory_of(superseded), backup / directory_of(superseded).name)
    named = cached.model_copy(update={"uri": str(backup / directory_of(cached).name / "index.db")})
    opened(small_atlas, named).close()
    assert len(names(backup)) == 2


@pytest.mark.slow
def test_what_cannot_be_removed_does_no_harm(small_atlas, cached, superseded, monkeypatch, caplog):
    opened(small_atlas, superseded).close()

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with opened(small_atlas, cached) as index:
        assert index.count() == 20
    assert "cannot be removed: [Errno 13] Permission denied" in caplog.text


# Asked after every batch, whether it should end, it dies at one of these moments.
KILLED = """
import os, signal, sys
from pathlib import Path
from nar.answers.atlas import Atlas
from nar.answers.atlas_store import open_atlas
from nar.config import IndexConfig
class Ending:
    left = int(sys.argv[4])
    def is_set(self):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return False
config = IndexConfig(uri=sys.argv[3], batch_rows=5)
open_atlas(Atlas(Path(sys.argv[1]), Path(sys.argv[2])), config, Ending())
"""


@pytest.mark.slow
@pytest.mark.parametrize("batches", [1, 2, 4])
def test_an_unpacking_that_was_killed_is_repaired(small_atlas, cache, cached, batches):
    atlas = [str(small_atlas.directory), str(small_atlas.corpus)]
    command = [sys.executable, "-c", KILLED, *atlas, cached.uri, str(batches)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with opened(small_atlas, cached) as index:
        expected = read_atlas(small_atlas).rows
        found = index.get([row.id for row in expected])
        assert {key: row.digest() for key, row in found.items()} == {
            row.id: row.digest() for row in expected
        }
        assert index.count() == len(expected)
        assert orphans(index.live.milvus) == []
    assert len(names(Path(cached.uri) / "collections")) == 1
    assert names(cache) == [directory_of(cached).name]
