"""Arguments that nobody stated: each comes from the best evidence, and its place is said."""

import json

import pytest
from clones import Asked, clone

from nar.base.errors import CaptureError
from nar.own.construct.evidence.parsed import read_settings

OF_CONFIG = """
from torch import nn
class Net(nn.Module):
    def __init__(self, {parameter}):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(8, {of}width) for _ in range({of}depth)])
    def forward(self, x): return self.layers(x)
"""
OF_VALUES = OF_CONFIG.format(parameter="width, depth", of="")
README = {"README.md": ""}


def linears(folder, files, name="net.py:Net"):
    """What asking gives, and how many linear layers were built."""
    asked = Asked(f"{clone(folder, README | files)}/{name}", "1x8")
    return asked, asked.operators.count("linear")


def of_config(parameter="config", of="config."):
    return OF_CONFIG.format(parameter=parameter, of=of)


DATACLASS = "from dataclasses import dataclass\n@dataclass\nclass {name}:\n    width: int = 8\n"
DATACLASS += "    depth: int = {depth}\n"


def test_defaults_are_taken_as_they_are(tmp_path):
    asked, depth = linears(tmp_path, {"net.py": of_config("width=8, depth=3", "")})
    assert (depth, asked.values) == (3, {})


@pytest.mark.parametrize(
    ("files", "value", "place"),
    [
        (
            {"net.py": DATACLASS.format(name="Shape", depth=3) + of_config("config: Shape")},
            "Shape()",
            "the annotation of config",
        ),
        (
            {"net.py": DATACLASS.format(name="NetConfig", depth=3) + of_config()},
            "NetConfig()",
            "in net.py",
        ),
        (
            {
                "sizes.py": DATACLASS.format(name="NetArgs", depth=3),
                "net.py": "from sizes import NetArgs\n" + of_config("args", "args."),
            },
            "NetArgs()",
            "in net.py",
        ),
        (
            {"config.py": DATACLASS.format(name="NetConfig", depth=3), "net.py": of_config()},
            "NetConfig()",
            "in config.py",
        ),
        (
            {"net.py": "class Config:\n    width = 8\n    depth = 3\n" + of_config()},
            "Config()",
            "in net.py",
        ),
        (
            {
                "net.py": "class NetConfig:\n    def __init__(self, depth=3):\n"
                "        self.width, self.depth = 8, depth\n" + of_config()
            },
            "NetConfig()",
            "in net.py",
        ),
    ],
    ids=["annotation", "same_file", "imported", "same_package", "attributes", "constructor"],
)
def test_a_class_of_configurations_is_found(tmp_path, files, value, place):
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    [name] = asked.values
    assert (asked.values[name], asked.places[name]) == (value, place)


def test_a_field_without_a_default_is_found_elsewhere(tmp_path):
    config = "from dataclasses import dataclass\n@dataclass\nclass C:\n    width: int\n"
    config += "    depth: int\n    vocab: int = -1\n"
    files = {"net.py": config + of_config("config: C"), "c.json": '{"width": 8, "depth": 3}'}
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.values["config"] == "C(width=8, depth=3, vocab=1000)"
    assert asked.places["config.depth"] == "c.json"
    assert asked.places["config.vocab"] == "assumed from its name"


def test_a_method_that_returns_a_configuration_is_called(tmp_path):
    method = (
        "    @staticmethod\n    def get_default_config():\n"
        "        import argparse\n"
        "        return argparse.Namespace(width=8, depth=None)\n    def __init__"
    )
    files = {
        "net.py": of_config().replace("    def __init__", method, 1),
        "c.yaml": "width: 8\ndepth: 3\n",
    }
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.values["config"] == "Net.get_default_config()"
    assert asked.places["config"] == "net.py; it leaves depth open"
    assert asked.places["config.depth"] == "c.yaml"


@pytest.mark.parametrize("name", ["config.json", "cfg/net.yaml", "cfg/deep/net.yml"])
@pytest.mark.parametrize("of", ["config.", "config['{}']"], ids=["attribute", "key"])
def test_a_file_whose_keys_are_those_that_the_constructor_reads(tmp_path, name, of):
    text = of_config()
    if "[" in of:
        text = text.replace("config.width", "config['width']")
        text = text.replace("config.depth", "config['depth']")
    files = {"net.py": text, name: json.dumps({"net": {"width": 8, "depth": 3, "rate": 0.1}})}
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["config"] == f"{name} (2 of the 2 names that the constructor reads)"


def test_names_are_read_through_what_the_configuration_is_handed_to(tmp_path):
    net = """
from torch import nn
def layers(opt, count): return nn.Sequential(*[Layer(opt) for _ in range(count)])
class Layer(nn.Linear):
    def __init__(self, o): super().__init__(8, o.width)
class Base(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.hp = hp
        self.layers = self.made(hp)
    def made(self, hp): return layers(hp, hp["depth"])
class Net(Base):
    def __init__(self, config): super().__init__(config)
    def forward(self, x): return self.layers(x) * self.hp.scale
"""
    files = {
        "net.py": net,
        "a.json": '{"width": 4}',
        "b.json": '{"width": 8, "depth": 3, "scale": 1}',
    }
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["config"] == "b.json (3 of the 3 names that the constructor reads)"


def test_other_files_that_fit_as_well_are_counted(tmp_path):
    settings = {f"cfg/{each}.yaml": "width: 8\ndepth: 3\n" for each in "abcd"}
    files = {"net.py": of_config("cfg", "cfg."), **settings}
    files["README.md"] = "Run\n\n    python train.py --cfg cfg/c.yaml\n"
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["cfg"].startswith("cfg/c.yaml (2 of the 2 names")
    assert asked.places["cfg"].endswith("; 3 other files have as many)")


TRAIN = """
import argparse
from net import Net
def main():
    p = argparse.ArgumentParser()
    p.add_argument("-w", "--width", type=int, default={width})
    p.add_argument("--depth", default="3", type=int)
    p.add_argument("--fast", action="store_true")
    args = p.parse_args()
    Net({call})
if __name__ == "__main__": main()
"""


def test_the_defaults_of_a_parser_are_a_namespace(tmp_path):
    files = {"net.py": of_config("args", "args."), "train.py": TRAIN.format(width=8, call="args")}
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["args"] == (
        "the arguments of train.py (2 of the 2 names that the constructor reads)"
    )


def test_a_parser_of_another_script_of_the_repository_is_not_taken(tmp_path):
    other = 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--width", default=2)\n'
    other += 'p.add_argument("--depth", default=9)\np.parse_args()\n'
    files = {
        "net.py": of_config("args", "args."),
        "a_plot.py": other,
        "train.py": TRAIN.format(width=8, call="args"),
    }
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["args"].startswith("the arguments of train.py")


def test_an_argument_without_a_default_is_as_a_command_gives_it(tmp_path):
    files = {
        "net.py": of_config("args", "args."),
        "train.py": TRAIN.format(width="None", call="args"),
        "README.md": "```\npython train.py --width 8 --depth 5\n```\n",
    }
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.weights == 3 * 72


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"train.py": "from net import Net\nNet(8, depth=3)\n"}, "train.py:2"),
        (
            {"README.md": "```python\nfrom net import Net\nnet = Net(8, 3)\n```\n"},
            "the code in README.md",
        ),
        (
            {
                "train.py": "from net import Net\nW = 4\nSIZES = dict(depth=3)\n"
                "Net(W * 2, SIZES['depth'])\n"
            },
            "train.py:4",
        ),
        (
            {
                "run.py": "from net import Net\ndef build(w=8):\n    d = 1 + 2\n"
                "    train(Net(w, d))\n"
            },
            None,
        ),
        (
            {
                "sizes.py": "W = 8\n",
                "train.py": "from net import Net\nfrom sizes import W\nNet(W, 3)\n",
            },
            "train.py:3",
        ),
        ({"train.py": TRAIN.format(width=8, call="args.width, args.depth")}, "train.py:10"),
    ],
    ids=["literals", "readme", "names", "function", "import", "parser"],
)
def test_a_call_of_the_class_is_worked_out(tmp_path, files, place):
    asked, depth = linears(tmp_path, {"net.py": OF_VALUES, **files})
    assert depth == 3
    assert asked.values == {"width": "8", "depth": "3"}
    assert place is None or set(asked.places.values()) == {place}


def test_a_condition_decides_which_assignment_counts(tmp_path):
    train = """
from net import Net
KIND = "small"
if KIND == "small":
    depth = 3
else:
    depth = 12
if KIND == "large":
    depth = 24
Net(8, depth)
"""
    asked, depth = linears(tmp_path, {"net.py": OF_VALUES, "train.py": train})
    assert (depth, asked.values["depth"]) == (3, "3")


def test_a_condition_that_is_not_known_leaves_the_value_open(tmp_path):
    train = "import torch\nfrom net import Net\ndepth = 3\nif torch.load('x'):\n    depth = 12\n"
    train += "Net(8, depth)\n"
    asked, depth = linears(tmp_path, {"net.py": OF_VALUES, "train.py": train})
    assert asked.places["depth"] == "assumed from its name"
    assert depth == 4


def test_a_list_that_a_loop_fills_is_not_known(tmp_path):
    train = "from net import Net\nsizes = []\nfor each in open('x'):\n    sizes.append(each)\n"
    train += "Net(8, len(sizes))\n"
    asked, depth = linears(tmp_path, {"net.py": OF_VALUES, "train.py": train})
    assert asked.places["depth"] == "assumed from its name"
    assert depth == 4


def test_a_factory_of_the_repository_makes_it_in_place_of_its_defaults(tmp_path):
    net = of_config("width=4, depth=1", "") + "def net_small(): return Net(width=8, depth=3)\n"
    asked, depth = linears(tmp_path, {"net.py": net})
    assert depth == 3
    assert asked.values == {"width": "8", "depth": "3"}
    assert asked.places["depth"] == "net.py:8 net_small()"


def test_a_factory_is_run_and_what_it_gives_is_caught(tmp_path):
    factory = """
from net import Net
SIZES = {"small": (8, 3), "large": (8, 9)}
def build_net(kind="small", **rest):
    sizes = []
    for each in SIZES[kind]:
        sizes.append(each)
    net = Net(*sizes)
    raise ValueError("weights are missing")
"""
    asked, depth = linears(tmp_path, {"net.py": OF_VALUES, "factory.py": factory})
    assert depth == 3
    assert asked.values == {"width": "8", "depth": "3"}
    assert asked.places["width"] == "factory.py:8 build_net()"


def test_one_of_several_factories_is_taken_and_the_others_are_counted(tmp_path):
    net = OF_VALUES + "".join(f"def net_{depth}(): return Net(8, {depth})\n" for depth in (3, 5, 7))
    asked, depth = linears(tmp_path, {"net.py": net})
    assert depth == 3
    assert asked.places["depth"] == "net.py:8 net_3(); 2 other functions make it too"


@pytest.mark.parametrize(
    "text",
    [
        "model:\n  target: net.Net\n  params:\n    width: 8\n    depth: 3\n",
        "net:\n  _target_: net.Net\n  width: 8\n  depth: 3\n",
        "model:\n  class_path: net.Net\n  init_args:\n    width: 8\n    depth: 3\n",
        "network:\n  type: Net\n  width: 8\n  depth: 3\n",
    ],
    ids=["target", "hydra", "lightning", "type"],
)
def test_a_configuration_that_names_the_class_gives_its_arguments(tmp_path, text):
    asked, depth = linears(tmp_path, {"net.py": OF_VALUES, "cfg/a.yaml": text})
    assert depth == 3
    assert asked.places["depth"].startswith("cfg/a.yaml (")


def test_one_of_many_configurations_names_how_many_others_there_are(tmp_path):
    text = "target: net.Net\nparams: {{width: 8, depth: {}}}\n"
    files = {f"cfg/{each}.yaml": text.format(each) for each in range(3, 22)}
    asked, _ = linears(tmp_path, {"net.py": OF_VALUES, **files})
    assert "; 18 other files do too, such as cfg/" in asked.places["depth"]


def test_a_block_is_built_as_the_model_builds_it(tmp_path):
    net = """
from torch import nn
class Block(nn.Module):
    def __init__(self, wide, drop):
        super().__init__(); self.l = nn.Linear(wide, wide); self.d = nn.Dropout(drop)
    def forward(self, x): return self.d(self.l(x))
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.width = width
        for each in (1, 2): self.add_module(str(each), Block(self.width * each, drop=0.5))
"""
    asked = Asked(f"{clone(tmp_path, README | {'net.py': net})}/net.py:Block", "1x8")
    assert asked.values == {"wide": "8", "drop": "0.5"}
    assert asked.places["wide"] == "net.py:11, as a part of Net"


def test_what_nothing_tells_is_assumed_from_its_name(tmp_path):
    net = OF_VALUES.replace("width, depth", "in_features, n_layers").replace(
        "8, width", "in_features, in_features"
    )
    net = net.replace("range(depth)", "range(n_layers)")
    asked = Asked(f"{clone(tmp_path, {'net.py': net})}/net.py:Net", "1x64")
    assert asked.values == {"in_features": "64", "n_layers": "4"}
    assert set(asked.places.values()) == {"assumed from its name"}


def test_zero_of_a_parser_is_no_vocabulary(tmp_path):
    net = """
from torch import nn
class Net(nn.Module):
    def __init__(self, args):
        super().__init__(); self.e = nn.Embedding(args.vocab_size, args.width)
    def forward(self, x): return self.e(x)
def make():
    import torch
    return Net, torch.zeros(1, 4, dtype=torch.long)
"""
    train = "import argparse\nfrom net import Net\np = argparse.ArgumentParser()\n"
    train += 'p.add_argument("--vocab_size", type=int, default=0)\n'
    train += 'p.add_argument("--width", type=int, default=8)\nNet(p.parse_args())\n'
    example = (
        "Net.example_inputs = __import__('torch').zeros(1, 4, dtype=__import__('torch').long)\n"
    )
    folder = clone(tmp_path, README | {"net.py": net + example, "train.py": train})
    asked = Asked(f"{folder}/net.py:Net")
    assert asked.values["args.vocab_size"] == "1000"
    assert asked.places["args.vocab_size"] == "assumed from its name"
    assert asked.weights == 8000


def test_a_setting_that_is_asked_for_late_is_found_then(tmp_path):
    net = (
        of_config()
        .replace(
            "super().__init__()",
            "super().__init__(); need = 'de' + 'pth'; self.n = getattr(config, need)",
        )
        .replace("range(config.depth)", "range(self.n)")
    )
    files = {"net.py": net, "a.yaml": "depth: 3\n", "b.json": '{"width": 8}'}
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["config.depth"] == "a.yaml"


def test_the_first_true_error_of_the_constructor_is_the_one_that_is_shown(tmp_path):
    net = OF_VALUES.replace("super().__init__()", "super().__init__(); check(width)")
    net += "def check(width):\n    if width != 7: raise ValueError('width of seven is wanted')\n"
    with pytest.raises(CaptureError) as failure:
        linears(tmp_path, {"net.py": net})
    reason = failure.value.reason
    assert "net.py:9: ValueError: width of seven is wanted" in reason
    assert "net.py:Net > ask.py" in reason


@pytest.mark.parametrize(
    ("library", "made"),
    [
        ("from yacs.config import CfgNode as CN", "CN()"),
        ("from easydict import EasyDict", "EasyDict()"),
        ("import ml_collections", "ml_collections.ConfigDict()"),
        ("from omegaconf import OmegaConf", "OmegaConf.create({})"),
    ],
    ids=["yacs", "easydict", "ml_collections", "omegaconf"],
)
def test_configurations_of_libraries_are_read_without_them(tmp_path, monkeypatch, library, made):
    package = library.split()[1].partition(".")[0]
    if __import__("importlib.util").util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    config = f"{library}\n_C = {made}\n_C.NET = {made}\n_C.NET.width = 8\n_C.NET.depth = 3\n"
    files = {"config.py": config, "net.py": of_config("cfg", "cfg.NET.")}
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["cfg"] == "_C of config.py"


def test_a_function_of_configurations_is_called(tmp_path):
    config = "class C: pass\ndef get_small_config():\n    c = C(); c.width = 8; c.depth = 3\n"
    files = {"configs.py": config + "    return c\n", "net.py": of_config()}
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["config"] == "get_small_config() of configs.py"


def test_a_default_that_is_a_file_is_found_in_the_repository(tmp_path):
    net = """
import yaml
from torch import nn
class Net(nn.Module):
    def __init__(self, cfg="small.yaml"):
        super().__init__()
        with open(cfg) as file: held = yaml.safe_load(file)
        self.layers = nn.Sequential(*[nn.Linear(8, held["width"]) for _ in range(held["depth"])])
    def forward(self, x): return self.layers(x)
"""
    asked, depth = linears(
        tmp_path, {"nets/net.py": net, "cfg/small.yaml": "width: 8\ndepth: 3\n"}, "nets/net.py:Net"
    )
    assert depth == 3
    assert (asked.values, asked.places) == (
        {"cfg": "cfg/small.yaml"},
        {"cfg": "the file of its default"},
    )


def test_a_part_has_the_configuration_of_its_model(tmp_path):
    net = """
from torch import nn
class Block(nn.Module):
    def __init__(self, config): super().__init__(); self.l = nn.Linear(config.width, config.width)
    def forward(self, x): return self.l(x)
class Other(nn.Module):
    def __init__(self, config): super().__init__(); self.l = nn.Linear(config.width, 2)
    def forward(self, x): return self.l(x)
class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        kind = Block if config.kind == "block" else Other
        config.width = config.width * 2
        self.layers = nn.Sequential(*[kind(config) for _ in range(config.depth)])
    def forward(self, x): return self.layers(x)
"""
    files = README | {"net.py": net, "a.json": '{"kind": "block", "width": 4, "depth": 2}'}
    asked = Asked(f"{clone(tmp_path, files)}/net.py:Block", "1x8")
    assert asked.weights == 72
    assert asked.places["config"] == "net.py:12, as a part of Net"


def test_a_factory_that_wants_a_configuration_gets_it_by_what_it_reads(tmp_path):
    factory = "from net import Net\ndef build(cfg): return Net(cfg.NET.width, cfg.NET.depth)\n"
    files = {
        "net.py": OF_VALUES,
        "factory.py": factory,
        "a.yaml": "NET:\n  width: 8\n  depth: 3\nDATA: x\n",
        "train.py": TRAIN.format(width=2, call="2, 9").replace("Net(2, 9)", "pass"),
    }
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.places["depth"] == "factory.py:2 build()"


def test_a_size_that_is_assumed_is_another_where_the_usual_one_fails(tmp_path):
    net = """
from torch import nn
class Net(nn.Module):
    def __init__(self, img_resolution):
        super().__init__()
        assert img_resolution & (img_resolution - 1) == 0
        self.l = nn.Linear(8, img_resolution)
    def forward(self, x): return self.l(x)
"""
    asked = Asked(f"{clone(tmp_path, {'net.py': net})}/net.py:Net", "1x8")
    assert asked.values == {"img_resolution": "256"}


def test_a_configuration_that_code_makes_whole_gets_no_parts_of_another_branch(tmp_path):
    config = (
        "from ml_collections import ConfigDict\ndef get_small_config():\n"
        "    c = ConfigDict(); c.width = 8; c.depth = 3\n    return c\n"
        "def get_large_config():\n    c = get_small_config(); c.extra = 9\n    return c\n"
    )
    net = of_config().replace(
        "super().__init__()",
        "super().__init__(); self.e = hasattr(config, 'extra') and config.extra",
    )
    asked, depth = linears(tmp_path, {"configs.py": config, "net.py": net})
    assert depth == 3
    assert set(asked.values) == {"config"}


def test_a_call_under_another_name_gives_its_configuration(tmp_path):
    train = """
import argparse
from net import Net as TheNet, SIZES as ALL_SIZES
p = argparse.ArgumentParser()
p.add_argument("--kind", default="large")
args = p.parse_args()
size = ALL_SIZES[args.kind]
net = TheNet(size)
"""
    config = "class C:\n    def __init__(self, depth): self.width, self.depth = 8, depth\n"
    sizes = "SIZES = {'small': C(1), 'large': C(3)}\n"
    asked, depth = linears(tmp_path, {"net.py": config + sizes + of_config(), "train.py": train})
    assert depth == 3
    assert asked.places["config"] == "train.py:8"


def test_a_call_of_a_test_is_no_call_of_the_models_own(tmp_path):
    config = DATACLASS.format(name="Config", depth=3)
    test = "from net import Net, Config\ndef test_net(): Net(Config(depth=1))\n"
    files = {"net.py": config + of_config("config: Config"), "tests/test_net.py": test}
    asked, depth = linears(tmp_path, files)
    assert depth == 3
    assert asked.values == {"config": "Config()"}


def test_a_configuration_is_as_a_script_leaves_it_before_the_call(tmp_path):
    config = "from ml_collections import ConfigDict\ndef small():\n    c = ConfigDict()\n"
    config += "    c.width = 4\n    c.net = ConfigDict()\n    return c\n"
    train = """
from net import Net, SIZES
KIND = "deep"
shape = SIZES["small"]
shape.width = 2 * 4
if KIND == "deep":
    shape.net.depth = 3
else:
    shape.net.depth = 5
net = Net(shape)
"""
    net = (
        config
        + "SIZES = {'small': small()}\n"
        + of_config().replace("config.depth", "config.net.depth")
    )
    asked, depth = linears(tmp_path, {"net.py": net, "train.py": train})
    assert depth == 3
    assert asked.places["config"] == "train.py:10"


NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width=8, side=7):
        super().__init__()
        self.side = side
        self.layer = nn.Linear(width, side)
    def forward(self, x): return self.layer(x)
"""
DEFINE = """
import argparse
from net import Net as network
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="color")
    parser.add_argument("--width", type=int, default=12)
    return define(parser.parse_args())
def define(args):
    {}
"""


@pytest.mark.parametrize(
    ("calls", "weights"),
    [
        ("""if args.task == "gray": return network(4, 4)
    elif args.task == "color": return network(width=args.width, side=5)
    else: return network(2, 2)""", 13 * 5),
        ("""net = network(args.width) if args.task else network(3)
    if args.task != "color":
        net = network(5)""", 9 * 7),
        ("""if args.width > 16: return network(side=2)
    return network(width=2 * args.width)""", 25 * 7),
        ("""if not args.task:
        return network(side=2)
    return network(side=open("sides").read())""", 9 * 7),
    ],
    ids=["of three branches", "two ways at once", "after a branch", "not known"],
)  # fmt: skip
def test_the_call_that_the_defaults_reach_goes_before_defaults(tmp_path, calls, weights):
    files = {"net.py": NET, "main.py": DEFINE.format(calls), "README.md": ""}
    width = {65: 12, 175: 24}.get(weights, 8)
    assert Asked(clone(tmp_path, files) / "net.py:Net", f"1x{width}").weights == weights


INSTANTIATED = """
import hydra
from torch import nn
class Encoder(nn.Module):
    def __init__(self, obs_shape, width):
        super().__init__()
        self.width, self.layer = width, nn.Conv2d(obs_shape[0], width, 3)
    def forward(self, x): return self.layer(x).mean((2, 3))
class Actor(nn.Module):
    def __init__(self, encoder_cfg, action_shape, hidden):
        super().__init__()
        self.encoder = hydra.utils.instantiate(encoder_cfg)
        self.head = nn.Linear(self.encoder.width, action_shape[0] * hidden)
    def forward(self, obs): return self.head(self.encoder(obs))
"""
ACTOR = """
width: 6
agent:
  class: net.Agent
  params: {obs_shape: "???", action_shape: "???", encoder_cfg: "${encoder}"}
actor:
  class: net.Actor
  params: {encoder_cfg: "${agent.params.encoder_cfg}", hidden: 3}
encoder:
  class: net.Encoder
  params: {obs_shape: "${agent.params.obs_shape}", width: "${width}"}
"""


def test_places_that_lead_to_places_of_a_configuration_are_followed(tmp_path):
    files = {"net.py": INSTANTIATED, "config.yaml": ACTOR, "README.md": ""}
    asked = Asked(clone(tmp_path, files) / "net.py:Actor", "1x9x16x16")
    assert asked.weights == (9 * 9 + 1) * 6 + (6 + 1) * 4 * 3
    assert asked.places["obs_shape"] == asked.places["action_shape"] == "assumed from its name"
    assert asked.places["hidden"].startswith("config.yaml (class: net.Actor)")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("a: ${b.c}\nb: {c: 3}\n", {"a": 3, "b": {"c": 3}}),
        ("a: [1, '${x}', 2]\nb: ${a}\n", {"a": [1, 2], "b": [1, 2]}),
        ("a: ${b}\nb: ${a}\n", {}),
        ("a: ???\nb: {c: '${a}', d: 'x-${a}'}\n", {"b": {"d": "x-${a}"}}),
    ],
    ids=["of a mapping", "in a list", "in a circle", "left open"],
)
def test_interpolated_settings_have_no_marks_in_place_of_values(tmp_path, text, held):
    (tmp_path / "c.yaml").write_text(text)
    assert read_settings(tmp_path / "c.yaml") == held


@pytest.mark.parametrize(
    "names", ["user_num, item_num", "n_users, m_items", "num_entities, relation_count"]
)
def test_counts_that_come_of_data_are_usual_ones(tmp_path, names):
    first, second = names.split(", ")
    script = f"import data, net\n{names} = data.load()\nnet = net.Net({names}, 4)\n"
    module = f"""
from torch import nn
class Net(nn.Module):
    def __init__(self, {first}, {second}, width):
        super().__init__()
        self.a, self.b = nn.Embedding({first}, width), nn.Embedding({second}, width)
    def forward(self, x, y): return self.a(x) * self.b(y)
"""
    files = {"net.py": module, "main.py": script, "README.md": ""}
    asked = Asked(clone(tmp_path, files) / "net.py:Net", "x=1x3:int64", "y=1x3:int64")
    assert asked.places[first] == asked.places[second] == "assumed from its name"
    assert asked.places["width"] == "main.py:3"


def test_a_factory_takes_what_one_place_tells_of_all_its_parameters(tmp_path):
    factory = """
from net import Net
def defaults():
    return dict(size=16, width=6, blocks=2, parts="8,4", heads=1, scale=2)
def create(size, width, blocks, parts="8", heads=4, scale=1):
    return Net(width, [size // int(part) for part in parts.split(",")])
"""
    module = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width, parts):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width * part) for part in parts)
    def forward(self, x): return [layer(x) for layer in self.layers]
"""
    files = {"net.py": module, "factory.py": factory, "README.md": ""}
    asked = Asked(clone(tmp_path, files) / "net.py:Net", "1x6")
    assert asked.values == {"width": "6", "parts": "[2, 4]"}


def test_a_path_of_an_example_is_the_readers_own(tmp_path):
    module = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width=8, weights=""):
        super().__init__()
        if weights: open(weights)
        self.layer = nn.Linear(width, width)
    def forward(self, x): return self.layer(x)
"""
    readme = '```python\nfrom net import Net\nNet(width=5, weights="/path/to/model.pth")\n```\n'
    files = {"net.py": module, "README.md": readme}
    asked = Asked(clone(tmp_path, files) / "net.py:Net", "1x5")
    assert asked.values == {"width": "5"}


BLOCKS = {
    "as wide outside as inside": ("inplanes, planes", "", "inplanes", "planes", 1, 64 * 64 * 9),
    "wider outside": ("in_planes, planes", "expansion = 4", "in_planes", "planes", 4, 256 * 64 * 9),
    "of channels": ("in_channels, out_channels", "", "in_channels", "out_channels", 1, 64 * 64 * 9),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "line", "inner", "outer", "times", "weights"), BLOCKS.values(), ids=list(BLOCKS)
)
def test_a_block_that_adds_its_input_is_as_wide_as_it(
    tmp_path, monkeypatch, parameters, line, inner, outer, times, weights
):
    code = f"""
from torch import nn
class Block(nn.Module):
    {line}
    def __init__(self, {parameters}, stride=1):
        super().__init__()
        self.a = nn.Conv2d({inner}, {outer}, 3, stride, 1, bias=False)
    def forward(self, x): return x + self.a(x).repeat(1, {times}, 1, 1)
"""
    clone(tmp_path, {"README.md": "# Blocks\n", "net.py": code})
    monkeypatch.chdir(tmp_path)
    asked = Asked("net.py:Block")
    assert asked.weights == weights
    assert "name" in asked.places[inner]


OF_TABLE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=8)
parser.add_argument("--depth", type=int, default=3)
parser.add_argument("--kind", type=str, default={kind!r})
"""
OF_THREE = """
from torch import nn
class Net(nn.Module):
    def __init__(self, configs):
        super().__init__()
        kinds = {{"plain": nn.Linear}}
        layer = kinds[configs.kind]
        self.layers = nn.Sequential(*[layer(8, configs.width) for _ in range(configs.depth)])
    def forward(self, x): return self.layers(x)
"""
RUNNER = """
import net
class Experiment:
    def __init__(self, args):
        self.args = args
        self.model = {"Other": None}[self.args.model](self.args)
        self.model = net.Net(self.args)
"""


@pytest.mark.parametrize("parent", ["exp.py", "runs/exp.py", "net_exp.py"])
def test_a_parser_that_has_all_that_is_read_goes_before_what_builds_it(tmp_path, parent):
    files = {
        "net.py": OF_THREE.format(),
        "run.py": OF_TABLE.format(kind="plain"),
        parent: RUNNER,
        "other/main.py": 'import argparse\np = argparse.ArgumentParser()\np.add_argument("-model", '
        'type=str, default="Else")\n',
    }
    asked, depth = linears(tmp_path, files)
    assert (depth, asked.values["configs"]) == (3, "a namespace")
    assert "the arguments of run.py" in asked.places["configs"]


MAPPED = """
from torch import nn
class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(8, config.width) for _ in range(config.depth)])
    def forward(self, x): return self.layers(x)
"""


@pytest.mark.parametrize(
    "files",
    [
        {"config.py": "DEFAULTS = {'width': 8, 'depth': 3}\n"},
        {"default_options.py": "def get_defaults():\n    return {'width': 8, 'depth': 3}\n"},
        {"net.py": "config = {'width': 8, 'depth': 3}\n" + MAPPED},
    ],
    ids=["object", "function", "same_file"],
)
def test_a_mapping_answers_where_attributes_are_read(tmp_path, files):
    _, depth = linears(tmp_path, {"net.py": MAPPED} | files)
    assert depth == 3


def test_a_file_that_states_what_is_read_goes_before_one_that_leaves_it_open(tmp_path):
    files = {
        "net.py": OF_CONFIG.format(parameter="cfg", of="cfg."),
        "default.yaml": "width: null\ndepth: null\n",
        "small.yaml": "width: 8\ndepth: 3\n",
    }
    asked, depth = linears(tmp_path, files)
    assert (depth, asked.values["cfg"]) == (3, "small.yaml")


ACTS = """
from torch import nn
class Net(nn.Module):
    def __init__(self, {parameters}):
        super().__init__()
        if {test}:
            self.out = nn.Linear(8, {of}.{discrete})
        elif {of}.__class__.__name__ == "Box":
            self.out = nn.Linear(8, 2 * {of}.shape[0])
        else:
            raise NotImplementedError
    def forward(self, x): return self.out(x)
"""


@pytest.mark.parametrize(
    ("parameters", "test", "weights"),
    [
        ("action_space", 'action_space.__class__.__name__ == "Discrete"', 36),
        ("num_inputs, action_space, args", "False and num_inputs", 72),
        ("observation_space, action_space", "observation_space.shape[0] != 8", 72),
    ],
)
def test_a_space_of_actions_is_one_of_the_two_usual_ones(tmp_path, parameters, test, weights):
    text = ACTS.format(parameters=parameters, test=test, of="action_space", discrete="n")
    asked, _ = linears(tmp_path, {"net.py": text})
    assert asked.weights == weights
    assert asked.places["action_space"] == "assumed from its name"
