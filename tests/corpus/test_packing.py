"""Packed, shipped, described: the corpus as it goes to its users."""

import pytest
from corpora import corpus, rows

from nar.base.errors import CorpusError
from nar.corpus import Corpus, default_corpus, read_corpus, shipped_corpus
from nar.corpus.datasheet import datasheet
from nar.corpus.manifest import Failure, Manifest, Skipped, count_corpus
from nar.corpus.rewriting import pack


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("corpus"))


def test_packing_keeps_every_architecture(tmp_path, held):
    packed = pack(held, tmp_path / "packed")
    assert [entry.source for entry in packed.shards] == ["hf", "smp", "timm"]
    back = {each.labels.name: each for each in read_corpus(tmp_path / "packed")}
    assert back == {each.labels.name: each for each in rows()}
    assert packed.totals == Manifest.read(held).totals


def test_packing_does_not_depend_on_the_shards_before(tmp_path, held):
    turned = corpus(tmp_path / "turned", rows()[::-1])
    assert pack(held, tmp_path / "one").shards == pack(turned, tmp_path / "other").shards


def test_packing_bounds_a_shard_and_replaces_what_was_there(tmp_path, held):
    pack(held, tmp_path / "packed")
    packed = pack(held, tmp_path / "packed", max_rows=1)
    files = [entry.file for entry in packed.shards]
    assert files[-2:] == ["timm-000.parquet", "timm-001.parquet"]
    assert len(list(Corpus(tmp_path / "packed").shards())) == 4
    assert sorted(path.name for path in (tmp_path / "packed").glob("*.parquet")) == sorted(files)


def test_a_corpus_is_not_packed_into_itself(held):
    with pytest.raises(CorpusError, match="name another directory"):
        pack(held, held)


def test_the_own_corpus_comes_before_the_shipped_one(held):
    assert default_corpus(held) == held


def test_where_no_corpus_came_with_the_package_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.corpus.reading.package_path", tmp_path.joinpath)
    with pytest.raises(CorpusError, match="came without a corpus; make one"):
        shipped_corpus()
    with pytest.raises(CorpusError, match=r"no corpus at .*own, and this installation"):
        default_corpus(tmp_path / "own")


def test_the_shipped_corpus_stands_in_for_the_own_one(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    corpus(tmp_path / "data" / "corpus")
    monkeypatch.setattr("nar.corpus.reading.package_path", tmp_path.joinpath)
    assert default_corpus(tmp_path / "own") == tmp_path / "data" / "corpus"


def test_the_datasheet_says_what_the_manifest_says():
    counts = count_corpus(rows(), [Failure(name="timm:x", operator="-", reason="a | b")])
    text = datasheet(
        Manifest(
            packages={"timm": "1.0.31", "unheard_of": "2"},
            shards=(),
            sources=counts.sources,
            totals=counts.totals,
            failures=(Failure(name="timm:x", operator="-", reason="a | b"),),
            skipped=(Skipped(source="open_clip", reason="not installed"),),
            seconds=5400,
            workers=2,
            cores=2,
        )
    )
    assert "- 4 architectures: 3 distinct networks" in text
    assert "| timm | 2 | 1 | 1 | 1 |" in text
    assert "| composed | 1 | 1 | 1 |" in text
    assert "| timm | 1.0.31 | Apache-2.0 |" in text
    assert "| unheard_of | 2 | see the package |" in text
    assert "| 1 | a \\| b |" in text
    assert "| open_clip | not installed |" in text
    assert "1.50 hours with 2 workers on 2 processor cores" in text
    assert "$" not in text


def test_the_shipped_datasheet_is_that_of_its_manifest():
    shipped = shipped_corpus()
    text = (shipped / "DATASHEET.md").read_text(encoding="utf-8")
    assert text == datasheet(Manifest.read(shipped))
