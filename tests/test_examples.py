"""The scripts in `examples/` run as they stand there, beside files that they are given."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from server_process import ATLAS, process_of
from weight_headers import write_safetensors

from nar.config import NarConfig
from nar.wire.settings import ServerConfig
from nar.zoo.libraries import import_library

EXAMPLES = Path(__file__).parents[1] / "examples"
ZOO = """from torch import nn


def small():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3))


def large():
    return nn.Sequential(small(), nn.ReLU(), nn.Conv2d(8, 16, 3))
"""


@pytest.fixture
def zoo(tmp_path):
    (tmp_path / "zoo.py").write_text(ZOO)
    return tmp_path


def run(script, *arguments, at, expected=0):
    """What a script prints, run in a folder with this environment's `nar` on the path."""
    program = "sh" if script.endswith(".sh") else sys.executable
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        [program, str(EXAMPLES / script), *map(str, arguments)],
        cwd=at,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == expected, done.stderr
    return done.stdout


def test_every_example_is_run_here_and_the_pages_lead_to_it():
    pages = [*EXAMPLES.parent.glob("docs/*.md"), EXAMPLES.parent / "README.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    here = Path(__file__).read_text(encoding="utf-8")
    for example in EXAMPLES.iterdir():
        assert f'run("{example.name}"' in here or f'run(\n        "{example.name}"' in here
        assert f"examples/{example.name})" in text, example


@pytest.mark.slow
def test_a_module_of_ones_own_is_asked_about(tmp_path):
    said = run("ask_own_module.py", at=tmp_path)
    assert said.startswith("No architecture in the index has this exact design.")
    # Each of the four blocks has one sine, and no known transformer has any in such a place.
    assert "'sin': 4" in said.splitlines()[-1]


@pytest.mark.slow
def test_a_zoo_of_ones_own_is_indexed_and_searched(zoo):
    models = ("zoo.py:small", "timm:resnet18", "zoo.py:large")
    said = run("index_own_zoo.py", "mine.db", *models, at=zoo)
    scores, names = zip(*(line.split() for line in said.splitlines()), strict=True)
    # The last is itself; then what it is made of, and last what shares the least with it.
    assert names == ("zoo.py:large", "zoo.py:small", "timm:resnet18")
    assert scores[0] == "1.000"


@pytest.mark.slow
def test_graphs_are_embedded_over_grpc(zoo):
    config = NarConfig(server=ServerConfig(port=0, metrics_port=0))
    stated = config.model_dump_json(exclude={"server": {"token"}})
    server = ATLAS.replace("is_named=is_named", "is_named=is_named, files_alone=True")
    with process_of(server, stated, "unnamed") as running:
        models = ("zoo.py:small", "zoo.py:large", "zoo.py:small")
        said = run("embed_over_grpc.py", running.target, "vectors.npy", *models, at=zoo)
    names, designs = zip(*(line.split() for line in said.splitlines()), strict=True)
    assert names == models
    assert designs[0] == designs[2] != designs[1]
    vectors = np.load(zoo / "vectors.npy")
    assert vectors.shape[0] == 3
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[2])


@pytest.mark.slow
def test_a_zoo_is_guarded(zoo):
    models = ("zoo.py:small", "zoo.py:large")
    assert "2 locked in nar.lock" in run("guard_zoo.sh", *models, at=zoo)
    (zoo / "zoo.py").write_text(ZOO.replace("8, 16, 3", "8, 32, 3"))
    assert "zoo.py:large: width, allowed" in run("guard_zoo.sh", *models, at=zoo)
    (zoo / "zoo.py").write_text(ZOO.replace("ReLU", "GELU"))
    said = run("guard_zoo.sh", *models, at=zoo, expected=3)
    assert "zoo.py:small: design, refused" in said
    assert "gelu for relu (2 times)" in said


@pytest.mark.slow
def test_checkpoints_are_recognised(tmp_path):
    weights = import_library("timm").create_model("resnet18", num_classes=7).state_dict()
    write_safetensors(
        tmp_path / "found.safetensors", {f"net.{k}": tuple(v.shape) for k, v in weights.items()}
    )
    said = run("recognise_checkpoint.py", "found.safetensors", at=tmp_path)
    assert re.match(r"found\.safetensors: \d+ weights, \S*resnet18.* with another head", said)
    (tmp_path / "empty.safetensors").write_bytes(b"")
    said = run(
        "recognise_checkpoint.py", "empty.safetensors", "found.safetensors", at=tmp_path, expected=1
    )
    first, second = said.splitlines()
    assert first.startswith("empty.safetensors: ")
    assert "with another head" in second
