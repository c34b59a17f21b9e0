"""What answers without PyTorch, Milvus and pandas: names, ONNX files, the server of the page."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ABSENT = (
    "milvus_lite", "mcp", "matplotlib", "networkx", "pandas", "pymilvus", "ray", "scipy",
    "sklearn", "timm", "torch", "torch_geometric", "torchvision", "transformers",
)  # fmt: skip
# A process in which nothing of these is installed: as after `pip install .`.
WITHOUT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments], capture_output=True, text=True
    )


COMMAND = "from nar.cli.app import app\napp()"


def command(*arguments):
    return run(COMMAND, *arguments)


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory):
    """Two convolutions with relu, then a mean over all places and a linear layer."""
    weights = {
        "first": np.zeros((8, 3, 3, 3), np.float32),
        "second": np.zeros((8, 8, 3, 3), np.float32),
        "head": np.zeros((8, 5), np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "first"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "second"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("GlobalAveragePool", ["d"], ["e"]),
        helper.make_node("Flatten", ["e"], ["f"]),
        helper.make_node("MatMul", ["f", "head"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        [
            helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.ravel())
            for name, array in weights.items()
        ],
    )
    path = tmp_path_factory.mktemp("onnx") / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "timm:resnet18", "--json"),
        ("list", "*resnet18*"),
        ("motifs", "timm:resnet18"),
        ("diff", "timm:resnet18", "timm:resnet34"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_known_models_are_answered(arguments):
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert "conv" in done.stdout or "resnet18" in done.stdout


@pytest.mark.slow
def test_an_onnx_file_is_answered_as_with_everything(onnx_file):
    alone = command("search", onnx_file, "--json")
    assert alone.returncode == 0, alone.stderr
    whole = subprocess.run(
        [sys.executable, "-c", COMMAND, "search", onnx_file, "--json"],
        capture_output=True,
        text=True,
    )
    assert alone.stdout == whole.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "library"),
    [
        (("search", "timm:resnet51"), "torch"),
        (("capture", "timm:resnet18"), "torch"),
        (("index", "add", "timm:resnet18", "--uri", "mine.db"), "pymilvus"),
        (("mcp",), "mcp"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else each,
)
def test_what_is_missing_is_one_sentence_with_what_installs_it(arguments, library):
    done = command(*arguments)
    assert done.returncode == 1
    extra = {"torch": "capture", "pymilvus": "index"}.get(library, library)
    assert f"{library} is not installed: pip install '.[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_python_answers_too(onnx_file):
    done = run(
        "import sys, nar\n"
        "for name in sys.argv[1:]:\n"
        "    print(len(nar.search(name, top_k=2).rows()), nar.diff(name, name) is not None)",
        "timm:resnet18",
        onnx_file,
    )
    assert done.stdout == "2 True\n2 True\n", done.stderr


@pytest.mark.slow
def test_python_says_the_same():
    done = run("import nar\nnar.capture_module")
    assert "MissingLibraryError: torch is not installed: pip install '.[capture]'" in done.stderr


@pytest.mark.slow
def test_the_server_of_the_page_needs_none_of_it():
    done = run("import nar.cli.serve_command, nar.web.pages, nar.serve.run\nprint('there')")
    assert done.stdout == "there\n", done.stderr
