"""Graphs of a corpus by name, a few of them kept."""

import pytest
from corpora import corpus, rows

from nar.base.errors import CorpusError
from nar.corpus import CorpusGraphs

ITEMS = {each.labels.name: each for each in rows()}
SOURCES = {each.labels.source for each in ITEMS.values()}


def test_what_is_asked_for_comes_and_nothing_else(tmp_path):
    graphs = CorpusGraphs(corpus(tmp_path / "c"))
    told = graphs.graphs(["hf:bert", "x:nobody", "timm:a"], SOURCES)
    assert {name: each.exact for name, each in told.items()} == {
        name: ITEMS[name].exact for name in ("hf:bert", "timm:a")
    }
    assert graphs.graphs([], SOURCES) == {}


def test_what_is_kept_is_not_read_again(tmp_path):
    directory = corpus(tmp_path / "c")
    graphs = CorpusGraphs(directory, kept_nodes=ITEMS["hf:bert"].nodes)
    first = graphs.graphs(["hf:bert"], SOURCES)
    for path in directory.glob("*.parquet"):
        path.unlink()
    assert graphs.graphs(["hf:bert"], SOURCES) == first
    with pytest.raises(CorpusError, match="missing"):
        graphs.graphs(["timm:a"], SOURCES)


def test_as_much_is_kept_as_there_is_room(tmp_path):
    directory = corpus(tmp_path / "c")
    graphs = CorpusGraphs(directory, kept_nodes=ITEMS["hf:bert"].nodes)
    graphs.graphs(["hf:bert"], SOURCES)
    assert graphs.graphs(["timm:a"], SOURCES).keys() == {"timm:a"}
    for path in directory.glob("*.parquet"):
        path.unlink()
    with pytest.raises(CorpusError):
        graphs.graphs(["hf:bert"], SOURCES)


def test_there_is_no_corpus(tmp_path):
    with pytest.raises(CorpusError, match="no corpus at"):
        CorpusGraphs(tmp_path)
