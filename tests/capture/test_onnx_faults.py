"""ONNX files of many exporters: control flow, open extents, onnxruntime's operators, old forms."""

import numpy as np
import onnx
import pytest
from faulty_onnx import MODELS
from onnx import helper, parser

from nar.base.errors import CaptureError
from nar.capture.onnx.facts import facts_of
from nar.capture.onnx.file import capture_onnx

TWO_CONVS = "input; conv 0; relu 1; conv 2"
# File -> its graph, and its number of parameters.
RIGHT = {
    "base": (TWO_CONVS, 516),
    "if_whole": (TWO_CONVS, 516),
    "if_middle": ("input; conv 0; relu 1; conv 2; conv 0; add 3 4", 628),
    "loop": ("input; linear 0; tanh 1; linear 2", 80),
    "minus_one": (TWO_CONVS, 516),
    "minus_one_hw": (TWO_CONVS, 516),
    "const_weights": (TWO_CONVS, 516),
    "plain_bn": ("input; conv 0; batch_norm 1; relu 2; conv 3", 524),
    "caffe_scale": ("input; conv 0; batch_norm 1; relu 2; conv 3", 524),
    "bias_add": (TWO_CONVS, 516),
    "bias_reshaped": (TWO_CONVS, 516),
    "bias_over_scale": (TWO_CONVS, 516),
    "ort_attention": (
        "input; linear 0; linear 0; linear 0; attention 1 2 3; linear 4; add 0 5; layer_norm 6; "
        "linear 7; gelu 8; linear 9; add 7 10; layer_norm 11",
        3_248,
    ),
    "ort_fused_conv": (TWO_CONVS, 516),
    "ort_matmul_nbits": ("input; linear 0; gelu 1; linear 2", 2_048),
    "ort_gqa": (
        "input; linear 0; rotary 1; linear 0; rotary 3; linear 0; attention 2 4 5; linear 6; "
        "add 0 7; rms_norm 8",
        1_040,
    ),
    "ln_op": ("input; layer_norm 0; linear 1", 288),
    "ln_flax": ("input; layer_norm 0; linear 1", 288),
    "with_softmax": (f"{TWO_CONVS}; adaptive_avg_pool 3; softmax 4", 516),
    "no_softmax": (f"{TWO_CONVS}; adaptive_avg_pool 3", 516),
    "old_dropout": (TWO_CONVS, 516),
    "unsqueeze11": ("input; linear 0", 245),
    "sequence": ("input; split 0; add 1; conv 2", 4),
    "short_audio": ("input; conv 0; relu 1", 16_384),
}


def captured(model, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return capture_onnx(path, name="model")


@pytest.mark.parametrize("name", RIGHT)
def test_a_file_is_captured_whole(name, tmp_path, text_of):
    capture = captured(MODELS[name], tmp_path)
    assert (text_of(capture.graph), capture.graph.parameters) == RIGHT[name]
    assert capture.unread is None
    assert capture.graph.flops > 0


def test_flops_of_a_layer_behind_computed_extents_count(tmp_path):
    assert captured(MODELS["unsqueeze11"], tmp_path).graph.flops == 480


HEADER = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>'


@pytest.fixture
def drawn(tmp_path, text_of):
    """``drawn(nodes, shape, **weights)``: the graph of nodes from ``x`` to ``y`` as text."""

    def draw(nodes, shape="float[1, 5, 8] x", sizes=(), **weights):
        text = f"{HEADER} g ({shape}) => (float[] y) {{ {nodes} }}"
        model = parser.parse_model(text)
        rng = np.random.default_rng(0)
        for name, extents in (sizes or weights).items():
            array = rng.standard_normal(extents).astype(np.float32)
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
        capture = captured(model, tmp_path)
        return text_of(capture.graph)

    return draw


@pytest.mark.parametrize(
    ("then", "other", "text"),
    [
        ("a = MatMul(x, w) t = Tanh(a)", "b = MatMul(x, v) e = Tanh(b)", "linear 0; tanh 1"),
        ("t = MatMul(x, w)", "e = Identity(x)", "linear 0; where 1 0"),
        ("t = Identity(x)", "e = Relu(x)", "relu 0; where 0 1"),
        ("t = Squeeze(x)", "e = Identity(x)", "linear 0"),
    ],
    ids=["one design", "a layer or none", "an activation or none", "only another shape"],
)
def test_a_choice_is_its_larger_branch_or_both_under_one_choice(drawn, then, other, text):
    branches = (
        f"then_branch = a () => (float[1, 5, 8] t) {{ {then} }}, "
        f"else_branch = b () => (float[1, 5, 8] e) {{ {other} }}"
    )
    nodes = f"z = If(k) <{branches}> y = MatMul(z, u)"
    shape = "float[1, 5, 8] x, bool k"
    found = drawn(nodes, shape, w=(8, 8), v=(8, 8), u=(8, 8))
    if text == "linear 0":
        assert found == f"input; {text}"
    else:
        last = text.count(";") + 1
        assert found == f"input; {text}; linear {last}"


def test_a_choice_within_a_choice(drawn):
    inner = (
        "then_branch = c () => (float[1, 5, 8] q) { q = MatMul(x, w) }, "
        "else_branch = d () => (float[1, 5, 8] r) { r = MatMul(x, v) }"
    )
    nodes = (
        f"y = If(k) <then_branch = a () => (float[1, 5, 8] t) {{ i = If(k) <{inner}> "
        "t = Relu(i) }, "
        "else_branch = b () => (float[1, 5, 8] e) { j = MatMul(x, v) e = Relu(j) }>"
    )
    assert drawn(nodes, "float[1, 5, 8] x, bool k", w=(8, 8), v=(8, 8)) == "input; linear 0; relu 1"


def test_a_recurrence_that_begins_with_zeros_has_a_layer(drawn):
    body = (
        "body = b (int64 i, bool c, float[1, 8] h) => (bool go, float[1, 8] n, float[1, 8] o) "
        "{ part = Gather<axis = 1>(x, i) m = MatMul(h, w) s = Add(part, m) n = Tanh(s) "
        "go = Identity(c) o = Identity(n) }"
    )
    nodes = (
        "extents = Constant<value_ints = [1, 8]>() zeros = ConstantOfShape(extents) "
        "times = Constant<value_int = 5>() yes = Cast<to = 9>(times) "
        f"last, y = Loop(times, yes, zeros) <{body}>"
    )
    assert drawn(nodes, w=(8, 8)) == "input; slice 0; linear; add 1 2; tanh 3"


def test_a_scan_reads_one_step_of_its_input(drawn):
    body = (
        "body = b (float[8] h, float[8] part) => (float[8] n, float[8] o) "
        "{ m = MatMul(h, w) s = Add(part, m) n = Tanh(s) o = Identity(n) }"
    )
    nodes = f"last, y = Scan(first, x) <num_scan_inputs = 1, {body}>"
    shape = "float[5, 8] x, float[8] first"
    assert drawn(nodes, shape, w=(8, 8)) == "input; linear 0; input; slice 2; add 1 3; tanh 4"


def test_results_that_a_loop_collects_in_a_sequence(drawn):
    body = (
        "body = b (int64 i, bool c, seq(float[1, 8]) s) => (bool go, seq(float[1, 8]) n) "
        "{ part = Gather<axis = 1>(x, i) m = MatMul(part, w) n = SequenceInsert(s, m) "
        "go = Identity(c) }"
    )
    nodes = (
        "empty = SequenceEmpty() times = Constant<value_int = 5>() yes = Cast<to = 9>(times) "
        f"all = Loop(times, yes, empty) <{body}> "
        "y = ConcatFromSequence<axis = 1, new_axis = 1>(all)"
    )
    assert drawn(nodes, w=(8, 8)).startswith("input; slice 0; linear 1")


def test_elements_of_a_sequence_are_the_tensors_that_it_was_made_of(drawn):
    nodes = (
        "r = Relu(x) s = SequenceConstruct(x, r) one = Constant<value_int = 1>() "
        "last = SequenceAt(s, one) y = MatMul(last, w)"
    )
    assert drawn(nodes, w=(8, 8)) == "input; relu 0; linear 1"


def test_a_sequence_that_grows_without_end_is_refused(tmp_path):
    inserts = " ".join(f"s{n + 1} = SequenceInsert(s{n}, x)" for n in range(1_500))
    model = parser.parse_model(
        f"{HEADER} g (float[2, 8] x) => (float[] y) "
        f"{{ s0 = SequenceEmpty() {inserts} y = ConcatFromSequence<axis = 0>(s1500) }}"
    )
    with pytest.raises(CaptureError, match="1,000,000 elements"):
        captured(model, tmp_path)


@pytest.mark.parametrize("extents", ["N, ?, ?", "-1, -1, 8"])
def test_open_extents_have_an_example(extents):
    model = parser.parse_model(f"{HEADER} g (float[N, T, 8] x) => (float[] y) {{ y = Relu(x) }}")
    for dim, extent in zip(
        model.graph.input[0].type.tensor_type.shape.dim, extents.split(", "), strict=True
    ):
        dim.Clear()
        if extent.lstrip("-").isdigit():
            dim.dim_value = int(extent)
        else:
            dim.dim_param = extent
    shape = facts_of(model).shape("y")
    assert shape == ((1, 16, 16) if "?" in extents else (1, 16, 8))


def test_a_sparse_weight_counts_whole(tmp_path, text_of):
    model = parser.parse_model(
        f"{HEADER} g (float[2, 8] x) => (float[2, 8] y) {{ y = MatMul(x, w) }}"
    )
    values = onnx.numpy_helper.from_array(np.ones(2, np.float32), "w")
    places = onnx.numpy_helper.from_array(np.array([3, 40]), "places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [8, 8]))
    capture = captured(model, tmp_path)
    assert (text_of(capture.graph), capture.graph.parameters) == ("input; linear 0", 64)


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 17, 19, 21])
def test_a_file_of_any_opset_has_all_its_shapes(opset, tmp_path):
    """Unsqueeze and Squeeze have their axes as an attribute until 12, Clip its bounds until 10."""
    axes = {"axes": [0]} if opset < 13 else {}
    names = [] if opset < 13 else ["zero"]
    bounds, stated = ({"min": 0.0, "max": 6.0}, []) if opset < 11 else ({}, ["low", "high"])
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "first"], ["b"], axis=0),
        helper.make_node("Unsqueeze", ["b", *names], ["u"], **axes),
        helper.make_node("Concat", ["u", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["f"]),
        helper.make_node("Clip", ["f", *stated], ["c"], **bounds),
        helper.make_node("Gemm", ["c", "w", "v"], ["y"], transB=1),
    ]
    numbers = {
        "first": np.array(0), "rest": np.array([-1]), "zero": np.array([0]),
        "low": np.float32(0), "high": np.float32(6),
        "w": np.ones((5, 48), np.float32), "v": np.ones(5, np.float32),
    }  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, ["N", 3, 4, 4])],
        [helper.make_tensor_value_info("y", 1, ["N", 5])],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in numbers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    capture = captured(model, tmp_path)
    assert (capture.graph.nodes, capture.graph.parameters, capture.graph.flops) == (3, 245, 480)
    assert capture.unread is None


@pytest.mark.parametrize(
    ("nodes", "weights", "text"),
    [
        (
            "q = MatMul(x, w) y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, x, x, b)",
            {"w": (8, 8), "b": (24,)},
            "input; linear 0; add 0; add 0; attention 1 2 3",
        ),
        (
            "y = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(x, x, x)",
            {},
            "input; attention 0",
        ),
        ("y = com.microsoft.FastGelu(x)", {}, "input; gelu 0"),
        ("z = MatMul(x, w) y = com.microsoft.FastGelu(z, b)", {"w": (8, 8), "b": (8,)}, "linear"),
        ("y = com.microsoft.QuickGelu(x)", {}, "input; gelu 0"),
        ("y = com.microsoft.BiasSplitGelu(x, b)", {"b": (8,)}, "input; add 0; split 1; gelu 2"),
        ("y = com.microsoft.FusedMatMul<transB = 1>(x, w)", {"w": (6, 8)}, "input; linear 0"),
        ("y = com.microsoft.FusedMatMul<alpha = 0.5>(x, w)", {"w": (8, 8)}, "mul 1"),
        (
            "y = com.microsoft.SkipLayerNormalization(x, x, g, b)",
            {"g": (8,), "b": (8,)},
            "input; add 0; layer_norm 1",
        ),
        ("y = com.microsoft.GroupNorm<activation = 1>(x, g, b)", {"g": (8,), "b": (8,)}, "silu 1"),
        ("y = com.microsoft.RotaryEmbedding(x, p, c, s)", {"p": (1,), "c": (9, 4), "s": (9, 4)},
         "input; rotary 0"),
        ("y = com.microsoft.MatMulBnb4<K = 8, N = 4>(x, w, a)", {"w": (16,), "a": (2,)},
         "input; linear 0"),
        ("y = com.microsoft.BiasAdd(x, b, x)", {"b": (8,)}, "input; add 0; add 0 1"),
        ("y = com.microsoft.BitmaskDropout(x)", {}, "input"),
        ("y = com.microsoft.GemmFastGelu(x, w, b)", {"w": (8, 6), "b": (6,)},
         "input; linear 0; gelu 1"),
        ('y = com.microsoft.FusedMatMulActivation<activation = "Tanh">(x, w)', {"w": (8, 6)},
         "input; linear 0; tanh 1"),
        ("y, z = com.microsoft.DecoderMaskedSelfAttention<num_heads = 2>(x, w, b)",
         {"w": (8, 24), "b": (24,)},
         "input; linear 0; linear 0; linear 0; attention 1 2 3"),
        ("y = com.microsoft.Inverse(x)", {}, "input; linalg 0"),
    ],
)  # fmt: skip
def test_a_fused_operator_is_what_it_stands_for(drawn, nodes, weights, text):
    assert text in drawn(nodes, **weights)


PROJECTED = "q = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(x, wv) "
APART = {"wq": (8, 8), "wk": (8, 8), "wv": (8, 8)}
ATTENDED = "qb = Add(q, bq) kb = Add(k, bk) vb = Add(v, bv) " + (
    "y = com.microsoft.MultiHeadAttention<num_heads = 2>(qb, kb, vb)"
)
WITH_BIAS = APART | {"bq": (8,), "bk": (8,), "bv": (8,)}
ORDERED = "o = com.microsoft.QuantizeWithOrder(x, s) "
ROUTED = (
    "p = Softmax<axis = -1>(r) h, i = TopK<axis = -1>(p, two) t = ReduceSum<keepdims = 1>(h, last) "
    "g = Div(h, t) xs = Reshape(x, column) a = Gather<axis = 0>(w1, i) f = MatMul(a, xs) "
    "fs = Reshape(f, row) "
)
MIXED = (
    "c = Reshape(e, under) b = Gather<axis = 0>(w2, i) d = MatMul(b, c) ds = Reshape(d, row) "
    "gs = Reshape(g, side) m = Mul(ds, gs) z = ReduceSum<keepdims = 0>(m, one) "
    "y = Reshape(z, all)"
)
SCORED = "rs = MatMul(x, wr) flat = Constant<value_ints = [5, 4]>() r = Reshape(rs, flat) "
EXPERTS = {"wr": (8, 4), "w1": (4, 6, 8), "w2": (4, 8, 6)}
NUMBERS = "".join(
    f"{name} = Constant<value_ints = {list(numbers)}>() "
    for name, numbers in {
        "two": (2,), "last": (-1,), "one": (1,), "column": (-1, 1, 8, 1), "row": (0, 0, -1),
        "under": (0, 0, -1, 1), "side": (0, 0, 1), "all": (1, 5, 8),
    }.items()
)  # fmt: skip
# An operator of onnxruntime with its weights, and what it stands for with its weights.
PLAIN = {
    "PackedAttention": (
        "p, o, c, m = com.microsoft.RemovePadding(x, n) "
        "a = com.microsoft.PackedAttention<num_heads = 2>(p, w, b, o, c) "
        "y = com.microsoft.RestorePadding(a, o)",
        {"w": (8, 24), "b": (24,), "n": (1,)}, PROJECTED + ATTENDED, WITH_BIAS,
    ),
    "PackedMultiHeadAttention": (
        PROJECTED + "y = com.microsoft.PackedMultiHeadAttention<num_heads = 2>(q, k, v, b, o, c)",
        APART | {"b": (24,), "o": (1, 5), "c": (2,)}, PROJECTED + ATTENDED, WITH_BIAS,
    ),
    "DecoderAttention": (
        "y = com.microsoft.DecoderAttention<num_heads = 2>(x, x, w, u, b)",
        {"w": (8, 8), "u": (8, 16), "b": (24,)}, PROJECTED + ATTENDED, WITH_BIAS,
    ),
    "LongformerAttention": (
        "z = com.microsoft.LongformerAttention<num_heads = 2, window = 2>(x, w, b, n, u, c, n) "
        "y = Relu(z)",
        {"w": (8, 24), "b": (24,), "u": (8, 24), "c": (24,), "n": (1, 5)},
        "o = com.microsoft.Attention<num_heads = 2>(x, u, c) s = Cast<to = 9>(n) "
        "l = com.microsoft.Attention<num_heads = 2>(x, w, b) t = Reshape(s, side) "
        "z = Where(t, o, l) y = Relu(z)",
        {"w": (8, 24), "b": (24,), "u": (8, 24), "c": (24,), "n": (1, 5)},
    ),
    "SparseAttention": (
        "y = com.microsoft.SparseAttention<num_heads = 4, kv_num_heads = 2, "
        "do_rotary = 1>(x, k, v)",
        {}, "y = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, "
        "do_rotary = 1>(x, k, v)", {},
    ),
    "MoE": (
        SCORED + "y = com.microsoft.MoE<k = 2, normalize_routing_weights = 1>(x, r, w1, , w2)",
        EXPERTS, SCORED + ROUTED + "e = Relu(fs) " + MIXED, EXPERTS,
    ),
    "MoE, gated": (
        SCORED + 'y = com.microsoft.MoE<k = 2, normalize_routing_weights = 1, swiglu_fusion = 2, '
        'activation_type = "swiglu">(x, r, w1, , w2)',
        EXPERTS | {"w1": (4, 12, 8)},
        SCORED + ROUTED + "e1, e2 = Split<axis = -1>(fs) u = Sigmoid(e1) v = Mul(e1, u) "
        "e = Mul(v, e2) " + MIXED,
        EXPERTS | {"w1": (4, 12, 8)},
    ),
    "SkipGroupNorm": (
        "q = Relu(x) y = com.microsoft.SkipGroupNorm<groups = 2, activation = 1>(x, g, b, q)",
        {"g": (8,), "b": (8,)},
        "q = Relu(x) t = Add(x, q) n = com.microsoft.GroupNorm<groups = 2>(t, g, b) "
        "s = Sigmoid(n) y = Mul(n, s)",
        {"g": (8,), "b": (8,)},
    ),
    "RelativePositionBias": (
        "l = Constant<value_int = 5>() t = com.microsoft.RelativePositionBias(w, l, l) "
        "y = com.microsoft.MultiHeadAttention<num_heads = 2>(x, x, x, , , t)",
        {"w": (32, 2)},
        "i = ConstantOfShape(all3) j = Cast<to = 7>(i) r = Gather<axis = 0>(w, j) "
        "t = Transpose<perm = [0, 3, 1, 2]>(r) "
        "y = com.microsoft.MultiHeadAttention<num_heads = 2>(x, x, x, , , t)",
        {"w": (32, 2)},
    ),
    "NGramRepeatBlock": (
        "t = MatMul(x, w) y = com.microsoft.NGramRepeatBlock<ngram_size = 3>(n, t)",
        {"w": (8, 8), "n": (1, 5)}, "y = MatMul(x, w)", {"w": (8, 8)},
    ),
    "QOrderedMatMul": (
        ORDERED + "v = com.microsoft.QuantizeWithOrder(w, s) "
        "m = com.microsoft.QOrderedMatMul(o, s, v, s, s, b) "
        "y = com.microsoft.DequantizeWithOrder(m, s)",
        {"s": (), "w": (8, 6), "b": (6,)}, "m = MatMul(x, w) y = Add(m, b)",
        {"w": (8, 6), "b": (6,)},
    ),
    "QOrderedGelu": (
        ORDERED + "m = com.microsoft.QOrderedGelu(o, s, s) "
        "y = com.microsoft.DequantizeWithOrder(m, s)",
        {"s": ()}, "y = com.microsoft.Gelu(x)", {},
    ),
    "QOrderedLayerNormalization": (
        ORDERED + "m = com.microsoft.QOrderedLayerNormalization(o, s, g, b, s) "
        "y = com.microsoft.DequantizeWithOrder(m, s)",
        {"s": (), "g": (8,), "b": (8,)}, "y = LayerNormalization(x, g, b)", {"g": (8,), "b": (8,)},
    ),
    "QOrderedAttention": (
        ORDERED + "m = com.microsoft.QOrderedAttention<num_heads = 2>(o, s, s, s, s, wq, wk, wv, "
        "s, s, s, bq, bk, bv, s, s, s) y = com.microsoft.DequantizeWithOrder(m, s)",
        WITH_BIAS | {"s": ()}, PROJECTED + ATTENDED, WITH_BIAS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_an_operator_of_onnxruntime_is_its_plain_spelling(name, tmp_path, text_of):
    shapes = "float[1, 5, 8] x, float[1, 5, 4] k, float[1, 5, 4] v"
    nodes, weights, plain, of_plain = PLAIN[name]
    if name != "SparseAttention":
        shapes = "float[1, 5, 8] x"
    found = []
    for each, held in ((nodes, weights), (plain, of_plain)):
        text = NUMBERS + "all3 = Constant<value_ints = [1, 5, 5]>() " + each
        model = parser.parse_model(f"{HEADER} g ({shapes}) => (float[] y) {{ {text} }}")
        for key, extents in held.items():
            is_ordered = "QOrderedAttention" in each and key in APART
            kind = np.int8 if is_ordered else np.int32 if key in ("n", "o") else np.float32
            array = np.ones(extents, kind)
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, key))
        capture = captured(model, tmp_path)
        assert capture.unread is None or not capture.unread.unknown
        found.append((text_of(capture.graph), capture.graph.parameters))
    assert found[0] == found[1]


def test_a_mixture_of_few_bits_is_that_of_floats(tmp_path, text_of):
    """Two numbers in each byte; the gate of the first layer is an own layer."""
    found = []
    for operator, packed in (("MoE", 1), ("QMoE", 2)):
        inputs = "w1, , w2, , w3" if packed == 1 else "w1, s, , w2, s, , w3, s"
        nodes = f'y = com.microsoft.{operator}<k = 2, activation_type = "silu">(x, r, {inputs})'
        model = parser.parse_model(
            f"{HEADER} g (float[1, 5, 8] x) => (float[] y) {{ {SCORED} {nodes} }}"
        )
        kind = np.float32 if packed == 1 else np.uint8
        arrays = {
            "wr": np.ones((8, 4), np.float32), "s": np.ones((4, 6), np.float32),
            "w1": np.ones((4, 6, 8 // packed), kind), "w2": np.ones((4, 8, 6 // packed), kind),
            "w3": np.ones((4, 6, 8 // packed), kind),
        }  # fmt: skip
        for name, array in arrays.items():
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
        graph = captured(model, tmp_path).graph
        found.append((text_of(graph), graph.parameters))
    assert found[0] == found[1]
    assert found[0][1] == 32 + 3 * 192
    assert "topk" in found[0][0]


def test_a_gated_bias_of_positions_counts_its_layer(tmp_path, text_of):
    model = parser.parse_model(
        f"{HEADER} g (float[1, 5, 8] x) => (float[] y) {{ q = MatMul(x, wq) "
        "y = com.microsoft.GatedRelativePositionBias<num_heads = 2>(q, b, p, w, c, a) }"
    )
    held = {"wq": (8, 8), "b": (8,), "p": (1, 2, 5, 5), "w": (4, 8), "c": (8,), "a": (1, 2, 1, 1)}
    for name, extents in held.items():
        array = np.ones(extents, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    capture = captured(model, tmp_path)
    text = "input; linear 0; linear 1; sum 2; sigmoid 3; split 4; mul 5; sub 6; mul 5 7; add 8"
    assert text_of(capture.graph).startswith(text)
    assert capture.graph.parameters == 64 + 8 + 50 + 32 + 8 + 2
    assert capture.unread is None


def test_the_embedding_of_a_bert(drawn):
    nodes = "y = com.microsoft.EmbedLayerNormalization(x, kinds, words, places, types, g, b)"
    found = drawn(
        nodes,
        "int32[1, 5] x, int32[1, 5] kinds",
        words=(30, 8), places=(9, 8), types=(2, 8), g=(8,), b=(8,),
    )  # fmt: skip
    assert sorted(found.replace(";", " ").split()).count("embedding") == 3
    assert "layer_norm" in found


def test_a_quantised_lstm_counts_its_weights(tmp_path, text_of):
    model = parser.parse_model(
        f"{HEADER} g (float[3, 1, 4] x) => (float[] y) "
        "{ y = com.microsoft.DynamicQuantizeLSTM<hidden_size = 6>(x, w, r, b) }"
    )
    arrays = {
        "w": np.zeros((1, 4, 24), np.int8), "r": np.zeros((1, 6, 24), np.int8),
        "b": np.zeros((1, 48), np.float32),
    }  # fmt: skip
    for name, array in arrays.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    capture = captured(model, tmp_path)
    assert (text_of(capture.graph), capture.graph.parameters) == ("input; lstm 0", 96 + 144 + 48)


@pytest.mark.parametrize(
    ("result", "nodes", "kind"),
    [
        ("seq(float[1, 4]) y", "y = SplitToSequence<axis = 1>(r)", "float"),
        ("seq(float[1, 8]) y", "t = Tanh(r) y = SequenceConstruct(r, t)", "float"),
        (
            "seq(map(int64, float)) y",
            "y = ai.onnx.ml.ZipMap<classlabels_int64s = [0, 1]>(r)",
            "float",
        ),
        ("optional(float[1, 8]) y", "y = Optional(r)", "float"),
        ("int64[1] y", "y = ArgMax<axis = 1, keepdims = 0>(r)", "int"),
    ],
)
def test_a_result_that_is_no_tensor_has_the_kind_of_its_values(tmp_path, result, nodes, kind):
    head = '<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]>'
    text = f"{head} g (float[1, 8] x) => ({result}) {{ r = Relu(x) {nodes} }}"
    capture = captured(parser.parse_model(text), tmp_path)
    assert capture.graph.nodes >= 2
    assert f" {kind} " in capture.details.outputs[0]
