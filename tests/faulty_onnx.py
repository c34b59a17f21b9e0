"""Smallest ONNX files that were captured wrongly, or that stand beside such a file."""

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as n

MODELS = {}

rng = np.random.default_rng(0)


def w(name, *s):
    return n.from_array(rng.standard_normal(s).astype("f4"), name)


def vi(name, shape, t=T.FLOAT):
    return h.make_tensor_value_info(name, t, shape)


def save(name, nodes, ins, outs, inits=(), opset=17, extra=()):
    g = h.make_graph(nodes, name, ins, outs, list(inits))
    m = h.make_model(
        g, opset_imports=[h.make_opsetid("", opset), *[h.make_opsetid(*e) for e in extra]]
    )
    m.ir_version = 8
    MODELS[name] = m


N = h.make_node


def const(name, arr):
    return N("Constant", [], [name], value=n.from_array(arr, name))


# net of 2 convs, shared
def convs(x, y, p=""):
    return [
        N("Conv", [x, p + "w1", p + "b1"], [p + "h"], pads=[1] * 4),
        N("Relu", [p + "h"], [p + "r"]),
        N("Conv", [p + "r", p + "w2", p + "b2"], [y], pads=[1] * 4),
    ]


def ws(p=""):
    return [w(p + "w1", 8, 3, 3, 3), w(p + "b1", 8), w(p + "w2", 4, 8, 3, 3), w(p + "b2", 4)]


X = vi("x", [1, 3, 16, 16])
Y = vi("y", [1, 4, 16, 16])
save("base", convs("x", "y"), [X], [Y], ws())
# F1: all of the net in two branches of If (as silero-vad has)
th = h.make_graph(convs("x", "ty", "t"), "th", [], [vi("ty", [1, 4, 16, 16])], ws("t"))
el = h.make_graph(convs("x", "ey", "e"), "el", [], [vi("ey", [1, 4, 16, 16])], ws("e"))
save(
    "if_whole",
    [
        const("k", np.array(16000, dtype="i8")),
        N("Equal", ["sr", "k"], ["c"]),
        N("If", ["c"], ["y"], then_branch=th, else_branch=el),
    ],
    [X, vi("sr", [], T.INT64)],
    [Y],
)
# F2: a part in If: the middle of a net must not vanish silently
th = h.make_graph(
    [N("Conv", ["r", "w2", "b2"], ["ty"], pads=[1] * 4)], "th", [], [vi("ty", [1, 4, 16, 16])]
)
el = h.make_graph(
    [N("Conv", ["r", "w3", "b2"], ["ey"], pads=[1] * 4)], "el", [], [vi("ey", [1, 4, 16, 16])]
)
save(
    "if_middle",
    [
        *convs("x", "z")[:2],
        const("k", np.array(1, dtype="i8")),
        N("Equal", ["sr", "k"], ["c"]),
        N("If", ["c"], ["i"], then_branch=th, else_branch=el),
        N("Conv", ["x", "w4", "b4"], ["s"], pads=[1] * 4),
        N("Add", ["i", "s"], ["y"]),
    ],
    [X, vi("sr", [], T.INT64)],
    [Y],
    [*ws(), w("w3", 4, 8, 3, 3), w("w4", 4, 3, 3, 3), w("b4", 4)],
)
# F2b Loop
body = h.make_graph(
    [
        N("MatMul", ["hs", "wl"], ["m"]),
        N("Tanh", ["m"], ["ho"]),
        N("Identity", ["cond_in"], ["co"]),
    ],
    "body",
    [vi("it", [], T.INT64), vi("cond_in", [], T.BOOL), vi("hs", [1, 8])],
    [vi("co", [], T.BOOL), vi("ho", [1, 8])],
)
save(
    "loop",
    [
        const("n", np.array(5, dtype="i8")),
        const("t", np.array(True)),
        N("Loop", ["n", "t", "x"], ["l"], body=body),
        N("MatMul", ["l", "wo"], ["y"]),
    ],
    [vi("x", [1, 8])],
    [vi("y", [1, 2])],
    [w("wl", 8, 8), w("wo", 8, 2)],
)
# F3: -1 as an extent (Paddle)
save("minus_one", convs("x", "y"), [vi("x", [-1, 3, 16, 16])], [vi("y", [-1, 4, 16, 16])], ws())
save("minus_one_hw", convs("x", "y"), [vi("x", [-1, 3, -1, -1])], [vi("y", [-1, 4, -1, -1])], ws())
# F4: weights as Constant nodes
save("const_weights", [*[const(t.name, n.to_array(t)) for t in ws()], *convs("x", "y")], [X], [Y])


# F5: Caffe's Scale after a batch norm without its own scale
def bn(x, y, p, scale):
    i = [
        n.from_array(
            np.ones(8, "f4") if not scale else rng.standard_normal(8).astype("f4"), p + "g"
        ),
        n.from_array(np.zeros(8, "f4"), p + "z"),
        n.from_array(np.zeros(8, "f4"), p + "m"),
        n.from_array(np.ones(8, "f4"), p + "v"),
    ]
    return N("BatchNormalization", [x, p + "g", p + "z", p + "m", p + "v"], [y]), i


b, i = bn("h", "r0", "q", False)
save(
    "caffe_scale",
    [
        N("Conv", ["x", "w1"], ["h"], pads=[1] * 4),
        b,
        N("Mul", ["r0", "sc"], ["r1"]),
        N("Add", ["r1", "sh"], ["r2"]),
        N("Relu", ["r2"], ["r"]),
        N("Conv", ["r", "w2", "b2"], ["y"], pads=[1] * 4),
    ],
    [X],
    [Y],
    [*ws(), *i, w("sc", 8, 1, 1), w("sh", 8, 1, 1)],
)
b, i = bn("h", "r2", "q", True)
save(
    "plain_bn",
    [
        N("Conv", ["x", "w1"], ["h"], pads=[1] * 4),
        b,
        N("Relu", ["r2"], ["r"]),
        N("Conv", ["r", "w2", "b2"], ["y"], pads=[1] * 4),
    ],
    [X],
    [Y],
    [*ws(), *i],
)
# F6: bias of a convolution as an Add of (1,C,1,1) (Paddle, MXNet, TF)
save(
    "bias_add",
    [
        N("Conv", ["x", "w1"], ["h0"], pads=[1] * 4),
        N("Add", ["h0", "ba"], ["h"]),
        N("Relu", ["h"], ["r"]),
        N("Conv", ["r", "w2", "b2"], ["y"], pads=[1] * 4),
    ],
    [X],
    [Y],
    [*ws(), w("ba", 1, 8, 1, 1)],
)
# F6b the vector (C,) reshaped to (1,C,1,1) first, as paddle2onnx writes it
save(
    "bias_reshaped",
    [
        N("Conv", ["x", "w1"], ["h0"], pads=[1] * 4),
        const("sh", np.array([1, 8, 1, 1], dtype="i8")),
        N("Reshape", ["b1", "sh"], ["ba"]),
        N("Add", ["h0", "ba"], ["h"]),
        N("Relu", ["h"], ["r"]),
        N("Conv", ["r", "w2", "b2"], ["y"], pads=[1] * 4),
    ],
    [X],
    [Y],
    ws(),
)
# F7: bias quantised while the model runs: Floor(bias / (scale of x * scale of w))
q = n.from_array(rng.integers(0, 255, (8, 3, 3, 3)).astype("u1"), "wq")
save(
    "bias_over_scale",
    [
        N("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"]),
        N("ConvInteger", ["xq", "wq", "xz"], ["ci"], pads=[1] * 4),
        N("Cast", ["ci"], ["cf"], to=1),
        N("Mul", ["xs", "wsc"], ["sc"]),
        N("Div", ["b1", "sc"], ["bd"]),
        N("Floor", ["bd"], ["bf"]),
        const("sh", np.array([1, 8, 1, 1], dtype="i8")),
        N("Reshape", ["bf", "sh"], ["br"]),
        N("Add", ["cf", "br"], ["s"]),
        N("Mul", ["s", "sc"], ["h"]),
        N("Relu", ["h"], ["r"]),
        N("Conv", ["r", "w2", "b2"], ["y"], pads=[1] * 4),
    ],
    [X],
    [Y],
    [q, n.from_array(np.array([0.1], "f4"), "wsc"), *ws()[1:]],
)
# F8: onnxruntime's fused operators
D = 16
INS = [vi("x", [1, 5, D])]
OUTS = [vi("y", [1, 5, D])]
A = [
    w("wqkv", D, 3 * D),
    w("bqkv", 3 * D),
    w("wo", D, D),
    w("bo", D),
    w("g", D),
    w("be", D),
    w("wf", D, 4 * D),
    w("bf", 4 * D),
    w("wg", 4 * D, D),
    w("bg", D),
]
save(
    "ort_attention",
    [
        N("Attention", ["x", "wqkv", "bqkv"], ["a"], domain="com.microsoft", num_heads=4),
        N("MatMul", ["a", "wo"], ["o"]),
        N("SkipLayerNormalization", ["o", "x", "g", "be", "bo"], ["s"], domain="com.microsoft"),
        N("MatMul", ["s", "wf"], ["f"]),
        N("BiasGelu", ["f", "bf"], ["ge"], domain="com.microsoft"),
        N("MatMul", ["ge", "wg"], ["gg"]),
        N("SkipLayerNormalization", ["gg", "s", "g", "be", "bg"], ["y"], domain="com.microsoft"),
    ],
    INS,
    OUTS,
    A,
    extra=[("com.microsoft", 1)],
)
save(
    "ort_fused_conv",
    [
        N(
            "FusedConv",
            ["x", "w1", "b1"],
            ["r"],
            domain="com.microsoft",
            activation="Relu",
            pads=[1] * 4,
        ),
        N("Conv", ["r", "w2", "b2"], ["y"], pads=[1] * 4),
    ],
    [X],
    [Y],
    ws(),
    extra=[("com.microsoft", 1)],
)
save(
    "ort_matmul_nbits",
    [
        N(
            "MatMulNBits",
            ["x", "wq", "qs"],
            ["h"],
            domain="com.microsoft",
            K=16,
            N=64,
            bits=4,
            block_size=16,
        ),
        N("Gelu", ["h"], ["g"], domain="com.microsoft"),
        N("MatMul", ["g", "wg"], ["y"]),
    ],
    INS,
    OUTS,
    [n.from_array(np.zeros((64, 1, 8), "u1"), "wq"), w("qs", 64), w("wg", 64, 16)],
    extra=[("com.microsoft", 1)],
)
save(
    "ort_gqa",
    [
        N("MatMul", ["x", "wqkv"], ["qkv"]),
        N(
            "GroupQueryAttention",
            ["qkv", "", "", "pk", "pv", "sl", "tl", "c", "s"],
            ["a", "nk", "nv"],
            domain="com.microsoft",
            num_heads=4,
            kv_num_heads=4,
            do_rotary=1,
        ),
        N("MatMul", ["a", "wo"], ["o"]),
        N("SkipSimplifiedLayerNormalization", ["o", "x", "g"], ["y"], domain="com.microsoft"),
    ],
    [
        *INS,
        vi("pk", [1, 4, 0, 4]),
        vi("pv", [1, 4, 0, 4]),
        vi("sl", [1, 1], T.INT32),
        vi("tl", [], T.INT32),
    ],
    [*OUTS, vi("nk", [1, 4, 5, 4]), vi("nv", [1, 4, 5, 4])],
    [*A, w("c", 16, 2), w("s", 16, 2)],
    extra=[("com.microsoft", 1)],
)
# F9: layer norm as tf2onnx and flax write it: x*k + (b - mean*k), k = g * rsqrt(var)
save(
    "ln_flax",
    [
        N("ReduceMean", ["x"], ["m"], axes=[-1], keepdims=1),
        N("Mul", ["x", "x"], ["xx"]),
        N("ReduceMean", ["xx"], ["mm"], axes=[-1], keepdims=1),
        N("Mul", ["m", "m"], ["m2"]),
        N("Sub", ["mm", "m2"], ["v"]),
        N("Add", ["v", "eps"], ["ve"]),
        N("Sqrt", ["ve"], ["sd"]),
        N("Reciprocal", ["sd"], ["rs"]),
        N("Mul", ["rs", "g"], ["k"]),
        N("Mul", ["x", "k"], ["xk"]),
        N("Mul", ["m", "k"], ["mk"]),
        N("Sub", ["be", "mk"], ["b2"]),
        N("Add", ["xk", "b2"], ["ln"]),
        N("MatMul", ["ln", "wo"], ["y"]),
    ],
    INS,
    OUTS,
    [n.from_array(np.array(1e-6, "f4"), "eps"), w("g", D), w("be", D), w("wo", D, D)],
)
save(
    "ln_op",
    [N("LayerNormalization", ["x", "g", "be"], ["ln"], axis=-1), N("MatMul", ["ln", "wo"], ["y"])],
    INS,
    OUTS,
    [w("g", D), w("be", D), w("wo", D, D)],
)
# F10: softmax at the end
save(
    "with_softmax",
    [
        *convs("x", "z"),
        N("GlobalAveragePool", ["z"], ["p"]),
        N("Flatten", ["p"], ["f"]),
        N("Softmax", ["f"], ["y"]),
    ],
    [X],
    [vi("y", [1, 4])],
    ws(),
)
save(
    "no_softmax",
    [*convs("x", "z"), N("GlobalAveragePool", ["z"], ["p"]), N("Flatten", ["p"], ["y"])],
    [X],
    [vi("y", [1, 4])],
    ws(),
)
# F11: BatchNormalization of five outputs, training-mode Dropout with mask: legal old opsets
save(
    "old_dropout",
    [*convs("x", "z"), N("Dropout", ["z"], ["y", "mask"], ratio=0.5)],
    [X],
    [Y],
    ws(),
    opset=9,
)
# F12: Unsqueeze of a Gather of Shape in opset 11/12 (dynamic LSTM state)
save(
    "unsqueeze11",
    [
        N("Shape", ["x"], ["s"]),
        const("i0", np.array(0, dtype="i8")),
        N("Gather", ["s", "i0"], ["b"], axis=0),
        N("Unsqueeze", ["b"], ["u"], axes=[0]),
        const("m1", np.array([-1], dtype="i8")),
        N("Concat", ["u", "m1"], ["sh"], axis=0),
        N("Reshape", ["x", "sh"], ["f"]),
        N("Gemm", ["f", "wz", "bz"], ["y"], transB=1),
    ],
    [vi("x", ["N", 3, 4, 4])],
    [vi("y", ["N", 5])],
    [w("wz", 5, 48), w("bz", 5)],
    opset=11,
)
# F13 sequences
save(
    "sequence",
    [
        N("SplitToSequence", ["x"], ["s"], axis=1),
        const("i0", np.array(0, dtype="i8")),
        const("i1", np.array(1, dtype="i8")),
        N("SequenceAt", ["s", "i0"], ["a"]),
        N("SequenceAt", ["s", "i1"], ["b"]),
        N("Add", ["a", "b"], ["c"]),
        N("Conv", ["c", "wx"], ["y"]),
    ],
    [X],
    [vi("y", [1, 4, 16, 16])],
    [w("wx", 4, 1, 1, 1)],
)
# F14: raw audio: a window of 512 samples over an open extent
save(
    "short_audio",
    [
        N("Unsqueeze", ["x", "ax"], ["u"]),
        N("Conv", ["u", "wk"], ["h"], strides=[160]),
        N("Relu", ["h"], ["y"]),
    ],
    [vi("x", ["batch", "samples"])],
    [vi("y", ["batch", 32, "frames"])],
    [n.from_array(np.array([1], dtype="i8"), "ax"), w("wk", 32, 1, 512)],
)
# F15: old Clip with attributes on a number (opset < 11), old Unsqueeze: not computed
