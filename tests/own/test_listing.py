"""Which classes of modules a folder defines, and which of them are parts of others."""

from pathlib import Path

from nar.own.listing import modules_of

NET = """
import torch
from torch import nn

raise RuntimeError("this file is read, and never run")

class Norm(nn.Module):
    def forward(self, x):
        return x

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()
    def forward(self, x):
        return self.norm(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(3)])
    def forward(self, x):
        return self.blocks(x)

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x

class Config:
    width = 3

class Holder(nn.Module):
    "It cannot be called."

class Stack(nn.Sequential):
    pass
"""
OTHER = """
from . import net

class Wide(net.Net):
    "It inherits a forward."

class Detector(net.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = net.Net()
    def forward(self, x):
        return self.body(x)
"""


def test_the_outermost_modules_come_first_and_nothing_is_run(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "net.py").write_text(NET)
    (tmp_path / "lib" / "other.py").write_text(OTHER)
    (tmp_path / "broken.py").write_text("class Net(")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_net.py").write_text(NET.replace("class Net", "class Tested"))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "hidden.py").write_text(NET.replace("class Net", "class Hidden"))
    found = modules_of(tmp_path)
    outer = [each.name for each in found if not each.is_part and each.path.parent.name == "lib"]
    assert outer == ["Detector", "Stack", "Wide"]
    inner = [each.name for each in found if each.is_part and each.path.parent.name == "lib"]
    assert inner == ["Net", "Block", "Norm"]
    assert [each.path.name for each in found][-1] == "test_net.py"
    assert not {"Hidden", "Scale", "Config", "Holder"} & {each.name for each in found}
    assert found[0].spec == f"{tmp_path}/lib/other.py:Detector"
    assert found[0].line == 7


def test_classes_that_name_each_other_are_parts_of_nothing(tmp_path):
    text = "from torch.nn import Module\n"
    for one, other in ("AB", "BA"):
        text += f"class {one}(Module):\n    def forward(self, x):\n        return {other}()(x)\n"
    (tmp_path / "net.py").write_text(text)
    assert [each.is_part for each in modules_of(tmp_path)] == [False, False]


def test_a_class_that_is_asked_for_or_annotated_is_no_part(tmp_path):
    (tmp_path / "net.py").write_text(
        NET + "\nclass Wraps(nn.Module):\n    def __init__(self, net: Net):\n"
        "        self.net, self.is_stack = net, isinstance(net, Stack)\n"
        "    def forward(self, x) -> Norm:\n        return self.net(x)\n"
    )
    parts = {each.name: each.is_part for each in modules_of(tmp_path)}
    assert parts == {
        "Net": False, "Stack": False, "Wraps": False, "Block": True, "Norm": True,
    }  # fmt: skip


def test_a_folder_without_modules_has_none(tmp_path):
    Path(tmp_path / "net.py").write_text("x = 3\n")
    assert modules_of(tmp_path) == ()
