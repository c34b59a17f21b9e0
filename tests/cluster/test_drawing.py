"""A drawn corpus: the same files from any number of workers, and nothing drawn twice."""

import shutil

import pytest

from cluster.config import ExtractConfig
from cluster.darts_corpus import draw
from nar.base.workspace import Workspace
from nar.corpus import Corpus, read_corpus
from nar.own import capture_architecture

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


def drawn(root, count, workers=1):
    sizes = ExtractConfig(num_workers=workers, shard_size=8)
    return draw(count, Workspace(root), sizes)


@pytest.fixture(scope="module")
def one(ray_cluster, tmp_path_factory):
    """A directory with a corpus of twenty networks that one worker drew, and its manifest."""
    root = tmp_path_factory.mktemp("one")
    return root, drawn(root, 20)


def test_a_drawn_corpus_is_whole_and_its_networks_are_those_of_their_names(one):
    root, manifest = one
    items = read_corpus(root / "corpus")
    assert [entry.rows for entry in manifest.shards] == [8, 8, 4]
    assert manifest.totals.everything.raw == len({item.exact for item in items}) == 20
    assert manifest.totals.everything.exact == 20
    assert items[7] == capture_architecture(items[7].labels.name).architecture


def test_another_corpus_leaves_nothing_of_itself(one, tmp_path):
    corpus = tmp_path / "corpus"
    shutil.copytree(one[0] / "corpus", corpus)
    (corpus / "darts-1.parquet.0.part").write_bytes(b"of a killed writer")
    (corpus / "timm-00000.parquet").write_bytes(b"of another corpus")
    assert [entry.rows for entry in drawn(tmp_path, 12).shards] == [8, 4]
    assert len(list(corpus.iterdir())) == 3
    assert len(read_corpus(corpus)) == 12


def test_what_was_drawn_is_not_drawn_again_and_what_is_damaged_is(one, tmp_path):
    root, first = one
    paths = sorted((root / "corpus").glob("*.parquet"))
    kept = [path.stat().st_mtime_ns for path in paths]
    paths[1].write_bytes(b"damaged")
    again = drawn(root, 20)
    now = [path.stat().st_mtime_ns for path in paths]
    assert (now[0], now[2]) == (kept[0], kept[2])
    assert again.shards == first.shards == drawn(tmp_path, 20, workers=2).shards
    assert sum(1 for _ in Corpus(root / "corpus").shards()) == 3
