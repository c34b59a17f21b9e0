"""A user's file at home: its libraries, its package, its arguments, its prints."""

import os
import subprocess
import sys

import pytest

from nar.base.errors import CaptureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture
from nar.own.user_code import run_file

LAYER = "from torch import nn\ndef make():\n    return nn.Linear(224, {width})\n"


def nodes(name):
    graph = capture_architecture(str(name)).architecture.graph
    return [op_name(identifier) for identifier in graph.op_ids.tolist()]


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


# Each in a process of its own: what the test's process has imported is no help.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "build"),
    [
        ("import timm", "timm.create_model('resnet10t')"),
        ("import torchvision", "torchvision.models.squeezenet1_1()"),
        (
            "from transformers import ViTConfig, ViTModel",
            "ViTModel(ViTConfig(num_hidden_layers=1, hidden_size=24, num_attention_heads=2))",
        ),
    ],
    ids=["timm", "torchvision", "transformers"],
)
def test_a_file_may_import_model_libraries(tmp_path, imports, build):
    write(tmp_path, model=f"{imports}\ndef make():\n    return {build}\n")
    program = (
        "import sys; from nar.own import capture_architecture as capture\n"
        f"print(capture({str(tmp_path / 'model.py:make')!r}).architecture.graph.nodes)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


@pytest.mark.slow
def test_no_library_is_imported_that_the_file_does_not_want(tmp_path):
    write(tmp_path, model=LAYER.format(width=8))
    program = (
        "import sys; from nar.own.files import resolve_file\n"
        f"resolve_file({str(tmp_path / 'model.py:make')!r}).capture()\n"
        "print(sorted({'timm', 'torchvision', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("packages", [["net"], ["outer", "net"], []], ids=["one", "two", "none"])
def test_a_file_in_a_package_imports_its_neighbours(tmp_path, packages):
    folder = tmp_path.joinpath("project", *(packages or ["net"]))
    write(folder, layers="WIDTH = 8\n")
    for depth in range(len(packages)):
        write(tmp_path.joinpath("project", *packages[: depth + 1]), __init__="")
    text = "from .layers import WIDTH\n" + LAYER.format(width="WIDTH")
    write(folder, model=text)
    assert nodes(folder / "model.py:make") == ["input", "linear"]


def test_neighbours_of_equal_names_are_told_apart(tmp_path):
    for folder, activation in (("a", "ReLU"), ("b", "Tanh")):
        text = f"from torch import nn\nACTIVATION = nn.{activation}\n"
        model = "from part import ACTIVATION\ndef make():\n    return ACTIVATION()\n"
        write(tmp_path / folder, part=text, model=model)
    assert nodes(tmp_path / "a" / "model.py:make") == ["input", "relu"]
    assert nodes(tmp_path / "b" / "model.py:make") == ["input", "tanh"]


def test_a_file_reads_no_arguments_of_ours(tmp_path, monkeypatch):
    arguments = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--width', type=int, default=8)\nwidth = parser.parse_args().width\n"
    )
    write(tmp_path, model=arguments + LAYER.format(width="width"))
    monkeypatch.setattr(sys, "argv", ["nar", "search", "--json"])
    assert nodes(tmp_path / "model.py:make") == ["input", "linear"]
    assert sys.argv == ["nar", "search", "--json"]


def test_what_a_file_prints_is_no_part_of_our_answer(tmp_path, capsys):
    text = "print('at import')\n" + LAYER.format(width=8).replace(
        "    return", "    print('building')\n    return"
    )
    write(tmp_path, model=text)
    nodes(tmp_path / "model.py:make")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "at import" in shown.err
    assert "building" in shown.err


def test_a_file_runs_once_whatever_fails(tmp_path, capsys):
    text = "print('at import')\ndef make():\n    raise KeyError('hidden')\n"
    write(tmp_path, model=text)
    with pytest.raises(CaptureError, match=r"model.py:3: KeyError: 'hidden'"):
        nodes(tmp_path / "model.py:make")
    assert capsys.readouterr().err.count("at import") == 1


def test_a_file_that_exits_is_told(tmp_path):
    write(tmp_path, model="import sys\nsys.exit('no data')\n")
    with pytest.raises(CaptureError, match=r"model.py:2: SystemExit: no data"):
        nodes(tmp_path / "model.py:make")


def test_a_file_is_run_as_it_is_now(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = write(tmp_path, model="def width():\n    return 4\n") / "model.py"
    written = path.stat().st_mtime_ns
    assert run_file(path).width() == 4
    path.write_text("def width():\n    return 6\n")
    os.utime(path, ns=(written, written))
    assert run_file(path).width() == 6
    assert [each.name for each in tmp_path.iterdir()] == ["model.py"]
