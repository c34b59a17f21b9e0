"""What the command says of models as people have them, answered or refused (`asked_modules.py`)."""

import re
from pathlib import Path

import asked_modules
import pytest
from typer.testing import CliRunner

from nar.cli.app import app

pytestmark = pytest.mark.slow

TEXT = Path(asked_modules.__file__).read_text()
IDS = r"--input idx=1x\d+:int64"

# What is asked, and what its answer says.
ANSWERED = {
    "LmOfDataclass": rf"Assumed: {IDS} .*Built with: config = LmConfig\(",
    "LmOfDataclass(LmConfig())": rf"Assumed: {IDS} \(100%",
    "LmOfDataclass(LmConfig(depth=3))": rf"Assumed: {IDS} \(100%",
    "LmOfDefaults": (
        rf"Assumed: {IDS} .*LmOfDefaults\.get_default_config\(\).*"
        r"config\.width = 64 \(modules\.py:\d+ LmConfig\); config\.depth = 2 \("
    ),
    "TakesIds": rf"Assumed: {IDS} \(100%",
    "TakesImageTimeLabel": (
        r"--input x=1x4x\d+x\d+:float32 --input t=1:float32 --input y=1:int64 \(100%"
    ),
    "DenseGcn": r"--input x=(\d+)x32:float32 --input adj=\1x\1:float32 \(100%",
    "dense_gcn": r"Relatives of modules\.py:dense_gcn",
    "Points": r"--input x=\d+x6x\d+:float32 \(100%",
    "Small": r"--input x=1x3x32x32:float32 \(100%",
    "rotary": r"Relatives of modules\.py:rotary",
    "rotary_plain": r"Relatives of modules\.py:rotary_plain",
    # The loss is the output, and None without targets, which are found beside what is brought.
    "loss_only": rf"{IDS} --input targets=1x\d+:int64 \(100%",
    "LossOnly": rf"{IDS} --input targets=1x\d+:int64 \(100%",
    "CudaInForward": r"--input x=1x3x\d+x\d+:float32 \(100%",
    "Fetches": r"already known as .*resnet18.*Left out of the code: .*weights are not loaded",
    "TakesDicts": r"--input samples\.0\.image=3x\d+x\d+:float32",
    "seq2seq": r"Relatives of modules\.py:seq2seq",
}

# Its input is an object of the user's own, of which the file does not tell how it is made.
RECORDS = """
from torch import nn
class TakesRecords(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
    def forward(self, record):
        return self.layer(record.left()) + self.layer(record.right())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("modules.py").write_text(TEXT)


def ask(*words):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(words))


@pytest.mark.parametrize("name", ANSWERED)
def test_a_model_is_answered_and_what_was_assumed_is_said(name):
    done = ask("search", f"modules.py:{name}", "-k", "1")
    assert done.exit_code == 0, done.output
    assert re.search(ANSWERED[name], done.stdout.replace("\n", " ")), done.stdout
    assert "Not certain" not in done.stdout


def test_what_nobody_can_guess_is_refused_with_what_was_tried_and_the_line_that_goes_on():
    Path("records.py").write_text(RECORDS)
    done = ask("search", "records.py:TakesRecords")
    assert done.exit_code == 1
    said = done.stderr.replace("\n", " ")
    assert re.search(r"tried record=.* state them: --input record=", said), said
    assert "image (1, 3, 224, 224)" not in said


def test_two_models_are_compared_as_they_are():
    done = ask("diff", "modules.py:tied", "modules.py:untied")
    assert done.exit_code == 0, done.output
