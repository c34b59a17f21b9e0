"""Models of one's own beside the atlas, in an index that the atlas is stored in once."""

import json

import pytest
from typer.testing import CliRunner

from nar.cli import asking, index_commands
from nar.cli.app import app

MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.Tanh(), torch.nn.Conv2d(8, 8, 3)]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""


@pytest.fixture
def at_home(tmp_path, small_atlas, monkeypatch):
    for module in (asking, index_commands):
        monkeypatch.setattr(module, "shipped_atlas", lambda: small_atlas)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)


def run(*arguments):
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("where", [["--uri", "mine.db"], []])
def test_an_own_model_is_found_beside_the_atlas(at_home, where):
    for _ in range(2):
        told, _ = run("index", "add", "model.py:factory", *where)
        assert told["added"] == ["model.py:factory"]
        assert told["rows"] == 21
    told, said = run("search", "model.py:factory", "-k", "3", *where)
    assert "asking the index at" in said
    assert told["hits"][0]["name"] == "model.py:factory"
    assert told["same_network"] == ["model.py:factory"]
    assert len(told["hits"]) == 3
