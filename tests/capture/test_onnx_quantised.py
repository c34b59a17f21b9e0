"""Quantised ONNX files: numbers in fewer bits are the same design."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nar.capture.onnx.file import capture_onnx

SCALE = {"s": np.float32(0.1), "z": np.int8(0)}
BYTES = np.ones((8, 8), dtype=np.int8)


def nodes_of(text):
    for line in text.strip().splitlines():
        reads, _, writes = line.partition(" -> ")
        operator, *inputs = reads.split()
        domain, _, operator = operator.rpartition("/")
        yield helper.make_node(operator, inputs, writes.split(), domain=domain)


def graph_of(tmp_path, text, weights, shape):
    graph = helper.make_graph(
        list(nodes_of(text)),
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    onnx.save(model, tmp_path / "model.onnx")
    return capture_onnx(tmp_path / "model.onnx", name="model").graph


PAIRS = """
QuantizeLinear x s z -> q
DequantizeLinear q s z -> d
DequantizeLinear w channels zeros -> dw
DequantizeLinear b s -> db
MatMul d dw -> m
Add m db -> a
Relu a -> r
QuantizeLinear r s z -> qr
DequantizeLinear qr s z -> y
"""
# As quantize_dynamic of onnxruntime writes it.
DYNAMIC = """
DynamicQuantizeLinear x -> q qs qz
MatMulInteger q w qz zeros -> m
Cast m -> c
Mul qs channels -> scale
Mul c scale -> d
Add b d -> a
Relu a -> y
"""
OPERATORS = """
QuantizeLinear x s z -> q
QLinearMatMul q s z w channels zeros s z -> m
DequantizeLinear m s z -> d
Add d b -> a
Relu a -> y
"""


@pytest.mark.parametrize("text", [PAIRS, DYNAMIC, OPERATORS], ids=["pairs", "dynamic", "operators"])
def test_a_quantised_layer_is_the_layer(tmp_path, text_of, text):
    text = text.replace("Cast m", "Cast m").strip()
    channels = {"channels": np.ones(8, np.float32), "zeros": np.zeros(8, np.int8)}
    bias = np.ones(8, np.int32) if "db" in text else np.ones(8, np.float32)
    graph = graph_of(tmp_path, text, SCALE | channels | {"w": BYTES, "b": bias}, [2, 8])
    assert text_of(graph) == "input; linear 0; relu 1"
    assert graph.parameters == 72
    assert graph.flops == 2 * 2 * 8 * 8


def test_a_quantised_convolution_is_the_convolution(tmp_path, text_of):
    text = """
    QuantizeLinear x s z -> q
    QLinearConv q s z w s z s z b -> c
    DequantizeLinear c s z -> d
    Relu d -> y
    """
    weights = {"w": np.ones((8, 3, 3, 3), np.int8), "b": np.ones(8, np.int32)}
    graph = graph_of(tmp_path, text, SCALE | weights, [1, 3, 8, 8])
    assert text_of(graph) == "input; conv 0; relu 1"
    assert graph.parameters == 8 * 27 + 8
    assert graph.flops == 2 * 8 * 27 * 36


# As quantize_dynamic of onnxruntime writes it.
DYNAMIC_CONVOLUTION = """
DynamicQuantizeLinear x -> q qs qz
ConvInteger q w qz z -> c
Cast c -> f
Mul qs s -> scale
Mul f scale -> d
Reshape b shape -> column
Add d column -> a
Relu a -> y
"""


def test_the_bias_of_a_dynamically_quantised_convolution_is_its_own(tmp_path, text_of):
    weights = {"w": np.ones((8, 3, 3, 3), np.int8), "b": np.ones(8, np.float32)}
    shape = {"shape": np.array([1, -1, 1, 1])}
    graph = graph_of(tmp_path, DYNAMIC_CONVOLUTION, SCALE | weights | shape, [1, 3, 8, 8])
    assert text_of(graph) == "input; conv 0; relu 1"
    assert graph.parameters == 8 * 27 + 8


def test_what_others_read_before_the_bias_stays(tmp_path, text_of):
    text = DYNAMIC_CONVOLUTION.replace("Relu a -> y", "Relu d -> r\nAdd a r -> y")
    weights = {"w": np.ones((8, 3, 3, 3), np.int8), "b": np.ones(8, np.float32)}
    shape = {"shape": np.array([1, -1, 1, 1])}
    graph = graph_of(tmp_path, text, SCALE | weights | shape, [1, 3, 8, 8])
    assert text_of(graph).count("add") == 2


def test_operators_of_onnxruntime_are_the_standard_ones(tmp_path, text_of):
    text = """
    QuantizeLinear x s z -> q
    QLinearMatMul q s z w s z s z -> m
    com.microsoft/QLinearAdd m s z b s z s z -> a
    com.microsoft/QLinearSigmoid a s z s z -> i
    com.microsoft/QLinearMul a s z i s z s z -> g
    com.microsoft/QLinearConcat s z a s z g s z -> c
    com.microsoft/QGemm c s z v s z u s z -> e
    com.microsoft/QLinearSoftmax e s z s z -> p
    DequantizeLinear p s z -> y
    """
    text = "\n".join(line.strip() for line in text.strip().splitlines())
    weights = {"w": BYTES, "b": np.ones(8, np.int8), "v": np.ones((16, 4), np.int8)}
    graph = graph_of(tmp_path, text, SCALE | weights | {"u": np.ones(4, np.int32)}, [2, 8])
    drawn = text_of(graph)
    assert "QLinear" not in drawn
    assert "QGemm" not in drawn
    assert drawn == "input; linear 0; silu 1; concat 1 2; linear 3; softmax 4"
    assert graph.parameters == 64 + 8 + 64 + 4


LOWEST = {"l": np.int8(-128)}
CONV = {"w": np.ones((8, 8, 3, 3), np.int8), "b": np.ones(8, np.int32)}
AS_FLOATS = """
QuantizeLinear x s z -> q
DequantizeLinear q s z -> d
DequantizeLinear w s z -> dw
Conv d dw -> c
QuantizeLinear c s l -> r
DequantizeLinear r s l -> y
"""
IN_BYTES = """
QuantizeLinear x s z -> q
QLinearConv q s z w s z s l b -> r
DequantizeLinear r s l -> y
"""


@pytest.mark.parametrize("text", [AS_FLOATS, IN_BYTES], ids=["floats", "bytes"])
def test_a_relu_that_a_quantisation_takes_over_is_there(tmp_path, text_of, text):
    shape = [1, 8, 8, 8]
    weights = SCALE | LOWEST | CONV
    assert text_of(graph_of(tmp_path, text, weights, shape)) == "input; conv 0; relu 1"
    # Where numbers below zero are left, nothing was cut.
    text = text.replace("s l", "s z")
    assert text_of(graph_of(tmp_path, text, weights, shape)) == "input; conv 0"


def test_a_sum_may_be_cut_and_what_was_cut_is_not_cut_again(tmp_path, text_of):
    text = """
    QuantizeLinear x s z -> q
    QLinearConv q s z w s z s l b -> c
    com.microsoft/QLinearAdd c s l q s z s l -> a
    DequantizeLinear a s l -> f
    Flatten f -> p
    QuantizeLinear p s l -> m
    DequantizeLinear m s l -> y
    """
    weights = SCALE | LOWEST | CONV | {"w": np.ones((8, 8, 1, 1), np.int8)}
    graph = graph_of(tmp_path, text, weights, [1, 8, 8, 8])
    assert text_of(graph) == "input; conv 0; relu 1; add 0 2; relu 3"


def test_what_is_never_below_zero_has_no_relu(tmp_path, text_of):
    """The parts of a GELU: an error function plus one is quantised from zero on."""
    text = """
    DequantizeLinear one s z -> o
    DequantizeLinear half s z -> h
    DequantizeLinear root t z -> r
    Div x r -> v
    Erf v -> e
    Add e o -> a
    QuantizeLinear a s l -> q
    DequantizeLinear q s l -> d
    Mul x d -> m
    Mul m h -> y
    """
    scales = {"s": np.float32(0.01), "t": np.float32(2**0.5 / 127)}
    numbers = {"one": np.int8(100), "half": np.int8(50), "root": np.int8(127)}
    graph = graph_of(tmp_path, text, SCALE | LOWEST | scales | numbers, [2, 8])
    assert text_of(graph) == "input; gelu 0"


def test_shapes_are_known_behind_operators_of_onnxruntime(tmp_path):
    nodes = [
        *nodes_of("QuantizeLinear x s z -> q\nQLinearMatMul q s z w s z s z -> m"),
        helper.make_node(
            "QLinearSoftmax", ["m", "s", "z", "s", "z"], ["p"], domain="com.microsoft", opset=13
        ),
        *nodes_of("DequantizeLinear p s z -> d\nSplit d -> y t"),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.asarray(array), name)
            for name, array in (SCALE | {"w": BYTES}).items()
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), tmp_path / "model.onnx")
    assert not capture_onnx(tmp_path / "model.onnx", name="model").unknown_facts
