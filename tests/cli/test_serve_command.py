"""What `nar serve` refuses before it opens a port, and the graphs that it explains with."""

import pytest
from corpora import corpus
from tiny_index import tiny_encoder
from typer.testing import CliRunner

from nar.base.workspace import Workspace
from nar.cli.app import app
from nar.encoding.embed import save_checkpoint


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path / "work")
    save_checkpoint(workspace.checkpoint, tiny_encoder())
    return workspace


def serve(*arguments):
    return CliRunner().invoke(app, ["serve", *map(str, arguments)])


def test_the_cache_of_the_atlas_takes_no_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = serve("--writable")
    assert done.exit_code == 1
    assert "--uri" in done.stderr


def test_a_corpus_that_is_named_has_to_be_there(workspace, tmp_path):
    done = serve("--work", workspace.root, "--corpus", tmp_path / "nowhere")
    assert done.exit_code == 1
    assert "nowhere" in done.stderr


@pytest.mark.slow
def test_a_workspace_may_be_without_a_corpus(workspace):
    """It goes on, up to the index, which is not there either."""
    workspace.index.write_text("no directory")
    done = serve("--work", workspace.root)
    assert done.exit_code == 1
    assert "index.db" in done.stderr
    corpus(workspace.corpus)
    assert "index.db" in serve("--work", workspace.root).stderr
