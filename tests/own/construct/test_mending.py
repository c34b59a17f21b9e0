"""Code of other years: what is put right where building fails, and what is said of it."""

import builtins

import pytest
from clones import Asked, clone

from nar.base.errors import CaptureError

HEAD = "import torch\nfrom torch import nn\n"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*{layers})
    def forward(self, x):
        return self.layers(x)
"""


def asked(folder, text, *inputs):
    return Asked(f"{clone(folder, {'README.md': '', 'net.py': HEAD + text})}/net.py:Net", *inputs)


@pytest.mark.parametrize(
    ("layers", "name", "stands"),
    [
        ("[nn.Linear(8, 8) for _ in xrange(3)]", "xrange", "range"),
        ("[nn.Linear(8, 8)] * (3 if isinstance('a', basestring) else 1)", "basestring", "str"),
        ("[nn.Linear(8, 8)] * reduce(lambda a, b: a + b, [1, 2])", "reduce", "reduce"),
    ],
)
def test_names_of_python_2_are_there_while_its_code_runs(tmp_path, layers, name, stands):
    found = asked(tmp_path, NET.format(layers=layers), "1x8")
    assert found.operators.count("linear") == 3
    assert f"{name} (of Python 2: {stands})" in found.stand_ins
    assert not hasattr(builtins, name)


def test_a_forward_of_python_2_runs(tmp_path):
    text = NET.format(layers="[nn.Linear(8, 8)]") + "        # again\n"
    text = text.replace("return self.layers(x)", "return [self.layers(x) for _ in xrange(2)][1]")
    assert asked(tmp_path, text, "1x8").stand_ins == ("xrange (of Python 2: range)",)


def test_a_name_that_a_file_defines_is_its_own(tmp_path):
    text = "def reduce(layers):\n    return layers[:2]\n"
    text += NET.format(layers="reduce([nn.Linear(8, 8)] * 3)")
    found = asked(tmp_path, text, "1x8")
    assert (found.operators.count("linear"), found.stand_ins) == (2, ())


@pytest.mark.parametrize(
    "line", ["print 'made'", "try:\n    pass\nexcept ValueError, error:\n    pass", "MODE = 0644"]
)
def test_what_python_2_alone_can_read_is_told(tmp_path, line):
    with pytest.raises(CaptureError, match=r"net.py:\d+ is written for Python 2.*2to3 -w .*net.py"):
        asked(tmp_path, line + "\n" + NET.format(layers="[]"))


BY_PLACE = """
from torchvision import models
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
        trained = models.vgg11(pretrained=True)
        for i in range(2):
            self.layers.state_dict().items()[i][1].data[:] = trained.state_dict().items()[i][1].data
    def forward(self, x):
        return self.layers(x)
"""


@pytest.mark.parametrize(
    "text",
    [
        BY_PLACE,
        BY_PLACE.replace("super(Net, self)", "super()"),
        BY_PLACE.replace("self.layers", "self.__layers"),
    ],
    ids=["old_super", "new_super", "private"],
)
def test_a_loop_that_copies_weights_which_are_not_loaded_is_left_out(tmp_path, text):
    found = asked(tmp_path, text, "1x3x8x8")
    assert found.weights == 112
    assert any("copies weights that are not loaded" in each for each in found.skipped)


BY_LINES = """
from torchvision import models
class Net(nn.Module):
    SIZE = 4
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
        self.fill(models.vgg11(pretrained=True).state_dict())
    def fill(self, trained, size=SIZE):
        self.layers[0].weight.data.copy_(trained["features.0.weights"])
        self.layers[0].bias.data.copy_(trained["features.0.biases"])
    def forward(self, x):
        return self.layers(x)
"""


def test_statement_after_statement_that_copies_is_left_out(tmp_path):
    """Each was left out of the function as it is written, which brought the one before back."""
    found = asked(tmp_path, BY_LINES, "1x3x8x8")
    assert found.weights == 112
    copied = [each for each in found.skipped if "copies weights that are not loaded" in each]
    assert len(copied) == 2


@pytest.mark.slow
def test_a_loop_that_fails_for_another_reason_is_not_left_out(tmp_path):
    text = BY_PLACE.replace("pretrained=True", "pretrained=False")
    with pytest.raises(CaptureError, match="not subscriptable"):
        asked(tmp_path, text, "1x3x8x8")


OF_LIBRARY = """
from timm.models.vision_transformer import {name}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {call}
    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("Block", "Block(32, 4, qkv_bias=True, qk_scale=None)"),
        ("Attention", "Attention(32, num_heads=4, qk_scale=None)"),
        ("Block as Layer", "Layer(32, 4, qk_scale=None, init_values=None, use_flash=None)"),
    ],
)
def test_an_argument_that_a_library_removed_is_dropped_where_it_is_none(tmp_path, name, call):
    found = asked(tmp_path, OF_LIBRARY.format(name=name, call=call), "1x16x32")
    (told,) = [each for each in found.skipped if "qk_scale" in each]
    assert told.startswith("net.py:")
    assert "installed timm takes no qk_scale" in told


def test_an_argument_with_a_value_is_not_dropped(tmp_path):
    with pytest.raises(CaptureError, match="qk_scale"):
        asked(tmp_path, OF_LIBRARY.format(name="Block", call="Block(32, 4, qk_scale=0.5)"))


SHADOW = "from reading.tools import log\n"


def test_a_file_with_the_name_of_a_missing_package_is_not_that_package(tmp_path):
    files = {
        "README.md": "",
        "others/__init__.py": "",
        "others/reading.py": SHADOW + "WIDTH = 8\n",
        "net.py": HEAD + "from others import reading\n" + NET.format(layers="[nn.Linear(8, 8)]"),
    }
    found = Asked(f"{clone(tmp_path, files)}/net.py:Net", "1x8")
    assert found.weights == 72
    assert any(each.startswith("reading (not installed") for each in found.stand_ins)
