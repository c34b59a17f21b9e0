"""A zoo of one's own: a folder is walked, or declared; names stay, nothing is dropped unsaid."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from nar.base.errors import ConfigError
from nar.base.own_zoo import SCHEMA_FILE, ZOO_FILE, ZooFile, expanded, is_zoo, read_zoo
from nar.cli.app import app

BERT = '{"model_type": "bert"}'
FACTORY = "import torch\ndef factory(n=2):\n    return torch.nn.Linear(8, n), torch.zeros(1, 8)\n"


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    """Models of several kinds, and what is none."""
    files = {
        "vision/bert/config.json": BERT,
        "vision/bert/tokenizer.json": "{}",
        "exports/a.onnx": "not read here",
        "exports/b.pt2": "not read here",
        "weights/w.safetensors": "not read here",
        "code/net.py": FACTORY,
        "code/__pycache__/x.onnx": "",
        ".git/y.onnx": "",
        "README.md": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def declare(text: str) -> None:
    Path(ZOO_FILE).write_text(text)


def names(zoo: str = ".") -> list[str]:
    return [each.name for each in read_zoo(Path(zoo)).models]


def test_a_walk_takes_what_a_search_takes_and_says_what_it_could_not_place(zoo):
    found = read_zoo(Path())
    assert [each.name for each in found.models] == [
        "exports/a.onnx",
        "exports/b.pt2",
        "vision/bert",
    ]
    assert sorted(found.unplaced) == ["code/net.py", "weights/w.safetensors"]


def test_files_of_xml_are_models_where_they_hold_a_net(zoo):
    before = names()
    for name, text in {
        "pom.xml": '<?xml version="1.0"?><project/>',
        "voc/1.xml": "<annotation><network/></annotation>",
        "exports/net.xml": '<?xml version="1.0"?>\n<net name="it" version="11">',
    }.items():
        (zoo / name).parent.mkdir(exist_ok=True)
        (zoo / name).write_text(text)
    assert sorted(names()) == sorted([*before, "exports/net.xml"])
    assert not any(name.endswith(".xml") for name in read_zoo(Path()).unplaced)


def test_names_stay_where_the_zoo_moves(zoo, tmp_path_factory):
    before = names()
    moved = tmp_path_factory.mktemp("moved") / "zoo"
    zoo.rename(moved)
    assert names(str(moved)) == before
    assert read_zoo(moved).models[0].spec == str(moved / "exports/a.onnx")


def test_another_file_beside_it_does_not_rename_a_model(zoo):
    Path("exports/b.pt2").unlink()
    assert names() == ["exports/a.onnx", "vision/bert"]


def test_a_zoo_file_names_models_factories_and_labels(zoo):
    declare(
        "labels: {task: ocr}\n"
        "folders: [{pattern: exports/*, prefix: team/, labels: {family: exported}}]\n"
        "models:\n"
        "- {name: seg@v3, file: 'code/net.py:factory(4)', inputs: [1x8], labels: {task: seg}}\n"
        "- {file: vision/bert}\n"
    )
    found = {each.name: each for each in read_zoo(Path()).models}
    assert list(found) == ["seg@v3", "vision/bert", "team/exports/a.onnx", "team/exports/b.pt2"]
    seg = found["seg@v3"]
    assert (seg.spec, seg.inputs, seg.labels.task) == ("code/net.py:factory(4)", ("1x8",), "seg")
    exported = found["team/exports/a.onnx"].labels
    assert (exported.family, exported.task) == ("exported", "ocr")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models: [{fil: x}]", r"models\.0\.fil: "),
        ("models: [{file: x, name: 'timm:x'}]", r"models\.0\.name: "),
        ("models: [{file: x, labels: {nodes: 3}}]", r"models\.0\.labels: .*'nodes' is a field"),
        ("models: [{file: x, labels: {team: [a]}}]", r"labels\.team: wanted a text, a number"),
        ("models: [{file: x, labels: {family: 3}}]", r"models\.0\.labels\.family: "),
        ("folders: {", "cannot be read"),
        ("models: [{file: a.onnx, name: x}, {file: b.onnx, name: x}]", "two models have the name"),
    ],
)
def test_a_fault_of_a_zoo_file_is_named(zoo, text, said):
    declare(text)
    with pytest.raises(ConfigError, match=said):
        read_zoo(Path())


def test_names_and_zoos_are_one_list(zoo):
    assert is_zoo("exports")
    assert not is_zoo("vision/bert")
    found = expanded(["timm:resnet18", "exports", "vision/bert"]).models
    assert [each.spec for each in found] == [
        "timm:resnet18",
        "exports/a.onnx",
        "exports/b.pt2",
        "vision/bert",
    ]
    assert [each.is_plain for each in found] == [True, False, False, True]


def test_init_writes_what_check_reads_back(zoo):
    before = names()
    done = CliRunner().invoke(app, ["zoo", "init", "."])
    assert done.exit_code == 0
    assert "not placed code/net.py: code is run only where a factory is named" in done.stdout
    assert names() == before
    told = json.loads(CliRunner().invoke(app, ["zoo", "check", ".", "--json"]).stdout)
    assert [each["name"] for each in told["models"]] == before
    assert json.loads(Path(SCHEMA_FILE).read_text()) == ZooFile.model_json_schema()
    assert ZooFile.model_validate(yaml.safe_load(Path(ZOO_FILE).read_text()))
    assert CliRunner().invoke(app, ["zoo", "init", "."]).exit_code == 1


@pytest.mark.slow
def test_a_zoo_is_locked_as_its_models(zoo):
    declare("models: [{name: small, file: 'code/net.py:factory'}]")
    assert CliRunner().invoke(app, ["lock", "."], catch_exceptions=False).exit_code == 0
    assert CliRunner().invoke(app, ["check", "."], catch_exceptions=False).exit_code == 0
