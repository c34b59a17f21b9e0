"""Models of one's own beside the atlas, in an index that the atlas is stored in once."""

import json
import subprocess
import sys
import urllib.request
from dataclasses import replace

import pytest
from milvus_server import free_port
from typer.testing import CliRunner
from waiting import wait_for

from nar.base.console import NOTHING_CAPTURED, TOO_MANY_FAILED
from nar.cli import index_commands, search_command
from nar.cli.app import app
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig

MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.Tanh(), torch.nn.Conv2d(8, 8, 3)]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""

# `nar` with another atlas than the shipped one.
NAR = """
import sys
from pathlib import Path
from nar.answers.atlas import Atlas
from nar.cli import serve_command
serve_command.shipped_atlas = lambda: Atlas(Path(sys.argv[1]), Path(sys.argv[2]))
from nar.base.console import NOTHING_CAPTURED, TOO_MANY_FAILED
from nar.cli.app import app
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig
app(sys.argv[3:])
"""


@pytest.fixture
def at_home(tmp_path, small_atlas, monkeypatch):
    for module in (search_command, index_commands):
        monkeypatch.setattr(module, "shipped_atlas", lambda: small_atlas)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)


def run(*arguments):
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_good_are_added_beside_a_broken_one_and_named_ones_go_again(at_home, tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    (tmp_path / "refuses.py").write_text("def factory():\n    raise ValueError('no such width')\n")
    broken = ["broken.onnx", "refuses.py:factory", "absent.onnx"]
    index = ["--uri", "mine.db"]
    done = CliRunner().invoke(
        app, ["index", "add", broken[0], "model.py:factory", *broken[1:], *index]
    )
    assert done.exit_code == TOO_MANY_FAILED
    assert all(f"not added {name}: " in done.stderr for name in broken)
    allowed = ["--max-failures", "3", "--json"]
    done = CliRunner().invoke(app, ["index", "add", "model.py:factory", *broken, *index, *allowed])
    assert done.exit_code == 0
    assert set(json.loads(done.stdout)["failures"]) == set(broken)
    assert CliRunner().invoke(app, ["index", "add", *broken, *index]).exit_code == NOTHING_CAPTURED

    assert listed("*model.py*", *index) == ["model.py:factory"]
    assert len(listed("*", *index)) == 21
    names = ["index", "remove", "model.py:factory", "misspelt", *index, "--json"]
    done = CliRunner().invoke(app, names)
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {"removed": ["model.py:factory"], "unknown": ["misspelt"]}
    assert len(listed("*", *index)) == 20


def listed(*arguments):
    done = CliRunner().invoke(app, ["list", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_row_that_only_the_index_has_is_asked_by_its_name(at_home):
    index = ["--uri", "mine.db"]
    run("index", "add", "model.py:factory", *index)
    with ArchitectureIndex(IndexConfig(uri="mine.db")) as opened:
        [row] = opened.get(["model.py:factory"]).values()
        name = "vision/seg-unet@v3"
        opened.upsert([replace(row, name=name, id=architecture_id(name), source="team-vision")])
    told, _ = run("search", name, "-k", "2", *index)
    assert {hit["name"] for hit in told["hits"]} >= {"model.py:factory"}
    done = CliRunner().invoke(app, ["search", "vision/misspelt", *index])
    assert done.exit_code == 1
    assert "vision/misspelt" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("command", "where"), [("serve", []), ("web", ["--uri", "mine.db"])])
def test_an_own_model_is_served_beside_the_atlas(at_home, small_atlas, command, where):
    run("index", "add", "model.py:factory", *where)
    port = free_port()
    asked = {
        "serve": ["--port", "0", "--metrics-port", "0", "--web-port", str(port)],
        "web": ["--port", str(port)],
    }
    atlas = [str(small_atlas.directory), str(small_atlas.corpus)]
    line = [sys.executable, "-c", NAR, *atlas, command, *asked[command], *where]
    page = f"http://127.0.0.1:{port}/page/names?text=model.py"
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        try:
            wait_for(lambda: b"model.py:factory" in read(page), or_ended=process)
        finally:
            process.terminate()


def read(page):
    """What is there, and nothing while nobody listens."""
    try:
        with urllib.request.urlopen(page) as answer:
            return answer.read()
    except OSError:
        return b""
