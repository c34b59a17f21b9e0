"""Kinds that stopped repositories: where scripts have the values that they build a class with.

Each class has linear layers, so that its weights tell what it was built with.
"""

import pytest
from clones import Asked, clone

NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width, depth=1, drop=0.0):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])
    def forward(self, x): return self.layers(x)
"""


def test_an_import_is_no_tried_one_because_the_asker_catches_errors(tmp_path):
    clone(tmp_path, {"net.py": f"import no_such_package\n{NET}"})
    try:
        asked = Asked(f"{tmp_path}/net.py:Net(8)", "1x8")
    except Exception:
        pytest.fail("the package is missing in the repository, and was no more than imported")
    assert asked.weights == 72
    assert "no_such_package" in asked.stand_ins[0]


@pytest.mark.parametrize("caught", ["ImportError", "Exception", "(KeyError, ModuleNotFoundError)"])
def test_an_import_that_the_repository_tries_fails_as_it_expects(tmp_path, caught):
    text = f"""
try:
    import no_such_package
    width = 3
except {caught}:
    width = 5
from torch import nn
class Net(nn.Linear):
    def __init__(self): super().__init__(width, 1)
"""
    clone(tmp_path, {"net.py": text})
    assert Asked(f"{tmp_path}/net.py:Net", "1x5").weights == 6


# Arguments that are read of a configuration of which only another file tells.
OTHER_FILES = {
    "an attribute": "Net(conf.width, conf.depth)",
    "a key": "Net(conf['width'], conf['depth'])",
    "of an attribute of itself": "Net(self.args.width, depth=self.args.depth)",
}


@pytest.mark.parametrize("call", OTHER_FILES.values(), ids=OTHER_FILES)
def test_what_is_read_of_a_configuration_is_what_another_file_assigns(tmp_path, call):
    files = {
        "net.py": NET,
        "config.py": """
def settings():
    conf = Holder()
    conf.width = 6
    conf.depth = 3
    conf.path = "data"
    return conf
""",
        "learner.py": f"""
from net import Net
class Learner:
    def __init__(self, conf):
        self.model = {call}
        self.data = open(conf.path)
""",
    }
    clone(tmp_path, files)
    assert Asked(f"{tmp_path}/net.py:Net", "1x6").weights == 3 * 42


TWINS = """
from torch import nn
class Net(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        assert input_size == output_size
        self.a, self.b = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, output_size)
    def forward(self, x): return self.b(self.a(x))
"""
SAME = {
    "a name": ("items = len(read(path))", "Net(items, 4, items)"),
    "another name for it": ("items = len(read(path))\n    n = items", "Net(items, 4, n)"),
    "an expression": (
        "data = read(path)",
        "Net(data.items, hidden_size=4, output_size=data.items)",
    ),
}


@pytest.mark.parametrize(("before", "call"), SAME.values(), ids=SAME)
def test_what_data_tell_is_the_same_where_it_is_made_of_the_same(tmp_path, before, call):
    script = f"from net import Net\ndef main(path):\n    {before}\n    model = {call}\n"
    clone(tmp_path, {"net.py": TWINS, "main.py": script})
    asked = Asked(f"{tmp_path}/net.py:Net")
    assert asked.values["input_size"] == asked.values["output_size"]
    assert "as input_size" in asked.places["output_size"]


PARTS = """
from torch import nn
class Net(nn.Module):
    def __init__(self, data_config, model_config):
        super().__init__()
        self.a = nn.Linear(data_config["mels"], model_config["net"]["width"])
    def forward(self, x): return self.a(x)
"""
TRAINING = """
import argparse
import yaml
from net import Net
def get_model(configs):
    (data_config, model_config, train_config) = configs
    return Net(data_config, model_config)
def main(configs):
    get_model(configs)
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--data_config", type=str, required=True)
    parser.add_argument("-m", "--model_config", type=str, required=True)
    args = parser.parse_args()
    main((yaml.safe_load(open(args.data_config)), yaml.safe_load(open(args.model_config)), None))
"""


@pytest.mark.parametrize(
    "command",
    [
        "python3 train.py -d config/A/data.yaml -m config/A/model.yaml",
        "python train.py --data_config config/A/data.yaml --model_config config/A/model.yaml",
        "python train.py -d ./config/A/data.yaml --model_config ./config/A/model.yaml",
    ],
)
def test_configurations_are_the_files_that_a_command_names(tmp_path, command):
    files = {
        "net.py": PARTS,
        "train.py": TRAINING,
        "README.md": f"```\n{command}\n```\n",
        "config/A/data.yaml": "mels: 5\n",
        "config/A/model.yaml": "net: {width: 7}\n",
        "config/B/data.yaml": "mels: 15\n",
        "config/B/model.yaml": "net: {width: 17}\n",
    }
    clone(tmp_path, files)
    asked = Asked(f"{tmp_path}/net.py:Net", "1x5")
    assert asked.weights == 5 * 7 + 7
    assert asked.places["model_config"].startswith("config/A/model.yaml, by ")


HANDING_ON = """
from torch import nn
class Inner:
    def __init__(self, width, depth=1): self.width, self.depth = width, depth
class Net(nn.Module):
    def __init__(self, size, **rest):
        super().__init__()
        inner = Inner(size, **rest)
        self.layers = nn.Sequential(*[nn.Linear(inner.width, size) for _ in range(inner.depth)])
    def forward(self, x): return self.layers(x)
"""
GIVEN = {
    "by name": "Net(size=variant['size'], depth=variant['depth'])",
    "by position and name": "Net(variant['size'], depth=variant['depth'])",
    "a number": "Net(variant['size'], depth=3)",
}


@pytest.mark.parametrize("call", GIVEN.values(), ids=GIVEN)
def test_arguments_that_a_class_hands_on_are_those_of_its_call(tmp_path, call):
    script = f"""
import argparse
from net import Net
def experiment(variant):
    return {call}
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=6)
    parser.add_argument("--depth", type=int, default=3)
    args = parser.parse_args()
    experiment(variant=vars(args))
"""
    clone(tmp_path, {"net.py": HANDING_ON, "main.py": script})
    assert Asked(f"{tmp_path}/net.py:Net", "1x6").weights == 3 * 42


def test_a_matrix_is_no_configuration(tmp_path):
    text = """
from torch import nn
class Net(nn.Module):
    def __init__(self, group_matrix, width=4):
        super().__init__()
        self.a = nn.Linear(group_matrix.shape[1], width).to(group_matrix.device)
    def forward(self, x): return self.a(x)
"""
    clone(tmp_path, {"net.py": text})
    with pytest.raises(Exception, match="Net wants group_matrix"):
        Asked(f"{tmp_path}/net.py:Net", "1x4")
