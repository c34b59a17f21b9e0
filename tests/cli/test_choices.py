"""What the command line chooses: an index, its configuration, a corpus."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nar.answers.query import Query
from nar.base.console import DEFAULT_WORK
from nar.base.errors import IndexUnavailableError
from nar.choices import CorpusChoice, IndexChoice
from nar.cli.app import app
from nar.cli.search_command import ask
from nar.corpus import shipped_corpus
from nar.index.settings import IndexConfig


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


def test_who_takes_the_place_of_the_atlas_is_said_unless_the_command_named_it(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    place = Path("place.yaml")
    place.write_text("index: {uri: mine.db}")
    for quiet in (
        IndexChoice(DEFAULT_WORK, None, None),
        IndexChoice(Path("mine"), None, None),
        IndexChoice(DEFAULT_WORK, "mine.db", place),
    ):
        assert quiet.notice == ""
    (DEFAULT_WORK / "index.db").mkdir(parents=True)
    assert IndexChoice(DEFAULT_WORK, None, None).notice == (
        "there is a workspace in work; it is asked in place of the atlas of NAR"
    )
    assert IndexChoice(Path("mine"), None, place).notice == (
        "place.yaml names the index at mine.db; it is asked in place of the atlas of NAR"
    )


def test_an_index_that_is_not_there_is_not_made_by_a_question(tmp_path):
    uri = tmp_path / "mistyped.db"
    with pytest.raises(IndexUnavailableError, match="there is no index at"):
        ask([Query("timm:resnet18", 1)], IndexChoice(DEFAULT_WORK, str(uri), None), None)
    assert not uri.exists()


@pytest.mark.parametrize(
    "asked", [["info"], ["snapshot", "saved"], ["orphans"], ["orphans", "--drop"], ["rollback"]]
)
def test_a_command_of_the_index_makes_none_where_the_path_is_mistyped(tmp_path, asked):
    uri = tmp_path / "mistyped.db"
    done = CliRunner().invoke(app, ["index", *asked, "--uri", str(uri)])
    assert done.exit_code == 1
    assert f"there is no index at {uri}; make one with `nar index add`" in done.stderr
    assert not uri.exists()


def test_a_file_of_limits_leaves_the_index_of_the_workspace(tmp_path):
    config = tmp_path / "limits.yaml"
    config.write_text("server: {max_queries: 3}")
    assert uri_of(tmp_path, None, config) == str(tmp_path / "index.db")


def test_the_shipped_corpus_stands_in_for_that_of_no_named_workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CorpusChoice(DEFAULT_WORK).directory() == shipped_corpus()
    assert CorpusChoice(tmp_path).directory() == tmp_path / "corpus"
    assert CorpusChoice(DEFAULT_WORK, tmp_path).directory() == tmp_path
