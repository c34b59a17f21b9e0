"""The corpus reads back what was written, and notices when it is not what was written."""

import pytest
from graphs import bert, resnet

from nar.architecture import Labels, architecture
from nar.canonical import canonical
from nar.corpus import read_corpus, read_shard, write_shard
from nar.errors import CorpusError
from nar.manifest import Failure, Manifest, count_sources


def rows():
    def item(name, graph):
        source = name.partition(":")[0]
        return architecture(
            Labels(name, source, f"{source} 1.0", "family", "task"), canonical(graph)
        )

    return [item("timm:a", resnet([1])), item("timm:b", resnet([1])), item("hf:bert", bert(2))]


def corpus(directory):
    shards = (write_shard(directory / "shard-0.parquet", rows()[:2]),)
    shards += (write_shard(directory / "shard-1.parquet", rows()[2:]),)
    Manifest(packages={}, shards=shards, sources={}).write(directory)
    return directory


def test_what_was_written_reads_back_identically(tmp_path):
    assert read_corpus(corpus(tmp_path)) == rows()


def test_the_same_rows_give_the_same_bytes(tmp_path):
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    assert write_shard(one, rows()).sha256 == write_shard(other, rows()).sha256
    assert one.read_bytes() == other.read_bytes()


def test_a_damaged_shard_is_named(tmp_path):
    shard = corpus(tmp_path) / "shard-1.parquet"
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    with pytest.raises(CorpusError, match=r"shard-1\.parquet is damaged"):
        read_corpus(tmp_path)


def test_a_missing_shard_is_named(tmp_path):
    (corpus(tmp_path) / "shard-0.parquet").unlink()
    with pytest.raises(CorpusError, match=r"shard-0\.parquet is missing"):
        read_corpus(tmp_path)


def test_what_is_no_shard_is_refused(tmp_path):
    (tmp_path / "x.parquet").write_text("not parquet")
    with pytest.raises(CorpusError, match=r"x\.parquet cannot be read"):
        read_shard(tmp_path / "x.parquet")


def test_no_corpus_says_how_to_make_one(tmp_path):
    with pytest.raises(CorpusError, match=r"python -m cluster\.extract"):
        read_corpus(tmp_path)


def test_sources_are_counted_by_network_design_and_failure():
    failures = [
        Failure(name="hf:x", operator="-", reason="no"),
        Failure(name="tv:y", operator="-", reason="no"),
    ]
    counts = count_sources(rows(), failures)
    assert counts["timm"].model_dump() == {"raw": 2, "exact": 1, "topology": 1, "failed": 0}
    assert counts["hf"].model_dump() == {"raw": 1, "exact": 1, "topology": 1, "failed": 1}
    assert counts["tv"].model_dump() == {"raw": 0, "exact": 0, "topology": 0, "failed": 1}
