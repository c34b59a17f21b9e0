"""Kinds that stopped repositories of research code: tables that choose, data, neighbours that fail.

Each class has linear layers, so that its weights tell what it was built with.
"""

import ast

import numpy as np
import pytest
import torch
from clones import Asked, clone
from torch import nn

from nar.own.construct.evidence.repository import Repository
from nar.own.construct.makers import choices_of
from nar.own.construct.proposals import Target
from nar.own.construct.stated_calls import _constant
from nar.own.construct.usual_values import usual_value
from nar.own.inputs import infer_inputs

NET = """
from torch import nn
class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.a = nn.Linear({width}, config.outer)
    def forward(self, x): return self.a(x)
"""
PARSER = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--{setting}", default="first")
parser.add_argument("--outer", default=6, type=int)
parser.add_argument("--widths", default="5,7")
parser.add_argument("--device", default="cpu")
"""
TWO_PARTS = """
from torch import nn
class Net(nn.Module):
    def __init__(self, widths, config):
        super().__init__()
        self.a = nn.Linear(widths[0], widths[1])
        self.b = nn.Linear(widths[1], config.outer)
    def forward(self, x): return self.b(self.a(x))
"""
# Files beside `nets/second.py`, and the weights that its own script gives its class `Net`.
TABLES = {
    "a table of classes of modules": """
from nets import first, second
class Training:
    def __init__(self, config):
        self.widths = [int(each) for each in config.widths.split(",")]
        nets = {"first": first.Net, "second": second.Net}
        make = nets[config.kind]
        self.net = make(self.widths, config).to(config.device)
""",
    "a table of modules": """
from nets import first, second
class Training:
    def __init__(self, config):
        self.table = {"first": first, "second": second}
        widths = [int(each) for each in config.widths.split(",")]
        self.net = self.table[config.kind].Net(widths, config)
""",
    "conditions": """
from nets import first
from nets.second import Net
def build_net(config):
    widths = [int(each) for each in config.widths.split(",")]
    if config.kind == "first":
        return first.Net(widths, config)
    elif config.kind == "second":
        return Net(widths, config)
    raise ValueError(config.kind)
""",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_a_setting_is_what_chooses_the_class(tmp_path, text):
    files = {
        "README.md": "",
        "nets/first.py": TWO_PARTS,
        "nets/second.py": TWO_PARTS,
        "nets/__init__.py": "",
        "training.py": text,
        "run.py": PARSER.format(setting="kind") + "import training\n",
    }
    clone(tmp_path, files)
    asked = Asked(f"{tmp_path}/nets/second.py:Net", "1x5")
    assert asked.architecture.architecture.parameters == (5 + 1) * 7 + (7 + 1) * 6


CHOICES = {
    "a table of packages": ("NETS = {'own': own}\nnet = NETS[args.kind]\n", {"kind": "own"}),
    "a folder above": ("NETS = {'above': above}\nnet = NETS[args.kind]\n", {}),
    "the clone itself": ("NETS = {'root': root}\nnet = NETS[args.kind]\n", {}),
    "a call": ("if args.arch == 'own':\n    net = nets.Net(2)\n", {"arch": "own"}),
    "a name": ("if args.arch == 'other':\n    net = Other(Net.helper)\n", {}),
    "an end": ("if args.arch == 'other':\n    del Net\n", {}),
}


@pytest.mark.parametrize(("text", "chosen"), CHOICES.values(), ids=CHOICES)
def test_calls_and_packages_of_the_repository_choose(tmp_path, text, chosen):
    folder = clone(tmp_path / "above/root", {"README.md": "", "own/net.py": "", "net.py": ""})
    inner, outer = (Repository(folder / each) for each in ("own/net.py", "net.py"))
    repository = outer if "above" in text else inner
    assert choices_of(ast.parse(text), Target(None, "Net"), repository) == chosen


def test_the_script_of_the_nearest_folder_configures(tmp_path):
    parser = PARSER.format(setting="model")
    files = {
        "README.md": "",
        "own/nets/net.py": NET.format(width=4),
        "own/run_long.py": parser,
        "own/others/run.py": parser.replace("6", "60"),
    }
    clone(tmp_path, files)
    asked = Asked(f"{tmp_path}/own/nets/net.py:Model", "1x4")
    assert asked.places["config"].startswith("the arguments of own/run_long.py ")
    assert asked.architecture.architecture.parameters == (4 + 1) * 6


OF_DATA = {
    "a part of what data hold": ("data.words.ntoken", "1000"),
    "a part of a part": ("data.words.table.ntoken", "1000"),
    "a count of the data's own": ("data.num_answers", "8"),
}


@pytest.mark.parametrize(("read", "value"), OF_DATA.values(), ids=OF_DATA)
def test_data_are_made_up_as_far_as_they_are_read(tmp_path, read, value):
    text = f"""
from torch import nn
class Net(nn.Module):
    def __init__(self, table, width):
        super().__init__()
        self.table, self.out = table, nn.Linear(3, width)
    def forward(self, x): return self.out(self.table(x))
def build_net(data):
    return Net(nn.Linear({read}, 3), 2)
"""
    clone(tmp_path, {"README.md": "", "net.py": text})
    asked = Asked(f"{tmp_path}/net.py:Net", f"1x{value}")
    assert asked.architecture.architecture.parameters == (int(value) + 1) * 3 + 8


def test_points_in_a_name_are_its_own_where_no_part_is_read(tmp_path):
    net = NET.format(width=4).replace("config.outer", 'config["encoder.dim"]')
    clone(tmp_path, {"README.md": "", "net.py": net})
    asked = Asked(f"{tmp_path}/net.py:Model", "1x4")
    assert asked.values["config.encoder.dim"] == "512"
    assert asked.architecture.architecture.parameters == (4 + 1) * 512


FAILING = {
    "data that no clone has": "LABELS = open('/nowhere/labels.txt').read()\n",
    "a default that reads": "def read(path): return open(path)\n"
    "class Coco:\n    def __init__(self, labels=read('/nowhere/labels.txt')): ...\n",
    "a key that is not set": "import os\nHOME = os.environ['NOBODY_SETS_THIS']\n",
}


@pytest.mark.parametrize("text", FAILING.values(), ids=FAILING)
def test_a_neighbour_that_fails_gives_what_it_defines(tmp_path, text):
    files = {
        "data/__init__.py": "from .coco import *\nfrom .coco import WIDTH\n",
        "data/coco.py": text + "WIDTH = 6\n",
        "layers/__init__.py": "from .box import Box\n",
        "layers/box.py": "from data import WIDTH\nclass Box:\n    width = WIDTH\n",
        "net.py": "from layers import *\nfrom torch import nn\nclass Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(4, Box().width)\n"
        "    def forward(self, x): return self.a(x)\n",
    }
    clone(tmp_path, files)
    asked = Asked(f"{tmp_path}/net.py:Net", "1x4")
    assert asked.architecture.architecture.parameters == (4 + 1) * 6
    assert any("coco.py" in each for each in asked.skipped)


def test_a_file_may_import_parts_of_a_package_of_its_own_name(tmp_path):
    text = "from absent_rouge.utils import log\nWIDTH = 6\n"
    net = "from others.absent_rouge import WIDTH\n" + NET.replace("config.outer", "WIDTH")
    net = net.format(width=4).replace(", config", "")
    clone(tmp_path, {"README.md": "", "others/absent_rouge.py": text, "net.py": net})
    assert Asked(f"{tmp_path}/net.py:Model", "1x4").architecture.architecture.parameters == 30


def test_a_space_of_actions_may_be_their_number(tmp_path):
    text = """
from torch import nn
class Net(nn.Module):
    def __init__(self, action_space, atoms=3):
        super().__init__()
        self.a = nn.Linear(8, action_space * atoms)
    def forward(self, x): return self.a(x)
"""
    clone(tmp_path, {"net.py": text})
    assert Asked(f"{tmp_path}/net.py:Net", "1x8").architecture.architecture.parameters == 9 * 12


@pytest.mark.parametrize(("name", "option"), [("splits", "splits"), ("cut_at", "cut-at")])
def test_what_a_forward_is_handed_beside_tensors_is_what_the_parser_says(tmp_path, name, option):
    text = f"""
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
    def forward(self, x, {name}=None):
        for split in {name}:
            x = self.a(x) * split
        return x
"""
    parser = "import argparse\nparser = argparse.ArgumentParser()\n"
    parser += f"parser.add_argument('--{option}', default=[2, 4], nargs='+', type=int)\n"
    clone(tmp_path, {"README.md": "", "net.py": text, "train.py": parser})
    asked = Asked(f"{tmp_path}/net.py:Net")
    assert set(asked.architecture.assumed.inputs) == {"x=1x8:float32", f"{name}:=[2, 4]"}
    assert asked.values == {f"forward.{name}": "[2, 4]"}
    assert asked.places == {f"forward.{name}": "the arguments of train.py"}


TAKEN_APART = {
    "a comprehension": "[int(each) for each in args.sizes.split(',')]",
    "a map": "list(map(int, args.sizes.split(',')))",
    "a tuple": "tuple(int(each) + 1 for each in args.sizes.split(','))",
}


@pytest.mark.parametrize("made", TAKEN_APART.values(), ids=TAKEN_APART)
def test_a_text_of_numbers_is_taken_apart_as_the_script_does(tmp_path, made):
    text = """
from torch import nn
class Net(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.a = nn.Linear(args.sizes[0], args.sizes[1])
        self.b = nn.Linear(args.sizes[1], args.class_num)
    def forward(self, x): return self.b(self.a(x))
"""
    script = "import argparse, net\nparser = argparse.ArgumentParser()\n"
    script += "parser.add_argument('-sizes', default='5,7')\nargs = parser.parse_args()\n"
    script += f"args.class_num = len(open('labels').read())\nargs.sizes = {made}\n"
    clone(tmp_path, {"README.md": "", "net.py": text, "main.py": script + "net.Net(args)\n"})
    width, more = (6, 8) if "+ 1" in made else (5, 7)
    asked = Asked(f"{tmp_path}/net.py:Net", f"1x{width}")
    assert asked.architecture.architecture.parameters == (width + 1) * more + (more + 1) * 10


def test_weights_that_were_trained_elsewhere_are_no_table_and_tables_are_not_shared():
    assert not isinstance(usual_value("pretrained_weights"), np.ndarray)
    usual_value("word_vectors")[:] = 1
    assert not usual_value("word_vectors").any()


def test_what_one_build_writes_into_vectors_is_not_there_for_the_next():
    make = _constant(usual_value("word_vectors"))
    make()[:] = 1
    assert not make().any()


@pytest.mark.parametrize("name", ["embedding_matrix", "pretrained_vectors", "word_vectors"])
def test_vectors_of_words_that_were_trained_elsewhere_are_a_table(tmp_path, name):
    text = f"""
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, {name}):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.tensor({name}))
        self.out = nn.Linear(self.table.embedding_dim, 2)
    def forward(self, text): return self.out(self.table(text))
"""
    clone(tmp_path, {"net.py": text})
    asked = Asked(f"{tmp_path}/net.py:Net", "1x8:int64")
    assert asked.architecture.architecture.parameters >= 301 * 2


class Branch(nn.Module):
    """Runs its head where it trains."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x, inference):
        x = self.body(x)
        return x if inference else self.head(x)


class Matting(nn.Module):
    """Hands a switch on, by its place or by its name."""

    def __init__(self, by_name):
        super().__init__()
        self.branch, self.by_name = Branch(), by_name

    def forward(self, img, inference):
        if self.by_name:
            return self.branch(img, inference=inference)
        return self.branch(img, inference)


@pytest.mark.parametrize("module", [Branch(), Matting(by_name=True), Matting(by_name=False)])
def test_a_switch_that_is_handed_on_is_a_switch(module):
    assert infer_inputs("module", module).texts[-1] == "inference:=False"


class Captions(nn.Module):
    """Sorts texts by their lengths, which stand in a column."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(40, 8), nn.Linear(8, 40)

    def forward(self, captions, caption_lengths):
        lengths, order = caption_lengths.squeeze(1).sort(dim=0, descending=True)
        said = torch.zeros(len(captions), max(lengths.tolist()), 8)
        return self.out(said + self.table(captions[order])[:, : max(lengths.tolist())])


@pytest.mark.slow
def test_lengths_may_stand_in_a_column():
    found = infer_inputs("module", Captions()).texts
    assert list(found) == ["captions=1x32:int64", "caption_lengths=1x1:int64"]
