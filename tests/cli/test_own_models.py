"""A class of the user's own, in every command: what is assumed is said, and can be stated."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nar.ask import search
from nar.base.asking import Allowance, Asking
from nar.cli.app import app

NET = """
from dataclasses import dataclass
from pathlib import Path
from torch import nn

@dataclass
class Config:
    vocabulary: int = 100
    width: int = 32

class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.head = nn.Linear(config.width, config.vocabulary)
    def forward(self, ids):
        return self.head(self.embed(ids).relu())

class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(5, 8, 3)
    def forward(self, x):
        return self.conv(x).relu()

class Writes(Picture):
    def __init__(self):
        super().__init__()
        Path("written.txt").write_text("x")

class GoesOn(Picture):
    def __init__(self):
        super().__init__()
        try:
            Path("written.txt").write_text("x")
        except PermissionError:
            pass

class Wants(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.layer = encoder
    def forward(self, x):
        return self.layer(x)
"""
IDS = "--input ids=1x32:int64"

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NET)
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


def assumed(*arguments):
    return json.loads(run(*arguments, "--json").stdout)["assumed"]


def test_an_answer_says_what_was_assumed_and_takes_it_back():
    shown = run("search", "net.py:Net").stdout
    assert f"Assumed: {IDS} (100% of the weights are reached" in shown
    assert "Built with: config = Config() (" in shown
    options = re.findall(r"--input \S+", shown)
    again = run("search", "net.py:Net", *" ".join(options).split(), "--json").stdout
    first = run("search", "net.py:Net", "--json").stdout
    for told in (first, again):
        assert json.loads(told)["hits"] == json.loads(first)["hits"]
    # What was stated is not assumed.
    assert "Assumed: " not in again
    assert json.loads(again)["assumed"]["inputs"] == []
    assert [each["name"] for each in json.loads(again)["assumed"]["values"]] == ["config"]


def test_nothing_is_assumed_of_what_is_known():
    assert assumed("search", "timm:resnet18", "-k", 1) is None
    assert assumed("motifs", "timm:resnet18") is None


@pytest.mark.parametrize("command", ["search", "capture", "motifs"])
def test_programs_get_the_record(command):
    record = assumed(command, "net.py:Net")
    assert record["inputs"] == ["ids=1x32:int64"]
    assert record["weights_reached"] == 1
    assert record["is_sure"] is True
    assert [each["name"] for each in record["values"]] == ["config"]


def test_a_capture_shows_it_and_takes_inputs_by_their_short_form():
    assert IDS in run("capture", "net.py:Net").stdout
    shown = run("capture", "net.py:Picture", "--input-shape", "1,5,9,9").stdout
    # Sizes alone leave the type open, which then is found.
    assert "Assumed: --input x=1x5x9x9:float32 (100%" in shown
    assert run("capture", "net.py:Picture", "--input", "x=1x5x9x9").stdout == shown
    whole = run("capture", "net.py:Picture", "--input", "x=1x5x9x9:float32").stdout
    assert "Assumed" not in whole


def test_a_difference_says_it_of_each_side():
    shown = run("diff", "net.py:Net", "net.py:Picture").stdout
    assert f"net.py:Net: Assumed: {IDS}" in shown
    assert "net.py:Picture: Assumed: --input x=1x5x" in shown
    sides = assumed("diff", "net.py:Net", "timm:resnet18")
    assert sides["first"]["inputs"] == ["ids=1x32:int64"]
    assert sides["second"] is None


def test_commands_without_a_place_for_it_say_it_beside():
    for command in (["lock"], ["check"], ["export", "-o", "net.dot"], ["motifs"]):
        done = run(*command, "net.py:Net")
        assert f"net.py:Net: Assumed: {IDS}" in done.stderr


def test_python_says_the_same_and_takes_stated_inputs():
    answer = search("net.py:Net")
    assert IDS in repr(answer)
    assert IDS in answer._repr_html_()
    for stated in ({"ids": (1, 32)}, "ids=1x32:int64", Asking(("ids=1x32:int64",))):
        assert search("net.py:Net", stated).answer.hits == answer.answer.hits
    assert search("net.py:Net", Asking(("ids=1x32:int64",))).answer.assumed.inputs == ()


def test_what_code_may_do_is_allowed_by_the_command_and_in_python():
    shown = run("search", "net.py:GoesOn").stdout
    assert "Left out of the code: net.py:35 wanted to write " in shown
    refused = run("search", "net.py:Writes", code=1).stderr
    assert re.search(r"written.txt: refused \(--allow writes lets it\)", refused)
    assert not Path("written.txt").exists()
    shown = run("search", "net.py:GoesOn", "--allow", "writes").stdout
    assert "written.txt" not in shown
    assert Path("written.txt").exists()
    Path("written.txt").unlink()
    search("net.py:Writes", Asking(allowed=frozenset({Allowance.WRITES})))
    assert Path("written.txt").exists()


def test_a_check_tells_programs_what_was_assumed():
    run("lock", "net.py:Net")
    assert assumed("check")["net.py:Net"]["inputs"] == ["ids=1x32:int64"]


def test_a_check_takes_kinds_of_changes_and_what_code_may_do():
    run("lock", "net.py:Writes", "--allow", "writes")
    Path("written.txt").unlink()
    Path("net.py").write_text(NET.replace("Conv2d(5, 8, 3)", "Conv2d(5, 16, 3)"))
    run("check", "--allow", "width", code=1)
    assert not Path("written.txt").exists()
    run("check", "--allow", "writes", code=3)
    run("check", "--allow", "width", "--allow", "writes")
    assert Path("written.txt").exists()
    refused = run("check", "--allow", "width, writes", code=2).output
    assert "commands, network, writes" in re.sub(r"\s+", " ", refused.replace("│", " "))


def test_a_lock_keeps_the_inputs_that_were_stated():
    run("lock", "net.py:Net", "net.py:Picture", "timm:resnet18")
    assert "inputs" not in Path("nar.lock").read_text()
    run("lock", "net.py:Picture", "timm:resnet18", "--input", "x=1x5x9x9:float32")
    models = json.loads(Path("nar.lock").read_text())["models"]
    assert models["net.py:Picture"]["inputs"] == ["x=1x5x9x9:float32"]
    assert "inputs" not in models["timm:resnet18"]
    assert "Assumed" not in run("check").stderr
    told = assumed("check")
    assert told == {"net.py:Picture": None, "timm:resnet18": None}
    run("lock")
    assert json.loads(Path("nar.lock").read_text())["models"] == models


def test_a_wrapper_is_printed_and_runs():
    text = run("wrap", "net.py:Net").stdout
    compile(text, "ask.py", "exec")
    Path("ask.py").write_text(text)
    assert assumed("search", "ask.py:model")["inputs"] == ["ids=1x32:int64"]


REFUSED = {
    ("capture", "net.py:Wants"): r"encoder.*nar wrap net\.py:Wants > ask\.py",
    ("capture", "net.py:Net(depth=3)"): r"argument 'depth'; `nar wrap net\.py:Net` prints",
    ("capture", "net.py:Net(Config(depth=3))"): r"argument 'depth'; `nar wrap net\.py:Net` prints",
    ("capture", "net.py:Nett"): r"defines no Nett; it has Net, Config, Picture",
    ("capture", "net.py:Picture", "--input", "x=1x3y"): r"wanted NAME=SIZES\[:TYPE\]",
    ("capture", "net.py:Picture", "--input", "y=1x5x9x9"): (
        r"--input y=: wanted a parameter of Picture\.forward: x$"
    ),
    ("capture", "timm:resnet18", "--input", "1x3x9x9"): "stated inputs for path/to/file.py:Model",
    ("search", "timm:resnet18", "--input", "1x3x9x9"): (
        "wanted path/to/file.py:Model, or a TorchScript program, to state inputs of"
    ),
    ("diff", "timm:resnet18", "timm:resnet34", "--input", "1x3x9x9"): "to state inputs of",
    ("wrap", "net.py"): "wanted path/to/file.py:Model",
    ("wrap", "nett.py:Net"): "there is no file nett.py",
    ("capture", "net.py"): "net.py:Net",
    ("capture", "."): "nar search FOLDER",
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_an_error_says_the_line_that_goes_on(words):
    done = run(*words, code=1)
    assert re.search(REFUSED[words], done.stderr.strip().replace("\n", " ")), done.stderr
    assert "Traceback" not in done.output
