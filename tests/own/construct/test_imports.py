"""A cloned file is built although not all that it imports is there, and what was missed is said."""

import sys

import pytest
from clones import Asked, clone

from nar.base.errors import CaptureError

IMAGE = "1x3x32x32"
NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self): super().__init__(); self.c = nn.Conv2d(3, 8, 3)
    def forward(self, x): return self.c(x)
"""
CONV = ["input", "conv"]


def test_the_folder_that_holds_an_imported_package_is_on_the_path(tmp_path):
    layer = "from torch import nn\nclass Layer(nn.Conv2d):\n"
    layer += "    def __init__(self): super().__init__(3, 8, 3)\n"
    body = (
        "from lib.parts.layer import Layer\nfrom torch import nn\nclass Net(nn.Module):\n"
        "    def __init__(self): super().__init__(); self.a = Layer()\n"
        "    def forward(self, x): return self.a(x)\n"
    )
    clone(tmp_path, {"lib/nets/body.py": body, "lib/parts/layer.py": layer})
    asked = Asked(f"{tmp_path}/lib/nets/body.py:Net", IMAGE)
    assert (asked.operators, asked.stand_ins) == (CONV, ())


@pytest.mark.parametrize("mark", ["setup.py", "pyproject.toml", "README.md", ".git/HEAD"])
def test_the_root_of_a_repository_is_on_the_path(tmp_path, mark):
    files = {
        mark: "",
        "widths/wide.py": "WIDTH = 8\n",
        "zoo/deep/net.py": "from widths.wide import WIDTH\n" + NET,
    }
    clone(tmp_path, files)
    assert Asked(f"{tmp_path}/zoo/deep/net.py:Net", IMAGE).operators == CONV


def test_a_layout_with_src_is_on_the_path(tmp_path):
    files = {
        "pyproject.toml": "",
        "src/pack/__init__.py": "",
        "src/pack/wide.py": "WIDTH = 8\n",
        "models/net.py": "from pack.wide import WIDTH\n" + NET,
    }
    clone(tmp_path, files)
    assert Asked(f"{tmp_path}/models/net.py:Net", IMAGE).operators == CONV


def test_a_neighbour_of_the_model_may_miss_a_package(tmp_path):
    text = "import absent_tokenizer\ndef tokens(s): return absent_tokenizer.encode(s)\n"
    package = "from .text import tokens\nfrom .net import Net\n"
    clone(tmp_path, {"speech/__init__.py": package, "speech/text.py": text, "speech/net.py": NET})
    asked = Asked(f"{tmp_path}/speech/net.py:Net", IMAGE)
    assert asked.operators == CONV
    wanted = "absent_tokenizer (not installed: a stand-in that computes nothing)"
    assert asked.stand_ins == (wanted,)
    assert "absent_tokenizer" not in sys.modules


@pytest.mark.parametrize(
    ("imports", "use"),
    [
        ("import absent_pkg", "@absent_pkg.jit.script\ndef f(x): return x"),
        ("from absent_pkg import register", "@register('net', size=3)\ndef f(x): return x"),
        ("from absent_pkg import Base", "class B(Base): pass"),
        ("import absent_pkg.deep.part as p", "f: p.Type | None = None"),
        ("from absent_pkg import log", "logger = log.get_logger(__name__)\nlogger.info('x')"),
        ("import absent_pkg", "if absent_pkg:\n    raise ValueError('taken')"),
        ("import absent_pkg", "for each in absent_pkg.registry:\n    raise ValueError('taken')"),
    ],
    ids=["decorator", "factory", "base", "annotation", "logger", "condition", "loop"],
)
def test_a_stand_in_defines_what_it_is_used_to_define(tmp_path, imports, use):
    clone(tmp_path, {"net.py": f"{imports}\n{use}\n{NET}"})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert any("absent_pkg" in each for each in asked.stand_ins)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("absent_pkg.Linear(64, 128)", r"absent_pkg.Linear\(64, 128\) is needed: pip install abs"),
        ("nn.Linear(absent_pkg.WIDTH, 4)", r"absent_pkg.WIDTH"),
        ("nn.Linear(absent_pkg.WIDTH * 2, 4)", r"absent_pkg.WIDTH is needed, for .*\(mul\)"),
        ("nn.Linear(absent_pkg.sizes[0], 4)", r"absent_pkg.sizes is needed, for it is indexed"),
    ],
)
def test_a_stand_in_stops_where_a_layer_or_a_number_is_wanted(tmp_path, line, said):
    net = f"""
import absent_pkg
from torch import nn
class Net(nn.Module):
    def __init__(self): super().__init__(); self.l = {line}
    def forward(self, x): return self.l(x)
"""
    clone(tmp_path, {"net.py": net})
    with pytest.raises(CaptureError, match=said):
        Asked(f"{tmp_path}/net.py:Net", IMAGE)


def test_a_stand_in_stops_a_forward_that_wants_a_tensor_of_it(tmp_path):
    net = NET.replace("return self.c(x)", "return absent_pkg.fused(self.c(x))")
    clone(tmp_path, {"net.py": f"import absent_pkg\n{net}"})
    with pytest.raises(CaptureError, match=r"absent_pkg.fused\(Tensor\) is needed"):
        Asked(f"{tmp_path}/net.py:Net", IMAGE)


@pytest.mark.parametrize(
    "tried",
    [
        "try:\n    import absent_pkg\nexcept ImportError:\n    absent_pkg = None",
        "try:\n    import absent_pkg\nexcept:\n    absent_pkg = None",
        "import importlib.util\nabsent_pkg = importlib.util.find_spec('absent_pkg')",
    ],
    ids=["ImportError", "bare", "find_spec"],
)
def test_an_import_that_is_tried_fails_as_its_writer_expects(tmp_path, tried):
    layer = "nn.Conv2d(3, 8, 3) if absent_pkg is None else absent_pkg.Conv(3, 8)"
    clone(tmp_path, {"net.py": f"{tried}\n{NET.replace('nn.Conv2d(3, 8, 3)', layer)}"})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert (asked.operators, asked.stand_ins) == (CONV, ())


@pytest.mark.parametrize(
    ("imports", "layer", "wanted"),
    [
        (
            "from fairscale.nn.model_parallel.layers import ColumnParallelLinear as L",
            "L(32, 4, bias=False, gather_output=False, init_method=lambda x: x)",
            ["input", "linear"],
        ),
        ("from apex.normalization import FusedLayerNorm as L", "L(32)", ["input", "layer_norm"]),
        (
            "import apex.transformer.tensor_parallel as tp",
            "tp.RowParallelLinear(32, 4, input_is_parallel=True)",
            ["input", "linear"],
        ),
        ("from apex.fused_dense import FusedDense as L", "L(32, 4)", ["input", "linear"]),
    ],
)
def test_layers_of_the_same_parameters_stand_for_those_of_missing_packages(
    tmp_path, imports, layer, wanted
):
    clone(tmp_path, {"net.py": f"{imports}\n{NET.replace('nn.Conv2d(3, 8, 3)', layer)}"})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == wanted
    assert any("the layer of the same parameters" in each for each in asked.stand_ins)


@pytest.mark.parametrize("version", ["version", "_version"])
def test_a_version_that_setup_writes_stands_for_itself(tmp_path, version):
    files = {
        "setup.py": f"open('pkg/{version}.py', 'w').write(\"__version__ = '1.0'\")\n",
        "pkg/__init__.py": f"from .net import Net\nfrom .{version} import __version__\n",
        "pkg/net.py": NET,
    }
    clone(tmp_path, files)
    asked = Asked(f"{tmp_path}/pkg/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert f"pkg.{version} (no file of this clone, setup.py writes it" in asked.stand_ins[0]


@pytest.mark.parametrize(
    ("imports", "width", "name"),
    [
        ("import numpy as np", "int(np.float(8))", "numpy.float"),
        ("import numpy as np", "np.int(8)", "numpy.int"),
        ("import collections", "8 if issubclass(dict, collections.Mapping) else 1", "Mapping"),
        ("from torch._six import inf", "8 if inf > 1 else 1", "torch._six"),
        ("import inspect", "8 if inspect.getargspec(len) else 8", "getargspec"),
    ],
)
def test_names_that_libraries_removed_are_answered_and_said(tmp_path, imports, width, name):
    clone(tmp_path, {"net.py": f"{imports}\n{NET.replace('8', width)}"})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert any(name in each for each in asked.stand_ins)


def test_an_import_of_a_removed_name_is_answered_and_taken_back(tmp_path):
    net = "from torchvision.models.vgg import model_urls\nmodel_urls['x'] = ''\n" + NET
    clone(tmp_path, {"net.py": net})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert "torchvision.models.vgg.model_urls (removed" in asked.stand_ins[0]
    assert not hasattr(sys.modules["torchvision.models.vgg"], "model_urls")


def test_nothing_is_left_in_the_process(tmp_path):
    before = list(sys.meta_path), list(sys.path)
    clone(tmp_path, {"net.py": "import absent_pkg\nimport numpy\nx = numpy.float\n" + NET})
    Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert (sys.meta_path, sys.path) == before
    assert not hasattr(sys.modules["numpy"], "float")


def test_a_file_that_trains_when_it_is_run_only_defines(tmp_path):
    gan = """
import argparse
import torch
from torch import nn
parser = argparse.ArgumentParser(); parser.add_argument("--latent", type=int, default=100)
opt = parser.parse_args()
class Generator(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(opt.latent, 3 * 8 * 8)
    def forward(self, z): return torch.tanh(self.l(z)).view(-1, 3, 8, 8)
data = open("data/no_such_set.bin", "rb").read()
for step in range(10): print("training", step)
"""
    clone(tmp_path, {"gan.py": gan})
    asked = Asked(f"{tmp_path}/gan.py:Generator", "1x100")
    assert asked.operators == ["input", "linear", "tanh"]
    assert asked.skipped == (
        "gan.py: lines 10, 11: only definitions were run, for FileNotFoundError: "
        "[Errno 2] No such file or directory: 'data/no_such_set.bin'",
    )


def test_a_loop_that_trains_is_not_run(tmp_path):
    loop = "model = Net()\nwhile True:\n    loss = model(0).sum()\n    loss.backward()\n"
    clone(tmp_path, {"net.py": NET + loop})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert asked.skipped == (
        "net.py: line 7: only definitions were run, for it trains when it is run",
    )


def test_what_a_file_fails_to_make_is_named_where_it_is_needed(tmp_path):
    text = "sizes = open('sizes.txt').read()\n" + NET.replace("8, 3)", "sizes.width, 3)")
    clone(tmp_path, {"net.py": text})
    with pytest.raises(CaptureError, match=r"sizes.width.*line 1 of net.py failed: FileNotFound"):
        Asked(f"{tmp_path}/net.py:Net", IMAGE)


@pytest.mark.slow
def test_sources_of_cuda_are_not_compiled(tmp_path):
    net = """
from torch import nn
from torch.utils.cpp_extension import load
mix = load(name="mix", sources=["cuda/mix.cpp", "cuda/mix.cu"])
class Net(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(64, 64)
    def forward(self, x): return mix.forward(self.l(x))
"""
    clone(tmp_path, {"net.py": net})
    said = r"mix.forward\(Tensor\) is needed: it is compiled from cuda/mix.cpp, cuda/mix.cu"
    for inputs in (["1x64"], []):
        with pytest.raises(CaptureError, match=said) as failure:
            Asked(f"{tmp_path}/net.py:Net", *inputs)
        # Other inputs are no way out of it.
        assert "--input" not in failure.value.reason


def test_a_module_without_a_spec_is_no_obstacle(tmp_path):
    text = """
import sys
from unittest.mock import MagicMock
sys.modules["absent_flow"] = MagicMock()
import importlib.util, torch
def f():
    importlib.util.find_spec("absent_flow")
    return torch.nn.Conv2d(3, 8, 3), torch.zeros(1, 3, 32, 32)
"""
    clone(tmp_path, {"w.py": text})
    assert Asked(f"{tmp_path}/w.py:f").operators == CONV
    assert "absent_flow" not in sys.modules


def test_a_module_that_an_installed_library_has_no_more_has_a_stand_in(tmp_path):
    text = "import torch\nfrom torch.absent_part.deep import rank_zero_only\n"
    text += NET.replace("    def forward", "    @rank_zero_only\n    def forward")
    clone(tmp_path, {"net.py": text})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert "torch.absent_part (not in the installed torch: a stand-in)" in asked.stand_ins


def test_a_loss_that_is_not_installed_is_no_part_of_the_model(tmp_path):
    text = NET.replace(
        "nn.Conv2d(3, 8, 3)", "nn.Conv2d(3, 8, 3); self.l = PerceptualLoss(weight=1)"
    )
    clone(tmp_path, {"net.py": "from absent_pkg.losses import PerceptualLoss\n" + text})
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert any("absent_pkg.losses.PerceptualLoss" in each for each in asked.stand_ins)


def test_a_loss_that_is_not_installed_stops_the_forward_that_computes_with_it(tmp_path):
    text = NET.replace(
        "nn.Conv2d(3, 8, 3)", "nn.Conv2d(3, 8, 3); self.l = PerceptualLoss(weight=1)"
    )
    text = text.replace("return self.c(x)", "return self.l(self.c(x))")
    clone(tmp_path, {"net.py": "from absent_pkg.losses import PerceptualLoss\n" + text})
    with pytest.raises(CaptureError, match=r"absent_pkg.losses.PerceptualLoss\(\)\(Tensor\) is"):
        Asked(f"{tmp_path}/net.py:Net", IMAGE)


def test_a_part_that_the_repository_compiles_has_a_stand_in(tmp_path):
    setup = "from Cython.Build import cythonize\nsetup(name='align', ext=cythonize('core.pyx'))\n"
    files = {
        "README.md": "",
        "align/__init__.py": "from .align.core import path\n",
        "align/setup.py": setup,
        "align/core.pyx": "",
        "net.py": "import align\n" + NET,
    }
    clone(tmp_path, files)
    asked = Asked(f"{tmp_path}/net.py:Net", IMAGE)
    assert asked.operators == CONV
    assert "align.align.core (compiled by setup.py: a stand-in)" in asked.stand_ins


@pytest.mark.parametrize("done", ["core.fill(path)", "core.fill(path, 3)", "x.core.fill(a=path)"])
def test_a_compiled_function_that_fills_an_array_changes_no_operator(tmp_path, done):
    module = f"""
import numpy
import torch
from torch import nn
import kernels_of_nobody as x
from kernels_of_nobody import core
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x_):
        path = numpy.ones(4, dtype=numpy.float32)
        {done}
        return self.layer(x_) * torch.from_numpy(path)
"""
    asked = Asked(clone(tmp_path, {"net.py": module}) / "net.py:Net", "1x4")
    assert asked.weights == 20
    assert any("kernels_of_nobody" in each for each in asked.stand_ins)
