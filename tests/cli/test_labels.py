"""Labels from the zoo file to the answer: declared, added, shown, filtered, changed."""

import json

import pytest
from typer.testing import CliRunner

from nar.cli import index_commands, search_command
from nar.cli.app import app

MODEL = """
import torch


def factory(width=8):
    layers = [torch.nn.Conv2d(3, width, 3), torch.nn.Tanh(), torch.nn.Conv2d(width, 8, 3)]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""
ZOO = """
labels: {team: vision, licence: apache-2.0}
models:
- name: vision/a@v1
  file: net.py:factory(8)
  labels: {family: tanhnet, accuracy: 0.91, since: 2026-01-31}
- name: vision/b@v1
  file: net.py:factory(16)
  labels: {stage: draft, stable: false, team: speech}
"""
INDEX = ["--uri", "mine.db"]


@pytest.fixture
def at_home(tmp_path, small_atlas, monkeypatch):
    for module in (search_command, index_commands):
        monkeypatch.setattr(module, "shipped_atlas", lambda: small_atlas)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo/net.py").write_text(MODEL)
    (tmp_path / "zoo/nar.zoo.yaml").write_text(ZOO)


def run(*arguments):
    done = CliRunner().invoke(app, [*arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def listed(where):
    return run("list", *INDEX, "--where", where).split()


@pytest.mark.slow
def test_labels_go_from_the_zoo_file_into_answers(at_home):
    checked = json.loads(run("zoo", "check", "zoo", "--json"))["models"]
    assert checked[0]["labels"] == {
        "family": "tanhnet",
        "team": "vision",
        "licence": "apache-2.0",
        "accuracy": 0.91,
        "since": "2026-01-31",
    }
    run("index", "add", "zoo", *INDEX)
    assert listed('team = "vision"') == ["vision/a@v1"]
    assert listed("licence exists") == ["vision/a@v1", "vision/b@v1"]
    assert listed("accuracy > 0.9 and since < 2026-06-01 and family = tanhnet") == ["vision/a@v1"]
    asked = ["search", "vision/b@v1", *INDEX, "--where", "team = vision or stable exists"]
    [hit] = json.loads(run(*asked, "--json"))["hits"]
    assert hit["labels"] == {k: v for k, v in checked[0]["labels"].items() if k != "family"}
    assert hit["family"] == "tanhnet"
    shown = run(*asked)
    assert "accuracy=0.91, licence=apache-2.0, since=2026-01-31, team=vision" in shown


@pytest.mark.slow
def test_labels_change_without_embedding_anew(at_home, monkeypatch):
    run("index", "add", "zoo", *INDEX)
    monkeypatch.setattr(index_commands, "StoredEmbedder", None)  # nothing may embed
    changes = ["stage=prod", "accuracy=0.93", "family=other", "--remove", "stable"]
    told = json.loads(run("index", "label", "vision/b@v1", *changes, *INDEX, "--json"))
    assert told == {
        "name": "vision/b@v1",
        "family": "other",
        "task": "unknown",
        "labels": {"accuracy": 0.93, "licence": "apache-2.0", "stage": "prod", "team": "speech"},
    }
    assert listed("stage = prod and not stable exists") == ["vision/b@v1"]
    jobs = json.loads(run("index", "history", *INDEX, "--json"))["jobs"]
    assert jobs[0]["job"] == "index label"
    run("index", "rollback", *INDEX)
    assert listed("stage = draft and stable = false") == ["vision/b@v1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["vision/a@v1"], "wanted KEY=VALUE, or --remove KEY; came neither"),
        (["vision/a@v1", "stage"], "wanted KEY=VALUE, such as team=vision, came 'stage'"),
        (["vision/a@v1", "nodes=3"], "'nodes' is a field of every row"),
        (["vision/none", "stage=prod"], "no architecture of the name or id 'vision/none'"),
    ],
)
def test_a_change_at_fault_is_refused(at_home, arguments, said):
    run("index", "add", "zoo", *INDEX)
    done = CliRunner().invoke(app, ["index", "label", *arguments, *INDEX])
    assert done.exit_code == 1
    assert said in " ".join(done.stderr.split())


def test_a_condition_at_fault_names_the_letter():
    done = CliRunner().invoke(app, ["list", "--where", "team ="])
    assert done.exit_code == 1
    assert "where: at letter 7: wanted a value, came the end" in done.stderr
