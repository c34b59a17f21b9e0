"""Arguments behind a name: values, calls of what the file defines, files of settings."""

import pytest
from clones import Asked, clone

from nar.base.errors import CaptureError, InvalidInputError
from nar.own.construct.arguments import read_arguments
from nar.own.files import resolve_file

NET = """
from dataclasses import dataclass
from enum import Enum
import os
from torch import nn
from sizes import Sizes

class Kind(Enum):
    RELU = "relu"

@dataclass
class Config:
    width: int = 8
    depth: int = 1

class Net(nn.Module):
    def __init__(self, config, act=nn.ReLU, kind=None):
        super().__init__()
        width = config["width"] if isinstance(config, dict) else config.width
        self.layers = nn.Sequential(*[nn.Linear(8, width) for _ in range(config.depth)], act())
    def forward(self, x): return self.layers(x)

class Plain(nn.Module):
    def __init__(self, width, depth=1):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(8, width) for _ in range(depth)])
    def forward(self, x): return self.layers(x)
"""
SETTINGS = '{"model": {"encoder": {"width": 8, "depth": 2}}, "width": 8, "depth": 3}'


@pytest.fixture
def net(tmp_path):
    files = {
        "net.py": NET,
        "sizes.py": "class Sizes:\n    width = 8\n    depth = 3\n",
        "config.json": SETTINGS,
        "configs/my net.yaml": "model:\n  encoder:\n    width: 8\n    depth: 2\n",
        "list.json": "[8, 2]",
    }
    return clone(tmp_path, files) / "net.py"


@pytest.mark.parametrize(
    ("written", "linears"),
    [
        ("Net(Config())", 1),
        ("Net(Config(depth=3))", 3),
        ("Net(config=Config(8, 2))", 2),
        ("Net(Sizes())", 3),
        ("Net(Config(), act=nn.Tanh)", 1),
        ("Net(Config(), nn.Tanh, kind=Kind.RELU)", 1),
        ("Net(@config.json)", 3),
        ("Net(@config.json:model.encoder)", 2),
        ("Net(config=@config.json:model.encoder, act=nn.GELU)", 2),
        ("Net(@'configs/my net.yaml':model.encoder)", 2),
        ('Net(@"configs/my net.yaml":model.encoder)', 2),
        ("Plain(**@config.json:model.encoder)", 2),
        ("Plain(8, 2)", 2),
        ("Plain(width=8)", 1),
    ],
)
def test_what_is_written_is_what_is_built(net, written, linears):
    asked = Asked(f"{net}:{written}", "1x8")
    assert asked.operators.count("linear") == linears
    assert asked.values == {}


def test_a_file_of_settings_is_found_where_one_stands(net, monkeypatch, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "config.json").write_text('{"width": 8, "depth": 5}')
    monkeypatch.chdir(tmp_path / "here")
    assert Asked(f"{net}:Net(@config.json)", "1x8").operators.count("linear") == 5


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Net(Nothing())", "wanted a name that net.py defines, such as .*Config"),
        ("Net(os.system('true'))", "wanted a call of what the file's repository defines"),
        ("Net(Config().__class__)", "wanted no name with _ in front"),
        ("Net(@nothing.json)", r"@nothing.json: wanted a file of YAML or JSON, there is none"),
        ("Net(@config.json:model.decoder)", r"wanted one of its keys: encoder"),
        ("Net(@config.json:model.encoder.width.x)", r"wanted one of its keys: no mapping"),
        ("Plain(**@list.json)", r"wanted a mapping, came list"),
    ],
)
def test_an_argument_that_is_not_there_is_told_with_what_is(net, written, said):
    with pytest.raises(InvalidInputError, match=said):
        Asked(f"{net}:{written}", "1x8")


@pytest.mark.parametrize(
    "written",
    ["Net(1 +)", "Net(lambda: 3)", "Net([i for i in x])", "Net(**Config())", "Net(a b)"],
)
def test_arguments_that_are_none_are_refused_before_anything_runs(net, written):
    with pytest.raises(InvalidInputError, match="wanted"):
        resolve_file(f"{net}:{written}")


def test_a_text_with_a_mark_in_it_stays_a_text():
    arguments = read_arguments("('a(@b', key=\",@c\")")
    assert (arguments.by_position, arguments.by_name) == (("a(@b",), {"key": ",@c"})


def test_what_is_not_stated_of_a_call_is_found(net):
    text = net.read_text() + (
        "class Two(Plain):\n    def __init__(self, n_heads, width):\n"
        "        super().__init__(width, n_heads)\n"
    )
    net.write_text(text)
    asked = Asked(f"{net}:Two(2)", "1x8")
    assert asked.operators.count("linear") == 2
    assert "n_heads" not in asked.values
    assert asked.values["width"] == "8"


def test_a_failing_constructor_is_told_with_its_own_error(net):
    with pytest.raises(
        CaptureError, match=r"net.py:.*AttributeError: 'int' object has no attribute"
    ):
        Asked(f"{net}:Net(5)", "1x8")
