"""What the command line chooses: an index, its configuration, a corpus."""

from pathlib import Path

from nar.cli.choices import CorpusChoice, IndexChoice
from nar.config import IndexConfig
from nar.console import DEFAULT_WORK
from nar.corpus import shipped_corpus


def uri_of(*choice):
    return IndexChoice(*choice).config().index.uri


def test_the_command_line_comes_before_the_file(tmp_path):
    config = tmp_path / "nar.yaml"
    config.write_text("index: {uri: 'http://milvus:19530', alias: mine}")
    assert uri_of(tmp_path, None, None) == str(tmp_path / "index.db")
    assert uri_of(tmp_path, None, config) == "http://milvus:19530"
    assert uri_of(tmp_path, "http://other:19530", config) == "http://other:19530"
    assert IndexChoice(tmp_path, None, config).config().index.alias == "mine"
    assert IndexChoice(tmp_path, None, None).config().index.alias == IndexConfig().alias


def test_the_atlas_answers_where_no_workspace_is_named_or_built(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    limits, place = Path("limits.yaml"), Path("place.yaml")
    limits.write_text("{index: {kind: HNSW}, server: {max_queries: 3}}")
    place.write_text("index: {uri: 'http://milvus:19530'}")
    for choice, named in (
        (IndexChoice(DEFAULT_WORK, None, None), False),
        (IndexChoice(DEFAULT_WORK, None, limits), False),
        (IndexChoice(DEFAULT_WORK, None, place), True),
        (IndexChoice(DEFAULT_WORK, "http://milvus:19530", limits), True),
    ):
        assert choice.wants_atlas
        assert choice.names_index is named
    config = IndexChoice(DEFAULT_WORK, None, limits).config()
    assert (config.index.kind, config.server.max_queries) == ("HNSW", 3)
    assert not IndexChoice(Path("mine"), None, None).wants_atlas
    for built in ("index.db", "checkpoint"):
        (DEFAULT_WORK / built).mkdir(parents=True)
        assert not IndexChoice(DEFAULT_WORK, None, None).wants_atlas
        (DEFAULT_WORK / built).rmdir()


def test_a_file_of_limits_leaves_the_index_of_the_workspace(tmp_path):
    config = tmp_path / "limits.yaml"
    config.write_text("server: {max_queries: 3}")
    assert uri_of(tmp_path, None, config) == str(tmp_path / "index.db")


def test_the_shipped_corpus_stands_in_for_that_of_no_named_workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CorpusChoice(DEFAULT_WORK).directory() == shipped_corpus()
    assert CorpusChoice(tmp_path).directory() == tmp_path / "corpus"
    assert CorpusChoice(DEFAULT_WORK, tmp_path).directory() == tmp_path
