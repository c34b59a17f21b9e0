"""What people ask about first, with not a word besides the name."""

import pytest
from clones import Asked, clone

from nar.base.errors import CaptureError

VOCODER = """
from torch import nn
class Vocoder(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.a = nn.Conv1d(h.mels, h.width, 7, padding=3)
        self.b = nn.ConvTranspose1d(h.width, 1, 16, 8, 4)
    def forward(self, x): return self.b(self.a(x).relu()).tanh()
"""
NAMESPACE = """
from torch import nn
class Net(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.c, self.a = nn.Conv2d(3, args.size, 3), {"relu": nn.ReLU}[args.kind]()
    def forward(self, x): return self.a(self.c(x))
"""
TRAIN = """
import argparse
from net import Net
if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--size", type=int, default=16); p.add_argument("--kind", default="relu")
    Net(p.parse_args())
"""
LANGUAGE_MODELS = """
import argparse
from dataclasses import dataclass
from torch import nn

@dataclass
class LmConfig:
    vocab: int = 100
    width: int = 16
    depth: int = 2

class LmOfDataclass(nn.Module):
    def __init__(self, config: LmConfig):
        super().__init__()
        self.emb = nn.Embedding(config.vocab, config.width)
        layers = [nn.Linear(config.width, config.width) for _ in range(config.depth)]
        self.blocks = nn.Sequential(*layers)
        self.head = nn.Linear(config.width, config.vocab)

    def forward(self, idx, targets=None):
        return self.head(self.blocks(self.emb(idx)))

class LmOfDefaults(LmOfDataclass):
    @staticmethod
    def get_default_config():
        return argparse.Namespace(vocab=100, width=None, depth=None)

    def __init__(self, config):
        assert config.width is not None and config.depth is not None
        super().__init__(config)
"""


@pytest.fixture
def models(tmp_path):
    return clone(tmp_path, {"modules.py": LANGUAGE_MODELS}) / "modules.py"


@pytest.mark.parametrize(
    ("call", "values"), [("Vocoder", {"h": "config.json"}), ("Vocoder(@config.json)", {})]
)
def test_a_vocoder_beside_its_configuration(tmp_path, call, values):
    clone(tmp_path, {"config.json": '{"mels": 80, "width": 64}', "models.py": VOCODER})
    asked = Asked(f"{tmp_path}/models.py:{call}")
    assert asked.operators == ["input", "conv", "relu", "conv_transpose", "tanh"]
    assert asked.values == values


def test_a_network_beside_the_script_that_trains_it(tmp_path):
    clone(tmp_path, {"net.py": NAMESPACE, "train.py": TRAIN})
    asked = Asked(f"{tmp_path}/net.py:Net")
    assert (asked.operators, asked.weights) == (["input", "conv", "relu"], 16 * 28)


@pytest.mark.parametrize(
    ("call", "depth", "values"),
    [
        ("LmOfDataclass", 2, {"config": "LmConfig()"}),
        ("LmOfDataclass(LmConfig())", 2, {}),
        ("LmOfDataclass(LmConfig(depth=6))", 6, {}),
    ],
)
def test_a_language_model_of_a_dataclass(models, call, depth, values):
    asked = Asked(f"{models}:{call}")
    assert asked.operators.count("linear") == depth + 1
    assert asked.values == values


def test_a_language_model_of_a_method_names_what_the_method_leaves_open(models):
    asked = Asked(f"{models}:LmOfDefaults")
    assert asked.operators.count("linear") == 3
    assert asked.places["config"] == "modules.py; it leaves width, depth open"
    assert asked.values["config.width"] == "16"
    assert asked.places["config.depth"] == "modules.py:7 LmConfig"


@pytest.mark.parametrize("gone", ["values of Python, such as", "missing 1 required positional"])
def test_sentences_that_led_nowhere_are_gone(tmp_path, gone):
    net = "from torch import nn\nclass Net(nn.Module):\n"
    net += "    def __init__(self, oracle): nn.Fold(oracle)\n"
    clone(tmp_path, {"net.py": net})
    with pytest.raises(CaptureError) as failure:
        Asked(f"{tmp_path}/net.py:Net")
    assert gone not in failure.value.reason
    assert "Net wants oracle" in failure.value.reason
    assert "nar wrap" in failure.value.reason
