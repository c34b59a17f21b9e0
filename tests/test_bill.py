"""Bills of materials: valid by the library of the standard, and the same for the same model."""

import json

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from typer.testing import CliRunner

from nar import capture_architecture
from nar.cli.app import app
from nar.views.reports import bill_of

NET = """
from torch import nn


def make():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, {classes}))
"""


@pytest.fixture
def model(tmp_path):
    def write(classes=5):
        path = tmp_path / "net.py"
        path.write_text(NET.format(classes=classes))
        return f"{path}:make"

    return write


def printed(name):
    done = CliRunner().invoke(app, ["capture", name, "--input", "1x3x8x8", "--cyclonedx"])
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_bill_is_valid_and_names_what_goes_in_and_out(model):
    text = printed(model())
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    [component] = json.loads(text)["components"]
    assert component["type"] == "machine-learning-model"
    parameters = component["modelCard"]["modelParameters"]
    assert [each["format"] for each in parameters["inputs"]] == ["input float 1x3x8x8"]
    assert [each["format"].split()[-1] for each in parameters["outputs"]] == ["1x5"]
    # Of a file of one's own no family is known.
    assert parameters.keys() == {"modelArchitecture", "inputs", "outputs"}
    facts = {each["name"]: each["value"] for each in component["properties"]}
    assert facts["nar:parameters"] == str(3 * 8 * 9 + 8 + 8 * 36 * 5 + 5)
    assert len(facts["nar:topology"]) == 64


@pytest.mark.slow
def test_the_same_model_has_the_same_bill_and_another_has_not(model):
    first = printed(model())
    assert printed(model()) == first
    assert printed(model(classes=6)) != first


def test_a_known_model_has_its_family_and_task():
    [component] = bill_of(capture_architecture("timm:resnet18"))["components"]
    parameters = component["modelCard"]["modelParameters"]
    assert parameters["architectureFamily"] == "resnet"
    assert parameters["task"] == "image-classification"


@pytest.mark.slow
def test_a_bill_says_what_was_assumed_and_has_one_form(model):
    done = CliRunner().invoke(app, ["capture", model(), "--cyclonedx"])
    facts = json.loads(done.stdout)["components"][0]["properties"]
    assumed = {each["name"]: each["value"] for each in facts}["nar:assumed"]
    assert assumed.startswith("Assumed: --input input=1x3x")
    both = CliRunner().invoke(app, ["capture", model(), "--cyclonedx", "--graph"])
    assert both.exit_code == 1
    assert "without --graph" in both.stderr
