"""Operators of onnxruntime in standard form: nodes, shapes of results and parameters by hand."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, parser

from nar.capture.onnx.file import capture_onnx
from nar.capture.onnx.runtime import READ

HEADER = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "com.microsoft.nchwc": 1]>'
SEQUENCE, IMAGE, IDS = "float[1, 5, 8] x", "float[1, 4, 6, 6] x", "int64[1, 5] x"
LAST = "float[1, 6, 6, 4] x"  # an image whose channels are last
# Weights of other types than float, by the first letter of their names.
KINDS = {"p": np.uint8, "q": np.int8, "h": np.int16, "n": np.int32, "l": np.int64, "t": np.bool_}


def made(inputs, nodes, weights, outputs=("y",)):
    results = ", ".join(f"float[] {name}" for name in outputs)
    model = parser.parse_model(f"{HEADER} g ({inputs}) => ({results}) {{ {nodes} }}")
    for name, held in weights.items():
        kind = KINDS.get(name[0], np.float32)
        array = np.ones(held, kind) if isinstance(held, tuple) else np.array(held, kind)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


@pytest.fixture
def read(tmp_path, text_of):
    """``read(model)``: its graph as text, the shapes of its results, its parameters, the rest."""

    def captured(model):
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        capture = capture_onnx(path, name="model")
        shapes = [each.split()[-1] for each in capture.details.outputs]
        graph = capture.graph
        return text_of(graph), " ".join(shapes), graph.parameters, capture.unread

    return captured


# Of a state that decays, what it holds for the key is taken off the value.
STEP = "input; exp 0; mul 1; input; matmul 3 2; "
# Operator -> inputs, nodes from x to y, weights; the graph, the shape of y, parameters.
ROWS = {
    "GatedRMSNorm": (
        SEQUENCE, "y = com.microsoft.GatedRMSNorm(x, g, x)", {"g": (4,)},
        "input; silu 0; rms_norm 0; mul 1 2", "1x5x8", 4,
    ),
    "SwiGLU": (
        SEQUENCE, "y = com.microsoft.SwiGLU(x)", {},
        "input; split 0; silu 1; mul 1 2", "1x5x4", 0,
    ),
    "ScaledSiLU": (
        SEQUENCE, "y = com.microsoft.ScaledSiLU<alpha = 2.0>(x)", {},
        "input; mul 0; silu 1", "1x5x8", 0,
    ),
    "BranchwiseRMSNorm": (
        SEQUENCE, "y = com.microsoft.BranchwiseRMSNorm<num_branches = 2>(x, g)", {"g": (8,)},
        "input; rms_norm 0", "1x5x8", 8,
    ),
    "GatedAdd": (
        SEQUENCE, "a = Tanh(x) y = com.microsoft.GatedAdd(x, a, x, w)", {"w": (8, 1)},
        "input; linear 0; sigmoid 1; tanh 0; mul 2 3; add 0 4", "1x5x8", 8,
    ),
    "RouterGateUpProj": (
        SEQUENCE, "r, y = com.microsoft.RouterGateUpProj<router_size = 2>(x, w)", {"w": (8, 14)},
        "input; linear 0; silu 1; linear 0; mul 2 3", "1x5x6", 112,
    ),
    "EngramGate": (
        "float[1, 5, 2, 8] x, float[1, 5, 8] v", "y = com.microsoft.EngramGate(x, x, v, g, f)",
        {"g": (2, 8), "f": (2, 8)},
        "input; rms_norm 0; rms_norm 0; mul 1 2; sum 3; div 4; abs 5; maximum 6; sqrt 7; sign 5; "
        "mul 8 9; sigmoid 10; input; mul 11 12", "1x5x2x8", 32,
    ),
    "MatMulNBitsQkv": (
        SEQUENCE,
        "q, k, v = com.microsoft.MatMulNBitsQkv<K = 8, Nq = 8, Nkv = 4, block_size = 32>"
        "(x, , g, p1, s1, , p2, s2, , p3, s3) "
        "y = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(q, k, v)",
        {"g": (8,), "p1": (8, 1, 16), "p2": (4, 1, 16), "p3": (4, 1, 16), "s1": (8, 1),
         "s2": (4, 1), "s3": (4, 1)},
        "input; rms_norm 0; linear 1; linear 1; linear 1; attention 2 3 4", "1x5x8",
        8 + 64 + 32 + 32,
    ),
    "MatMulNBitsMlp": (
        SEQUENCE,
        'y = com.microsoft.MatMulNBitsMlp<K = 8, N = 12, block_size = 32, activation = "silu">'
        "(x, x, g, p1, s1, b1, p2, s2, b2)",
        {"g": (8,), "p1": (12, 1, 16), "p2": (12, 1, 16), "s1": (12, 1), "s2": (12, 1),
         "b1": (12,), "b2": (12,)},
        "input; add 0; rms_norm 1; linear 2; silu 3; linear 2; mul 4 5", "1x5x12",
        8 + 2 * (96 + 12),
    ),
    "MatMulNBitsQLoRA": (
        SEQUENCE,
        "y = com.microsoft.MatMulNBitsQLoRA<K = 8, N = 12>(x, p1, s1, p2, s2, p3, s3)",
        {"p1": (12, 1, 16), "p2": (3, 1, 16), "p3": (12, 1, 16), "s1": (12, 1), "s2": (3, 1),
         "s3": (12, 1)},
        "input; linear 0; linear 1; linear 0; add 2 3", "1x5x12", 96 + 24 + 36,
    ),
    "MatMulPacked": (
        SEQUENCE,
        'y = com.microsoft.MatMulPacked<K = 8, N = 12, activation_type = "relu2">(x, p)',
        {"p": (12, 6)}, "input; linear 0; relu 1; mul 2", "1x5x12", 96,
    ),
    "MatMulFpQ4": (
        SEQUENCE, "y = com.microsoft.MatMulFpQ4(x, p, l)", {"p": (60,), "l": [8, 12]},
        "input; linear 0", "1x5x12", 96,
    ),
    "MatMulBnb4": (
        SEQUENCE, "y = com.microsoft.MatMulBnb4<K = 12, N = 8, transB = 0>(x, p, a)",
        {"p": (48,), "a": (2,)}, "input; linear 0", "1x5x12", 96,
    ),
    "MatMulBlockQuantizedFp4Weight": (
        SEQUENCE, "y = com.microsoft.MatMulBlockQuantizedFp4Weight(x, p, ps, s, , b)",
        {"p": (12, 4), "ps": (12, 1), "s": (), "b": (12,)}, "input; linear 0", "1x5x12", 108,
    ),
    "MatMulBlockQuantizedFp8Weight": (
        SEQUENCE, "y = com.microsoft.MatMulBlockQuantizedFp8Weight(x, w, s, , b)",
        {"w": (12, 8), "s": (12, 1), "b": (12,)}, "input; linear 0", "1x5x12", 108,
    ),
    "MatMulInteger16": (
        "int16[5, 8] x", "y = com.microsoft.MatMulInteger16(x, h)", {"h": (8, 6)},
        "linear", "5x6", 48,
    ),
    "GemmFloat8": (
        "float[5, 8] x",
        'y = com.microsoft.GemmFloat8<transB = 1, activation = "RELU">(x, w, b)',
        {"w": (6, 8), "b": (6,)}, "input; linear 0; relu 1", "5x6", 54,
    ),
    "GatherPacked": (
        IDS, "y = com.microsoft.GatherPacked<K = 8, packed_type = 2>(p, x)", {"p": (30, 5)},
        "embedding", "1x5x8", 240,
    ),
    "TorchEmbedding": (
        IDS, "y = com.microsoft.TorchEmbedding(w, x)", {"w": (30, 8)},
        "embedding", "1x5x8", 240,
    ),
    "QEmbedLayerNormalization": (
        "int32[1, 5] x",
        "y, m = com.microsoft.QEmbedLayerNormalization(x, , q1, q2, , q3, q4, , s, s, , s, s, z, "
        "z, , z, z)",
        {"q1": (30, 8), "q2": (9, 8), "q3": (8,), "q4": (8,), "s": (), "z": ()},
        "embedding; embedding; add 0 1; layer_norm 2", "1x5x8", 240 + 72 + 16,
    ),
    "WordConvEmbedding": (
        "int32[1, 5, 7] x", "y = com.microsoft.WordConvEmbedding(x, w, b, c)",
        {"w": (6, 1, 3, 4), "b": (6,), "c": (50, 4)},
        "embedding; conv 0; tanh 1; adaptive_max_pool 2", "1x5x6", 200 + 72 + 6,
    ),
    "PagedAttention": (
        "float[5, 16] x",
        "y = com.microsoft.PagedAttention<num_heads = 4, kv_num_heads = 2, do_rotary = 1>"
        "(x, , , a, a, n1, n2, n3, , , , s, g, f)",
        {"a": (1, 1, 2, 2), "n1": (2,), "n2": (1,), "n3": (1, 1), "s": (4,), "g": (2,), "f": (2,)},
        "input; split 0; rms_norm 1; rotary 2; rms_norm 1; rotary 4; attention 3 5 1", "5x8",
        4 + 2 + 2,
    ),
    "PagedAttention of one latent": (
        "float[5, 32] x, float[5, 8] k",
        'y = com.microsoft.PagedAttention<num_heads = 4, kv_num_heads = 1, v_head_size = 6, '
        'kv_cache_layout = "LATENT">(x, k)',
        {}, "input; slice 0; input; attention 2 0 1", "5x24", 0,
    ),
    "DynamicSparseAttention": (
        SEQUENCE,
        "y = com.microsoft.DynamicSparseAttention<num_heads = 4, kv_num_heads = 4>(x, x, x)",
        {}, "input; attention 0", "1x5x8", 0,
    ),
    "SparsePagedAttention": (
        "float[5, 8] x",
        "y = com.microsoft.SparsePagedAttention<num_heads = 4, kv_num_heads = 4>(x, x, x)",
        {}, "input; attention 0", "5x8", 0,
    ),
    "GroupQueryAttention": (
        SEQUENCE,
        "y = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 4>"
        "(x, x, x, , , , , , , , , s, , , g, f)",
        {"s": (4,), "g": (2,), "f": (2,)},
        "input; rms_norm 0; rms_norm 0; attention 1 2 0", "1x5x8", 8,
    ),
    "MRotaryEmbedding": (
        SEQUENCE, "y = com.microsoft.MRotaryEmbedding<mrope_section = [1, 1, 2]>(x, l, c, c)",
        {"l": (3, 1, 5), "c": (9, 4)}, "input; rotary 0", "1x5x8", 0,
    ),
    "GemmaRotaryEmbedding": (
        "float[1, 5, 4] e, float[1, 2, 5, 4] x",
        "r, y = com.microsoft.GemmaRotaryEmbedding(e, x, x, x, x)", {},
        "input; rotary 0", "1x2x5x4", 0,
    ),
    "RMSNormRotary": (
        "float[1, 5, 2, 8] x",
        "y = com.microsoft.RMSNormRotary<input_start = 2, input_width = 4, flatten_batch = 1>"
        "(x, g, l, c, c)",
        {"g": (4,), "l": (1,), "c": (9, 2)}, "input; slice 0; rms_norm 1; rotary 2", "1x5x8", 4,
    ),
    "LinearAttention": (
        "float[1, 5, 8] x, float[1, 5, 2] d",
        "y, z = com.microsoft.LinearAttention<q_num_heads = 2, kv_num_heads = 2>"
        "(x, x, x, , d, d)",
        {}, STEP + "sub 3 4; mul 0 5; matmul 3 6; add 2 7; matmul 3 8; mul 9", "1x5x8", 0,
    ),
    "GatedDeltaNet": (
        "float[5, 2, 4] x, float[5, 4, 6] v, float[5, 4] d",
        "y = com.microsoft.GatedDeltaNet(x, x, v, , d, d)", {},
        STEP + "input; sub 5 4; mul 0 6; matmul 3 7; add 2 8; matmul 3 9; mul 10", "5x4x6", 0,
    ),
    "LinearAttentionGate": (
        "float[1, 5, 2] x", "y = com.microsoft.LinearAttentionGate(x, b, w)",
        {"b": (2,), "w": (2,)}, "input; add 0; softplus 1; mul 2", "1x5x2", 4,
    ),
    "CausalConvWithState": (
        "float[1, 8, 5] x",
        'y, z = com.microsoft.CausalConvWithState<activation = "silu">(x, w, b)',
        {"w": (8, 1, 4), "b": (8,)}, "input; conv_depthwise 0; silu 1", "1x8x5", 40,
    ),
    "CausalConvWithState, channels last": (
        "float[1, 5, 2, 4] x", "y = com.microsoft.CausalConvWithState<channels_last = 1>(x, w)",
        {"w": (8, 1, 4)}, "input; conv_depthwise 0", "1x5x2x4", 32,
    ),
    "VarlenCausalConvWithState": (
        "float[5, 8] x",
        "y, z = com.microsoft.VarlenCausalConvWithState<dilation = 2>(x, w, n, , a)",
        {"w": (8, 1, 4), "n": (2,), "a": (1, 8, 6)}, "input; conv_depthwise 0", "5x8", 32,
    ),
    "QLinearWhere": (
        "bool[1, 5, 8] c, float[1, 5, 8] x",
        "q = com.microsoft.QuantizeLinear(x, s, p) "
        "w = com.microsoft.QLinearWhere(c, q, s, p, q, s, p, s, p) "
        "y = com.microsoft.DequantizeLinear(w, s, p)",
        {"s": (), "p": ()}, "input; where 0", "1x5x8", 0,
    ),
    "QLinearConv": (
        LAST,
        "q = com.microsoft.QuantizeLinear(x, s, q0) "
        "w = com.microsoft.QLinearConv<channels_last = 1, pads = [1, 1, 1, 1]>"
        "(q, s, q0, q1, s, q0, s, q0, n) y = com.microsoft.DequantizeLinear(w, s, q0)",
        {"s": (), "q0": (), "q1": (3, 4, 3, 3), "n": (3,)}, "input; conv 0", "1x6x6x3", 111,
    ),
    "NhwcConv": (
        LAST, "y = com.microsoft.NhwcConv<strides = [2, 2]>(x, w)", {"w": (3, 4, 2, 2)},
        "input; conv 0", "1x3x3x3", 48,
    ),
    "NhwcFusedConv": (
        LAST, 'y = com.microsoft.NhwcFusedConv<activation = "Relu">(x, w, b, x)',
        {"w": (4, 4, 1, 1), "b": (4,)}, "input; conv 0; add 0 1; relu 2", "1x6x6x4", 20,
    ),
    "NhwcMaxPool": (
        LAST, "y = com.microsoft.NhwcMaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)", {},
        "input; max_pool 0", "1x3x3x4", 0,
    ),
    "MaxpoolWithMask": (
        IMAGE,
        "y = com.microsoft.MaxpoolWithMask<kernel_shape = [2, 2], strides = [2, 2]>(x, n)",
        {"n": (1, 4, 6, 6)}, "input; max_pool 0", "1x4x3x3", 0,
    ),
    "ConvTransposeWithDynamicPads": (
        IMAGE,
        "y = com.microsoft.ConvTransposeWithDynamicPads<strides = [2, 2]>(x, w, l, b)",
        {"w": (4, 3, 4, 4), "l": [1, 1, 1, 1], "b": (3,)},
        "input; conv_transpose 0", "1x3x12x12", 195,
    ),
    "blocks of channels": (
        IMAGE,
        'a = com.microsoft.nchwc.ReorderInput(x) b = com.microsoft.nchwc.Conv<activation = "Relu",'
        " pads = [1, 1, 1, 1]>(a, w, v) c = com.microsoft.nchwc.Upsample<scales = [1, 1, 2, 2]>(b)"
        " y = com.microsoft.nchwc.ReorderOutput<channels = 8, channels_last = 1>(c)",
        {"w": (8, 4, 3, 3), "v": (8,)}, "input; conv 0; relu 1; upsample 2", "1x12x12x8", 296,
    ),
    "CropAndResize": (
        f"{IMAGE}, float[3, 4] r", "y = com.microsoft.CropAndResize(x, r, n, n0)",
        {"n": (3,), "n0": [5, 7]}, "input; input; roi_align 0 1", "3x4x5x7", 0,
    ),
    "ExpandDims": (
        SEQUENCE, "a = Tanh(x) y = com.microsoft.ExpandDims(a, n)", {"n": -1},
        "input; tanh 0", "1x5x8x1", 0,
    ),
    "Inverse": ("float[2, 4, 4] x", "y = com.microsoft.Inverse(x)", {}, "input; linalg 0",
                "2x4x4", 0),
    "Rfft": (SEQUENCE, "y = com.microsoft.Rfft<signal_ndim = 1>(x)", {}, "input; fft 0",
             "1x5x5x2", 0),
    "Irfft": ("float[1, 5, 2] x", "y = com.microsoft.Irfft<signal_ndim = 1>(x)", {},
              "input; ifft 0", "1x8", 0),
    "CDist": ("float[5, 8] x, float[3, 8] z", 'y = com.microsoft.CDist<metric = "euclidean">(x, z)',
              {}, "input; input; distance 0 1", "5x3", 0),
    "ComplexMul": (SEQUENCE, "a = Tanh(x) y = com.microsoft.ComplexMul(x, a)", {},
                   "input; tanh 0; mul 0 1", "1x5x8", 0),
    "UnfoldTensor": (SEQUENCE, "y = com.microsoft.UnfoldTensor<dim = 1, size = 3, step = 2>(x)",
                     {}, "input; unfold 0", "1x2x8x3", 0),
    "MulInteger": (
        SEQUENCE,
        "a = com.microsoft.QuantizeLinear(x, s, p) y = com.microsoft.MulInteger(a, p, a, p)",
        {"s": (), "p": ()}, "input; mul 0", "1x5x8", 0,
    ),
    "ReduceSumInteger": (
        SEQUENCE,
        "a = com.microsoft.QuantizeLinear(x, s, p) "
        "y = com.microsoft.ReduceSumInteger<axes = [1], keepdims = 0>(a)",
        {"s": (), "p": ()}, "input; sum 0", "1x8", 0,
    ),
    "GatherND": (SEQUENCE, "y = com.microsoft.GatherND(x, l)", {"l": (3, 2)}, "input; index 0",
                 "3x8", 0),
    "FusedMatMul": (
        "float[2, 5, 8] x, float[5, 8, 3] z",
        "y = com.microsoft.FusedMatMul<transBatchA = 1>(x, z)",
        {}, "input; input; matmul 0 1", "5x2x3", 0,
    ),
    "BitmaskBiasDropout": (
        SEQUENCE, "y, m = com.microsoft.BitmaskBiasDropout(x, b, x)", {"b": (8,)},
        "input; add 0; add 0 1", "1x5x8", 8,
    ),
    "QuantizeBFP": (
        SEQUENCE,
        "a, b, c = com.microsoft.QuantizeBFP<bfp_type = 1>(x) "
        "d = com.microsoft.DequantizeBFP<bfp_type = 1>(a, b, c) "
        "w = com.microsoft.DequantizeBFP<bfp_type = 1>(p, l, l) y = MatMul(d, w)",
        {"p": (70,), "l": [8, 6]}, "input; linear 0", "1x5x6", 48,
    ),
    "SampleOp": (SEQUENCE, "a = Tanh(x) y = com.microsoft.SampleOp(a)", {}, "input; tanh 0",
                 "1x5x8", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_an_operator_is_read_in_standard_form(name, read):
    inputs, nodes, weights, text, shape, parameters = ROWS[name]
    found = read(made(inputs, nodes, weights))
    assert found == (text, shape, parameters, None)


def test_experts_in_blocks_of_few_bits_count_whole(read):
    """Scores and shares are given; of 4 experts, 2 are mixed, whose hidden width is 6."""
    nodes = (
        "r = MatMul(x, w) y = com.microsoft.MoEPacked<k = 2, normalize_routing_weights = 1, "
        'routed_scaling_factor = 2.5, activation_type = "swiglu">(x, r, p1, p2, p3, r)'
    )
    weights = {"w": (8, 4), "p1": (4, 6, 5), "p2": (4, 6, 5), "p3": (4, 8, 4)}
    text, shape, parameters, unread = read(made("float[5, 8] x", nodes, weights))
    assert (shape, parameters, unread) == ("5x8", 3 * 4 * 48 + 32, None)
    assert [text.count(each) for each in ("topk", "matmul", "silu", "div")] == [1, 3, 1, 1]


def test_keys_of_fewer_heads_give_the_width_of_the_query(read):
    nodes = "y = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(x, k, k)"
    model = made("float[1, 5, 8] x, float[1, 5, 4] k", nodes, {})
    assert read(model)[:2] == ("input; input; attention 0 1", "1x5x8")


# What onnxruntime has and NAR tells as unknown, with the reason.
UNREAD = {
    "a recurrence with attention of its own, which no exporter writes": ["AttnLSTM"],
    "a program for one device, whose layers are not in the file": ["EPContext", "Snpe"],
    "words, hashes and paths, of which no design is made": [
        "BifurcationDetector", "DynamicTimeWarping", "IsAllFinite", "MurmurHash3",
        "NGramHashMapping", "Tokenizer", "VarlenNGramHashMapping",
    ],
    "states that one call hands to the next": [
        "ConvStateReplay", "GatedDeltaNetStateReplay", "SpeculativePrefixCommit",
    ],
    "a choice of tokens or experts by rules of one model, on one device": [
        "MoEGroupRouter", "PackedSparseAttentionIndexer", "PackedSparseAttentionIndexerMerge",
        "SparseAttentionIndexer",
    ],
    "a whole block of one model, on one device": [
        "HyperConnectionLowRankMix", "HyperConnectionPostMix", "HyperConnectionPreMix",
        "Mamba2Verify",
    ],
}  # fmt: skip
SEARCHES = {"BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}
# The operators of the domain that onnxruntime 1.32.0 registers.
REGISTERED = Path(__file__).with_name("onnxruntime-1.32.0.txt").read_text().split()


def test_each_operator_of_onnxruntime_is_read_or_told():
    told = [name for names in UNREAD.values() for name in names]
    assert set(REGISTERED) - READ - SEARCHES == set(told)
    assert len(set(REGISTERED)) == 150


@pytest.mark.parametrize("name", [name for names in UNREAD.values() for name in names])
def test_an_operator_that_is_not_read_is_told_by_its_name(name, read):
    nodes = f"a = MatMul(x, w) b = com.microsoft.{name}(a) y = MatMul(b, w)"
    *_, unread = read(made(SEQUENCE, nodes, {"w": (8, 8)}))
    assert [each.name for each in unread.unknown] == [f"com.microsoft::{name}"]


def weight(name, shape):
    """A weight that is no other's transpose."""
    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return onnx.numpy_helper.from_array(numbers, name)


def body(name, inputs, nodes, outputs, weights=()):
    text = f"{HEADER} {name} ({inputs}) => ({outputs}) {{ {nodes} }}"
    graph = parser.parse_model(text).graph
    for each, shape in dict(weights).items():
        graph.initializer.append(weight(each, shape))
    return graph


def search(operator, inputs, weights=(), **bodies):
    node = helper.make_node(
        operator, ["x", "most"], ["words", "scores"], domain="com.microsoft", **bodies,
        eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    outputs = [helper.make_tensor_value_info("words", 6, [1, 20])]
    graph = helper.make_graph([node], "g", inputs, outputs, [
        weight(name, shape) for name, shape in dict(weights).items()
    ])  # fmt: skip
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


MOST = helper.make_tensor_value_info("most", 6, [1])
GPT = body(
    "gpt",
    "int32[1, 5] ids, float[1, 5, 8] past_0",
    "e = Gather<axis = 0>(table, ids) s = Add(e, past_0) h = Tanh(s) logits = MatMul(h, w)",
    "float[1, 5, 30] logits, float[1, 5, 8] present_0",
)
# The body gives what it read, too.
GPT.node.append(helper.make_node("Identity", ["s"], ["present_0"]))
OUTSIDE = {"table": (30, 8), "w": (8, 30)}


@pytest.mark.parametrize("operator", ["GreedySearch", "Sampling", "BeamSearch"])
def test_a_search_with_a_decoder_is_the_decoder_once(operator, read):
    """The first run has a body of its own, of the same design, with the weights outside."""
    ids = helper.make_tensor_value_info("x", 6, [1, 5])
    model = search(operator, [ids, MOST], OUTSIDE, decoder=GPT, init_decoder=GPT)
    text, shape, parameters, unread = read(model)
    assert (text, shape, parameters, unread) == (
        "input; embedding; add 0 1; tanh 2; linear 3", "1x5x30", 480, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "sound", "kind"),
    [("WhisperBeamSearch", True, 1), ("BeamSearch", False, 6), ("GreedySearch", False, 6)],
)
def test_a_search_with_an_encoder_reads_it_once(operator, sound, kind, read):
    """A decoder of one layer reads what the encoder gives under its name, and as what is past."""
    first = "features" if sound else "encoder_input_ids"
    begin = "h = MatMul(features, a)" if sound else f"h = Gather<axis = 0>(table, {first})"
    encoder = body(
        "encoder",
        f"float[1, 7, 8] {first}" if sound else f"int32[1, 7] {first}",
        f"{begin} encoder_hidden_states = Relu(h) "
        "present_key_cross_0 = MatMul(encoder_hidden_states, k)",
        "float[] logits, float[1, 7, 8] encoder_hidden_states, float[1, 7, 8] present_key_cross_0",
        {"k": (8, 8)} | ({"a": (8, 8)} if sound else {}),
    )
    encoder.node.append(helper.make_node("Identity", ["h"], ["logits"]))
    decoder = body(
        "decoder",
        "int32[1, 5] input_ids, float[1, 7, 8] encoder_hidden_states, "
        "float[1, 7, 8] past_key_cross_0",
        "e = Gather<axis = 0>(table, input_ids) "
        "m = com.microsoft.MultiHeadAttention<num_heads = 2>"
        "(e, past_key_cross_0, encoder_hidden_states) logits = MatMul(m, w)",
        "float[1, 5, 30] logits",
        {"w": (8, 30)},
    )
    given = helper.make_tensor_value_info("x", kind, [1, 7, 8] if sound else [1, 7])
    model = search(operator, [given, MOST], {"table": (30, 8)}, encoder=encoder, decoder=decoder)
    text, shape, parameters, unread = read(model)
    begins = "input; linear 0; relu 1; linear 2; embedding; attention 4 3 2; linear 5"
    if not sound:
        begins = "embedding; relu 0; linear 1; embedding; attention 3 2 1; linear 4"
    assert (text, shape, unread) == (begins, "1x5x30", None)
    assert parameters == 240 + 64 + 240 + (64 if sound else 0)
