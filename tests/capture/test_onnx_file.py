"""ONNX files: the same operator classes and rewrites as for modules."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nar.base.errors import CaptureError
from nar.capture.onnx.file import capture_onnx
from nar.graphs.ops import ATTRIBUTES

END = 2**63 - 1


@pytest.fixture
def read(tmp_path):
    """``read(nodes, initializers, shape)``: capture a model of nodes from ``x`` to ``y``."""

    def capture(nodes, initializers, shape, kind=TensorProto.FLOAT):
        graph = helper.make_graph(
            nodes,
            "graph",
            [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, name) for name, array in initializers.items()],
        )
        opset = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opset), tmp_path / "model.onnx")
        return capture_onnx(tmp_path / "model.onnx", name="model")

    return capture


def floats(*shape):
    return np.zeros(shape, dtype=np.float32)


def number(value):
    return np.array(value, dtype=np.float32)


def node(text, **attributes):
    """A node from ``"Conv x w b -> c"``."""
    reads, _, writes = text.partition(" -> ")
    operator, *inputs = reads.split()
    return helper.make_node(operator, inputs, writes.split(), **attributes)


def test_a_convolutional_network(read, text_of):
    nodes = [
        node("Conv x w b -> c", strides=[2, 2], pads=[1, 1, 1, 1], group=1),
        node("BatchNormalization c s t mean variance -> n"),
        node("Relu n -> r"),
        node("GlobalAveragePool r -> p"),
        node("Flatten p -> f"),
        node("Gemm f m v -> y", transB=1),
    ]
    weights = {"w": floats(8, 3, 3, 3), "b": floats(8), "m": floats(10, 8), "v": floats(10)}
    norm = {name: floats(8) for name in ("s", "t", "mean", "variance")}
    graph = read(nodes, weights | norm, [2, 3, 8, 8]).graph
    text = "input; conv 0; batch_norm 1; relu 2; adaptive_avg_pool 3; linear 4"
    assert text_of(graph) == text
    assert graph.parameters == 216 + 8 + 16 + 90
    assert graph.flops == 2 * (2 * 8 * 16 * 27 + 2 * 10 * 8)
    row = dict(zip(ATTRIBUTES, graph.attributes[1].tolist(), strict=True))
    assert (row["kernel"], row["stride"], row["rank"], row["channel_ratio"]) == (3, 2, 2, 6)


@pytest.mark.parametrize(("group", "name"), [(8, "conv_depthwise"), (2, "conv_grouped")])
def test_groups_make_classes_of_convolutions(read, text_of, group, name):
    weights = {"w": floats(8, 8 // group, 3, 3)}
    graph = read([node("Conv x w -> y", group=group)], weights, [1, 8, 9, 9]).graph
    assert text_of(graph) == f"input; {name} 0"


def test_a_product_and_a_sum_are_a_linear_layer(read, text_of):
    nodes = [node("MatMul x w -> m"), node("Add b m -> y")]
    graph = read(nodes, {"w": floats(8, 4), "b": floats(4)}, [2, 5, 8]).graph
    assert text_of(graph) == "input; linear 0"
    assert graph.parameters == 36


def test_a_packed_projection_is_as_many_layers(read, text_of):
    nodes = [node("MatMul x w -> m"), node("Split m sizes -> a b", axis=2), node("Mul a b -> y")]
    weights = {"w": floats(8, 12), "sizes": np.array([6, 6])}
    graph = read(nodes, weights, [2, 5, 8]).graph
    assert text_of(graph) == "input; linear 0; linear 0; mul 1 2"


def test_attention_written_out_is_attention(read, text_of):
    nodes = [node(f"MatMul x {name} -> {name}_x") for name in "qkv"]
    nodes += [
        node("Transpose k_x -> k_t", perm=[0, 2, 1]),
        node("MatMul q_x k_t -> scores"),
        node("Div scores scale -> scaled"),
        node("Add scaled mask -> masked"),
        node("Softmax masked -> weights", axis=2),
        node("MatMul weights v_x -> y"),
    ]
    weights = {name: floats(8, 8) for name in "qkv"} | {"scale": number(2.8)}
    nodes.insert(0, helper.make_node("ConstantOfShape", ["size"], ["mask"]))
    weights["size"] = np.array([5, 5])
    graph = read(nodes, weights, [2, 5, 8]).graph
    assert text_of(graph) == "input; linear 0; linear 0; linear 0; attention 1 2 3"
    assert graph.attributes[-1, ATTRIBUTES.index("constant_operands")] == 0


def test_gelu_written_out_is_gelu(read, text_of):
    nodes = [
        node("Div x root -> d"),
        node("Erf d -> e"),
        node("Add e one -> a"),
        node("Mul x a -> m"),
        node("Mul m half -> y"),
    ]
    numbers = {"root": number(1.414), "one": number([1.0]), "half": number(0.5)}
    assert text_of(read(nodes, numbers, [2, 8]).graph) == "input; gelu 0"


def test_layer_norm_written_out_is_layer_norm(read, text_of):
    nodes = [
        node("ReduceMean x -> m", axes=[-1]),
        node("Sub x m -> d"),
        node("Pow d two -> s"),
        node("ReduceMean s -> v", axes=[-1]),
        node("Add v eps -> g"),
        node("Sqrt g -> r"),
        node("Div d r -> n"),
        node("Mul n w -> o"),
        node("Add o b -> y"),
    ]
    weights = {"two": number(2), "eps": number(1e-6), "w": floats(8), "b": floats(8)}
    assert text_of(read(nodes, weights, [2, 8]).graph) == "input; layer_norm 0"


def test_a_quotient_of_one_is_a_reciprocal(read, text_of):
    nodes = [
        node("Pow x two -> s"),
        node("ReduceMean s -> v", axes=[-1]),
        node("Add v eps -> g"),
        node("Sqrt g -> r"),
        node("Div one r -> i"),
        node("Mul x i -> n"),
        node("Mul w n -> y"),
    ]
    weights = {"two": number(2), "eps": number(1e-6), "one": number(1), "w": floats(8)}
    assert text_of(read(nodes, weights, [2, 8]).graph) == "input; rms_norm 0"


@pytest.mark.parametrize(
    ("shape", "axes", "name"),
    [
        ([2, 5, 8], [1], "adaptive_avg_pool"),
        ([2, 8, 4, 4], [2, 3], "adaptive_avg_pool"),
        ([2, 5, 8], [2], "mean"),
        ([2, 8, 4, 4], [-1], "mean"),
    ],
)
def test_a_mean_over_all_places_is_global_pooling(read, text_of, shape, axes, name):
    graph = read([node("ReduceMean x -> y", axes=axes)], {}, shape).graph
    assert text_of(graph) == f"input; {name} 0"


def test_axes_computed_from_constants_are_known(read, text_of):
    """Torch writes ``unflatten(-1, (3, 8))`` so, in multi-head attention."""
    nodes = [
        node("MatMul x w -> qkv"),
        node("Mod axis rank -> last"),
        node("Reshape last one -> end"),
        node("Shape qkv -> extents"),
        node("Slice extents start end -> kept"),
        node("Concat kept parts -> cut", axis=0),
        node("Reshape qkv cut -> stacked"),
        *[node(f"Gather stacked {name}_index -> {name}", axis=-2) for name in "qkv"],
        node("Transpose k -> k_t", perm=[0, 2, 1]),
        node("MatMul q k_t -> scores"),
        node("Softmax scores -> weights"),
        node("MatMul weights v -> y"),
    ]
    numbers = {"axis": [2], "rank": [3], "one": [1], "start": [0], "parts": [3, 8]}
    numbers |= {"q_index": 0, "k_index": 1, "v_index": 2}
    weights = {name: np.array(value) for name, value in numbers.items()}
    graph = read(nodes, {"w": floats(8, 24)} | weights, [2, 5, 8]).graph
    assert text_of(graph) == "input; linear 0; linear 0; linear 0; attention 1 2 3"


def test_token_ids_are_looked_up(read, text_of):
    nodes = [node("Gather table x -> e"), node("Tanh e -> y")]
    capture = read(nodes, {"table": floats(10, 8)}, [2, 5], TensorProto.INT64)
    assert text_of(capture.graph) == "embedding; tanh 0"


@pytest.mark.parametrize(
    ("bounds", "name"), [(("zero", "six"), "relu6"), (("zero",), "relu"), (("one",), "clamp")]
)
def test_clipping_is_an_activation_at_some_bounds(read, text_of, bounds, name):
    numbers = {"zero": number(0), "one": number(1), "six": number(6)}
    graph = read([node(f"Clip x {' '.join(bounds)} -> y")], numbers, [2, 8]).graph
    assert text_of(graph) == f"input; {name} 0"


def test_structure_and_constants_leave_no_trace(read, text_of):
    nodes = [
        node("Shape x -> s"),
        node("Reshape x s -> r"),
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        node("Mul r half -> m"),
        node("Identity m -> y"),
    ]
    graph = read(nodes, {}, [2, 8]).graph
    assert text_of(graph) == "input; mul 0"
    assert not graph.attributes.any()


@pytest.mark.parametrize(
    ("start", "end", "step", "nodes"),
    [(0, END, 1, 2), (1, END, 1, 3), (0, 2, 1, 3), (0, END, 2, 3)],
)
def test_a_slice_of_a_whole_axis_is_none(read, start, end, step, nodes):
    steps = [node("Mystery x -> m", domain="mine"), node("Slice m start end axis step -> y")]
    numbers = {"start": [start], "end": [end], "axis": [1], "step": [step]}
    weights = {name: np.array(number) for name, number in numbers.items()}
    assert read(steps, weights, [2, 8]).graph.nodes == nodes


def test_an_unknown_operator_keeps_its_name_and_is_counted(read):
    nodes = [helper.make_node("Twist", ["x"], ["t"], domain="mine"), node("Relu t -> y")]
    capture = read(nodes, {}, [2, 8])
    assert capture.unknown_operators == {"mine::Twist": 1}
    assert capture.unknown_facts == {"shape of mine::Twist": 1, "shape of onnx::Relu": 1}
    assert capture.graph.nodes == 3


def test_weights_in_other_files_are_never_read(tmp_path, text_of):
    weight = numpy_helper.from_array(floats(64, 64), "w")
    graph = helper.make_graph(
        [node("MatMul x w -> y")],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weight],
    )
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph)
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "weights").unlink()
    graph = capture_onnx(path, name="model").graph
    assert text_of(graph) == "input; linear 0"
    assert graph.parameters == 4096


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x07"])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(CaptureError, match=r"^model: capture failed: \w+: .*(nodes|parsing)"):
        capture_onnx(path, name="model")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(CaptureError, match="FileNotFoundError"):
        capture_onnx(tmp_path / "absent.onnx", name="model")


def test_a_value_nobody_makes_is_named(read):
    with pytest.raises(CaptureError, match=r"Relu: .*nowhere"):
        read([node("Relu nowhere -> y")], {}, [2, 8])


# PyTorch's exporter states the mode, others leave it out.
@pytest.mark.parametrize("attributes", [{}, {"mode": "constant"}])
def test_a_border_of_zeros_is_the_padding_of_a_convolution(read, text_of, attributes):
    weights = {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "w": floats(8, 8, 3, 3)}
    nodes = [node("Pad x p -> b", **attributes), node("Conv b w -> y")]
    assert text_of(read(nodes, weights, [1, 8, 9, 9]).graph) == "input; conv 0"


@pytest.mark.parametrize("attributes", [{"mode": "reflect"}, {"mode": "edge"}, {}])
def test_another_border_is_a_design(read, text_of, attributes):
    amounts = {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "f": number(1.0), "w": floats(8, 8, 3, 3)}
    nodes = [node("Pad x p f -> b", **attributes), node("Conv b w -> y")]
    assert text_of(read(nodes, amounts, [1, 8, 9, 9]).graph) == "input; pad 0; conv 1"


def test_a_window_over_the_whole_map_is_global_pooling(read, text_of):
    nodes = [node("AveragePool x -> y", kernel_shape=[9, 9])]
    assert text_of(read(nodes, {}, [1, 8, 9, 9]).graph) == "input; adaptive_avg_pool 0"


def test_what_is_joined_in_steps_is_joined_once(read, text_of):
    first = [node("Relu x -> a"), node("Tanh x -> b"), node("Sigmoid x -> c")]
    in_steps = [node("Concat a b -> d", axis=1), node("Concat d c -> y", axis=-2)]
    at_once = [node("Concat a b c -> y", axis=1)]
    graphs = [text_of(read([*first, *last], {}, [1, 8, 9]).graph) for last in (in_steps, at_once)]
    assert graphs[0] == graphs[1]
