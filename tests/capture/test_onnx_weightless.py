"""ONNX files that came without weights, as the onnx wheel has some: tensors are filled in place."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import nar
from nar.capture import capture_module
from nar.capture.onnx.file import capture_onnx

SHAPES = {"w": (4, 3, 3, 3), "b": (4,), "s": (4,), "t": (4,), "m": (10, 64), "v": (10,)}
NODES = [
    ("Conv", "x w b", "c", {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("BatchNormalization", "c s t mean variance", "n", {}),
    ("Relu", "n", "r", {}),
    ("Flatten", "r", "f", {}),
    ("Gemm", "f m v", "y", {"transB": 1}),
]
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def captured(path: Path, *, has_weights: bool):
    """A small network whose weights are in the file, or only their shapes."""
    nodes = [helper.make_node(kind, i.split(), o.split(), **how) for kind, i, o, how in NODES]
    tensors = {"mean": np.zeros(4, np.float32), "variance": np.ones(4, np.float32)}
    for name, shape in SHAPES.items():
        if has_weights:
            tensors[name] = np.zeros(shape, np.float32)
        else:
            tensors[f"{name}_shape"] = np.array(shape)
            nodes.insert(0, helper.make_node("ConstantOfShape", [f"{name}_shape"], [name]))
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in tensors.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return capture_onnx(path, name="model").network


def test_a_network_without_weights_is_the_network_with_them(tmp_path, text_of):
    with_weights = captured(tmp_path / "with.onnx", has_weights=True)
    without = captured(tmp_path / "without.onnx", has_weights=False)
    assert text_of(without.graph) == "input; conv 0; batch_norm 1; relu 2; linear 3"
    assert without.exact == with_weights.exact


def test_a_response_norm_is_what_torch_makes_of_one(tmp_path):
    tensors = {"w": np.zeros((8, 3, 3, 3), np.float32), "b": np.zeros(8, np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3]),
        helper.make_node("LRN", ["c"], ["y"], size=5, alpha=1e-4, beta=0.75, bias=2.0),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, tmp_path / "norm.onnx")
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.LocalResponseNorm(5, k=2.0))
    written = capture_module(layers, torch.zeros(1, 3, 16, 16))
    assert capture_onnx(tmp_path / "norm.onnx", name="norm").network.exact == written.network.exact


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "family", "nearest"),
    [
        ("light_bvlc_alexnet", "alexnet", "pytorchcv:alexnet"),
        ("light_zfnet512", "zfnet", "pytorchcv:zfnetb"),
        ("light_resnet50", "resnet", "timm:resnet50"),
        ("light_vgg19", "vgg", "mmpretrain:vgg/vgg19_8xb32_in1k"),
        ("light_squeezenet", "squeezenet", "pytorchcv:squeezenet_v1_1"),
    ],
)
def test_the_weightless_files_of_the_onnx_wheel_find_their_model(file, family, nearest):
    hit, *copies = nar.search(str(LIGHT / f"{file}.onnx"), top_k=1).answer.hits
    assert {copy.exact for copy in copies} <= {hit.exact}
    assert (hit.family, hit.name) == (family, nearest)
