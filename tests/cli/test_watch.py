"""`nar watch`: a script runs as `python` would run it, until it calls its model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import nar
from nar.base.errors import UnknownArchitectureError

pytestmark = pytest.mark.slow

MODEL = """
from torch import nn

class CharLstm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table = nn.Embedding(50, width)
        self.cells = nn.LSTM(width, 64, 2, batch_first=True)
        self.head = nn.Linear(64, 50)
    def forward(self, ids):
        return self.head(self.cells(self.table(ids))[0])
"""
TRAIN = """
import argparse, sys
import torch
from torch import nn
from model import CharLstm

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, required=True)
    width = parser.parse_args().width
    print("started", __name__, sys.argv[0])
    model, loss_of = CharLstm(width), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(2):
        ids = torch.randint(0, 50, (4, 12))
        loss = loss_of(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        print("step", step)

if __name__ == "__main__":
    try:
        main()
    except Exception:
        print("caught")
    finally:
        print("closed")
"""
KNOWN = "already known, in other widths, as stanza:CharacterLanguageModel"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "model.py").write_text(MODEL)
    (tmp_path / "project" / "train.py").write_text(TRAIN)
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = Path(nar.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def watch(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(folder / "run", "-m", "nar.watch", *arguments)


def test_a_training_ends_with_the_first_call_and_is_answered(folder):
    done = watch(folder, "--top-k", "2", "../project/train.py", "--width", "32")
    assert done.returncode == 0, done.stderr
    assert "started __main__ ../project/train.py" in done.stdout
    assert "closed" in done.stdout
    assert "caught" not in done.stdout
    assert "step" not in done.stdout
    assert KNOWN in done.stdout
    assert "CharLstm was called: --input 4x12:int64" in done.stderr


def test_a_training_goes_on_after_the_answer_where_it_is_wanted(folder):
    done = watch(folder, "--go-on", "../project/train.py", "--width", "32")
    assert done.stdout.index(KNOWN) < done.stdout.index("step 0") < done.stdout.index("step 1")


def test_a_program_that_reads_the_answer_gets_nothing_else(folder):
    done = watch(folder, "--json", "--module", "cells", "../project/train.py", "--width", "32")
    assert json.loads(done.stdout)["query"] == "LSTM"
    assert "started" in done.stderr


def test_a_module_is_run_from_the_working_folder(folder):
    arguments = ("-m", "nar.watch", "-m", "train", "--width", "32")
    done = python(folder / "project", *arguments)
    assert KNOWN in done.stdout, done.stderr


def test_torchrun_with_one_rank(folder):
    arguments = ("-m", "torch.distributed.run", "--nproc-per-node", "1", "--standalone")
    done = python(folder / "project", *arguments, "-m", "nar.watch", "train.py", "--width", "32")
    assert KNOWN in done.stdout, done.stderr


def test_a_script_that_fails_fails_as_it_does_alone(folder):
    script = folder / "run" / "fails.py"
    script.write_text("def load():\n    return {}['data']\nload()\n")
    done = watch(folder, "fails.py")
    alone = python(folder / "run", "fails.py")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "KeyError: 'data'")
    lines = [line for line in alone.stderr.splitlines() if "~" not in line and "^" not in line]
    assert [
        each.replace(f"{folder}/run/", "")
        for each in done.stderr.splitlines()
        if "~" not in each and "^" not in each
    ] == [each.replace(f"{folder}/run/", "") for each in lines]


@pytest.mark.parametrize(
    ("arguments", "text", "reason"),
    [
        ((), "print('done')", "ended without a call of a module that has weights in this process"),
        (("--module", "Absent"), "print('done')", "ended without a call of Absent"),
        (("--call", "7"), "print('done')", "ended without call 7 of a module that has weights"),
    ],
)
def test_a_script_that_calls_nothing_is_an_error(folder, arguments, text, reason):
    (folder / "run" / "idle.py").write_text(text)
    done = watch(folder, *arguments, "idle.py")
    assert done.returncode == 1
    assert reason in done.stderr


def test_a_script_that_is_not_there_is_missed_by_its_path(folder):
    done = watch(folder, "lost.py")
    assert "lost.py: wanted a script of Python; there is no such file" in done.stderr


def test_a_module_of_a_notebook_is_asked_about_with_its_next_inputs():
    net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
    with nar.watch(net, top_k=3) as watched:
        assert repr(watched) == "Sequential was not called yet"
        with pytest.raises(UnknownArchitectureError, match="not called yet"):
            _ = watched.relatives
        nn.Linear(3, 3)(torch.zeros(1, 3))
        net(torch.zeros(5, 8))
    assert watched.inputs == "--input 5x8:float32"
    assert len(watched.relatives.rows()) == 3
    assert "Relatives of Sequential" in repr(watched)


def test_the_name_is_a_function_however_it_was_imported():
    import nar.watch as module
    from nar import watch as by_name

    net = nn.Linear(3, 3)
    for watch_it in (by_name, nar.watch, module):
        with watch_it(net) as watched:
            pass
        assert watched.rows() == []
