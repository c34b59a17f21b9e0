"""What scripts build a class with: chosen by name, spread, computed by functions, one of several.

Each class has one linear layer, so that its weights tell what it was built with.
"""

import pytest
from clones import Asked, clone

NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, inner=4, width=6, deep=False):
        super().__init__()
        self.a = nn.Linear(inner, width)
        self.b = nn.Linear(width, 2) if deep else nn.Identity()
    def forward(self, x): return self.b(self.a(x))
"""


def linear(inner, width):
    return (inner + 1) * width


# Files of a repository, and the weights that its training script gives `net/small.py:Net`.
BY_NAME = {
    "an import by an argument's default": (
        {
            "train_small.py": """
import argparse, importlib
parser = argparse.ArgumentParser()
parser.add_argument("--model", default="small")
parser.add_argument("--wide", default=9, type=int)
args = parser.parse_args()
def main(args):
    net = importlib.import_module(args.model)
    model = net.Net(5, width=args.wide)
""",
            "train_other.py": """
import argparse, importlib
parser = argparse.ArgumentParser()
parser.add_argument("--model", default="other")
args = parser.parse_args()
def main(args):
    net = importlib.import_module(args.model)
    model = net.Net(7, width=11)
""",
            "test_small.py": """
import os, importlib
name = os.listdir("logs")[0]
net = importlib.import_module(name)
model = net.Net(3)
""",
        },
        linear(5, 9),
    ),
    "a configuration that is spread, with keys that are set before": (
        {
            "options.py": """
from argparse import ArgumentParser
def prepare():
    parser = ArgumentParser()
    parser.add_argument("--model", default="net.small")
    parser.add_argument("--data", default="birds")
    parser.add_argument("--inner", default=3, type=int)
    parser.add_argument("--epochs", default=3, type=int)
    return parser
sizes = {"birds": 13, "cats": 14}
""",
            "train.py": """
import options
def run(config):
    config["width"] = options.sizes[config["data"]]
    model = __import__(config["model"])
    net = model.Net(**config)
def main(): run(vars(options.prepare().parse_args()))
if __name__ == "__main__": main()
""",
            "sample.py": """
from net.small import Net
def run(config):
    config.update(torch_load("weights")["config"])
    net = Net(**config)
""",
        },
        linear(3, 13),
    ),
    "a literal that is spread": (
        {"train.py": "from net.small import Net\nSIZES = {'width': 8}\nmodel = Net(2, **SIZES)\n"},
        linear(2, 8),
    ),
    "training before sampling": (
        {
            "demo.py": "from net.small import Net\nmodel = Net(30)\n",
            "train.py": "from net.small import Net\nmodel = Net(3)\n",
        },
        linear(3, 6),
    ),
    "a function of the script, with what it computes on the way": (
        {
            "run_it.py": """
import argparse
from net.small import *
from net.small import Net
def embedder(octaves):
    found = [3 for _ in range(octaves)]
    return sum(found)
def create(args):
    inner = embedder(args.octaves)
    if args.wide:
        inner += embedder(args.octaves)
    model = Net(inner=inner, width=args.units)
    return model
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--octaves", type=int, default=4)
    parser.add_argument("--units", type=int, default=5)
    parser.add_argument("--wide", action="store_true")
    return parser
""",
        },
        linear(12, 5),
    ),
    "a script that tests a trained model is no test": (
        {
            "main_test_net.py": """
import argparse
from net.small import Net as build
def define(args):
    if args.task == "large":
        model = build(inner=40)
    elif args.task == "noise":
        model = build(inner=8, width=3)
    return model
parser = argparse.ArgumentParser()
parser.add_argument("--task", default="noise")
""",
        },
        linear(8, 3),
    ),
    "a test is no script": (
        {"tests/test_net.py": "from net.small import Net\ndef test(): assert Net(77)\n"},
        linear(4, 6),
    ),
}


@pytest.mark.parametrize(("files", "weights"), BY_NAME.values(), ids=list(BY_NAME))
def test_defaults_give_way_to_what_the_script_builds(tmp_path, monkeypatch, files, weights):
    folder = clone(tmp_path, {"README.md": "# Net\n", "net/small.py": NET, **files})
    monkeypatch.chdir(folder)
    assert Asked("net/small.py:Net").weights == weights


def test_an_argument_that_has_to_be_one_of_several_is_the_first(tmp_path, monkeypatch):
    files = {
        "README.md": "# Net\n",
        "models.py": """
from torch import nn
class Net(nn.Module):
    def __init__(self, num_class, modality):
        super().__init__()
        self.a = nn.Linear({"RGB": 3, "Flow": 2}[modality], num_class)
    def forward(self, x): return self.a(x)
""",
        "main.py": """
import argparse
from models import Net
parser = argparse.ArgumentParser()
parser.add_argument("modality", type=str, choices=["RGB", "Flow"])
args = parser.parse_args()
def main():
    count, data = open_data(args.modality)
    model = Net(count, args.modality)
""",
    }
    monkeypatch.chdir(clone(tmp_path, files))
    asked = Asked("models.py:Net")
    assert asked.weights == linear(3, 10)
    assert asked.values["modality"] == "'RGB'"


# Functions that fail where the weights that they were to read are not there.
LOADING = {
    "a key of the state": """
import torch.utils.model_zoo
def load_pretrained(model, url):
    state = {k: v for k, v in torch.utils.model_zoo.load_url(url).items()}
    del state["head.weight"]
    model.load_state_dict(state, strict=False)
""",
    "the first of the state": """
def init_from_checkpoint(model, url):
    state = list(torch.hub.load_state_dict_from_url(url).items())
    model.load_state_dict({state[0][0]: state[0][1]})
    return model
""",
    "a shape of the state": """
def load_model_weights(model, url):
    state = dict(torch.load("nowhere.pth"))
    if state["head.weight"].shape[0] != 3:
        state.pop("head.weight")
""",
    "an assertion": """
def restore_state(model, url):
    state = dict(torch.load("nowhere.pth"))
    assert state, "an empty file"
""",
}


@pytest.mark.parametrize("loading", LOADING.values(), ids=list(LOADING))
def test_loading_that_fails_without_weights_is_left_out(tmp_path, monkeypatch, loading):
    name = loading.partition("def ")[2].partition("(")[0]
    files = {
        "README.md": "# Net\n",
        "helpers.py": f"import torch\n{loading}",
        "net.py": f"""
from torch import nn
from helpers import {name}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)
        {name}(self, "https://nowhere.example/net.pth")
    def forward(self, x): return self.head(x)
""",
    }
    monkeypatch.chdir(clone(tmp_path, files))
    asked = Asked("net.py:Net")
    assert asked.weights == linear(4, 3)
    assert any(f"{name}() fails without weights" in each for each in asked.skipped)


def test_an_error_of_the_users_own_is_not_taken_for_loading(tmp_path, monkeypatch):
    files = {
        "net.py": """
from torch import nn
def load_model_parameters(model): raise ValueError("no such thing")
class Net(nn.Linear):
    def __init__(self):
        super().__init__(4, 3)
        load_model_parameters(self)
""",
    }
    monkeypatch.chdir(clone(tmp_path, files))
    with pytest.raises(Exception, match="no such thing"):
        Asked("net.py:Net")


PACKAGES = {
    # A package without a file of its own, and a file of its name in it.
    "its own name": ("gym/agents/models/agents.py", "from agents.models.part import Part"),
    "its script's folder": ("lab/agents/nets/net.py", "from agents.nets.part import Part"),
    "a file beside the script": (
        "lab/agents/nets/net.py",
        "from sizes import *\nfrom part import Part",
    ),
    "the root": ("agents/nets/net.py", "from agents.nets.part import Part"),
}


@pytest.mark.parametrize(("path", "imports"), PACKAGES.values(), ids=list(PACKAGES))
def test_what_scripts_import_from_their_folder_is_found(tmp_path, monkeypatch, path, imports):
    part = f"{path.rpartition('/')[0]}/part.py"
    files = {
        "README.md": "# Agents\n",
        "lab/sizes.py": "WIDTH = 3\n",
        part: "from torch import nn\nclass Part(nn.Linear): pass\n",
        path: f"""
from torch import nn
{imports}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part(4, 3)
    def forward(self, x): return self.part(x)
""",
    }
    monkeypatch.chdir(clone(tmp_path, files))
    assert Asked(f"{path}:Net").weights == linear(4, 3)


# The first way to make each finds no inputs, or makes nothing that has weights.
WAYS = {
    "one that runs": (
        """
class Net(nn.Module):
    def __init__(self, kind, width=6):
        super().__init__()
        self.kind, self.a = kind, nn.Linear(4, width)
    def forward(self, x):
        if self.kind == "old": raise NotImplementedError("not any more")
        return self.a(x)
""",
        {
            "train.py": "from net import Net\nmodel = Net('old')\n",
            "demo.py": "from net import Net\nmodel = Net('new', width=7)\n",
        },
        linear(4, 7),
    ),
    "one with weights": (
        """
class Net(nn.Module):
    def __init__(self, sizes=None):
        super().__init__()
        if sizes is not None: self.a = nn.Linear(*sizes)
    def forward(self, x): return self.a(x)
if __name__ == "__main__":
    model = Net([5, 3])
""",
        {},
        linear(5, 3),
    ),
    "its defaults": (
        """
class Net(nn.Module):
    def __init__(self, width=6, act="relu"):
        super().__init__()
        self.a, self.act = nn.Linear(4, width), act
    def forward(self, x):
        return getattr(self.a(x), self.act)()
""",
        {"train.py": "from net import Net\nmodel = Net(9, act='sparsegen')\n"},
        linear(4, 6),
    ),
    "none, for it needs no weights": (
        """
class Net(nn.Module):
    def __init__(self, scale=2):
        super().__init__()
        self.scale = scale
    def forward(self, x): return x * self.scale
""",
        {},
        0,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("code", "files", "weights"), WAYS.values(), ids=list(WAYS))
def test_where_one_way_leads_nowhere_the_next_is_taken(tmp_path, monkeypatch, code, files, weights):
    files = {"README.md": "# Net\n", "net.py": f"from torch import nn\n{code}", **files}
    monkeypatch.chdir(clone(tmp_path, files))
    assert Asked("net.py:Net").weights == weights


@pytest.mark.slow
def test_of_ways_that_all_lead_nowhere_the_first_is_told(tmp_path, monkeypatch):
    files = {
        "net.py": """
from torch import nn
class Net(nn.Linear):
    def __init__(self, width=3):
        super().__init__(4, width)
    def forward(self, x): raise NotImplementedError(f"of {self.out_features}")
""",
        "train.py": "from net import Net\nmodel = Net(9)\n",
        "README.md": "# Net\n",
    }
    monkeypatch.chdir(clone(tmp_path, files))
    with pytest.raises(Exception, match="of 9"):
        Asked("net.py:Net")
