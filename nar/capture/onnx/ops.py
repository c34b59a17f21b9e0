"""ONNX operators by name: what each becomes in a trace. `onnx_emitters` does the work."""

from collections.abc import Mapping

from nar.capture.onnx import emitters as emit
from nar.capture.onnx.emitters import EmitOnnx

# The same numbers in another shape, order, type or place; dropout outside training.
FOLDED = (
    "Identity Reshape Transpose Squeeze Unsqueeze Flatten Cast CastLike Expand Dropout BitCast "
    "QuantizeLinear DequantizeLinear DynamicQuantizeLinear"  # a number in fewer bits is the same
)
# Results that hold nothing of what they read.
CONSTANTS = (
    "Shape Size ConstantOfShape Range EyeLike RandomNormal RandomUniform RandomNormalLike "
    "RandomUniformLike HannWindow HammingWindow BlackmanWindow"
)
NODES = {
    "Relu": "relu", "LeakyRelu": "leaky_relu", "PRelu": "prelu", "Elu": "elu", "Selu": "selu",
    "Celu": "celu", "Gelu": "gelu", "Swish": "silu", "Mish": "mish", "Sigmoid": "sigmoid",
    "Tanh": "tanh", "HardSwish": "hard_swish", "HardSigmoid": "hard_sigmoid",
    "Softplus": "softplus", "Softsign": "softsign", "ThresholdedRelu": "threshold",
    "Shrink": "threshold", "Erf": "erf", "Neg": "neg", "Reciprocal": "reciprocal", "Sqrt": "sqrt",
    "Exp": "exp", "Log": "log", "Abs": "abs", "Sign": "sign", "Floor": "round", "Ceil": "round",
    "Round": "round", "Sin": "sin", "Cos": "cos", "Sinh": "sin", "Cosh": "cos", "Tan": "tan",
    "Atan": "atan", "Asin": "atan", "Acos": "atan", "Asinh": "atan", "Acosh": "atan",
    "Atanh": "atan", "Add": "add", "Sub": "sub", "Mul": "mul", "Mod": "remainder",
    "InstanceNormalization": "instance_norm", "LayerNormalization": "layer_norm",
    "GroupNormalization": "group_norm", "RMSNormalization": "rms_norm",
    "SimplifiedLayerNormalization": "rms_norm", "LpNormalization": "l2_norm",
    "MeanVarianceNormalization": "layer_norm", "Where": "where",
    "Equal": "compare", "Greater": "compare", "GreaterOrEqual": "compare", "Less": "compare",
    "LessOrEqual": "compare", "IsNaN": "compare", "IsInf": "compare", "And": "logical",
    "Or": "logical", "Not": "logical", "Xor": "logical", "BitwiseAnd": "logical",
    "BitwiseOr": "logical", "BitwiseXor": "logical", "BitwiseNot": "logical", "ArgMax": "argmax",
    "ArgMin": "argmax", "CumSum": "cumsum", "Unique": "sort", "NonZero": "index",
    "GatherND": "index", "Compress": "index", "GatherElements": "gather",
    "ScatterND": "scatter", "ScatterElements": "scatter", "Scatter": "scatter",
    "TensorScatter": "scatter", "ReverseSequence": "flip", "DepthToSpace": "pixel_shuffle",
    "SpaceToDepth": "pixel_shuffle", "GridSample": "grid_sample", "AffineGrid": "grid_sample",
    "GlobalAveragePool": "adaptive_avg_pool", "GlobalMaxPool": "adaptive_max_pool",
    "GlobalLpPool": "lp_pool", "LpPool": "lp_pool", "MaxUnpool": "upsample",
    "MaxRoiPool": "roi_align", "RoiAlign": "roi_align", "NonMaxSuppression": "nms",
    "DeformConv": "deform_conv", "LSTM": "lstm", "GRU": "gru", "RNN": "rnn", "Det": "linalg",
    "DFT": "fft", "STFT": "stft", "Bernoulli": "random", "Multinomial": "random",
    "Col2Im": "fold", "Hardmax": "argmax", "Compare": "compare", "Roll": "roll",
    "Resize": "upsample", "Upsample": "upsample", "TopK": "topk",
    "BatchNormalization": "batch_norm",
}  # fmt: skip
# Sizes, indices, running statistics, scales and zero points say nothing about the design.
OPERANDS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("Resize", "Upsample", "TopK"), (0,)),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"), (0,)),
    "BatchNormalization": (0, 1, 2), "ConvInteger": (0, 1, 4), "MatMulInteger": (0, 1),
    "QLinearConv": (0, 3, 8), "QLinearMatMul": (0, 3),
}  # fmt: skip
# Whose integer operands are learned numbers, in fewer bits.
QUANTISED = frozenset({
    "DequantizeLinear", "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul",
})  # fmt: skip
# Where a layer reads what it has learned. Files without weights make tensors of that shape there.
WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "Conv": (1, 2), "ConvTranspose": (1, 2), "Gemm": (1, 2), "MatMul": (1,),
    "BatchNormalization": (1, 2),
}  # fmt: skip
PARTS = {
    "Split": "split", "SplitToSequence": "split", "Tile": "repeat",
}  # fmt: skip
REDUCTIONS = {
    "ReduceMean": "mean", "ReduceSum": "sum", "ReduceProd": "prod", "ReduceMax": "max",
    "ReduceMin": "min", "ReduceL1": "vector_norm", "ReduceL2": "vector_norm",
    "ReduceLogSumExp": "logsumexp", "ReduceLogSum": "logsumexp", "ReduceSumSquare": "sum",
}  # fmt: skip


# Each part is a value of its own until the graph is laid out.
SPLITS = frozenset({"Split", "SplitToSequence"})


def onnx_table() -> Mapping[str, EmitOnnx]:
    """ONNX operator type -> emitter."""
    return {
        **dict.fromkeys(FOLDED.split(), emit.onnx_fold),
        **dict.fromkeys(CONSTANTS.split(), emit.onnx_constant),
        **{name: emit.onnx_node(operator) for name, operator in NODES.items()},
        **{name: emit.onnx_part(operator) for name, operator in PARTS.items()},
        **{name: emit.onnx_reduction(operator) for name, operator in REDUCTIONS.items()},
        "Slice": emit.onnx_slice,
        "Concat": emit.onnx_concat,
        "Pad": emit.onnx_pad,
        "Sum": emit.onnx_chain("add"),
        "Max": emit.onnx_chain("maximum"),
        "Min": emit.onnx_chain("minimum"),
        "Mean": emit.onnx_chain("add"),
        "Div": emit.onnx_quotient,
        "Pow": emit.onnx_power,
        "Clip": emit.onnx_clip,
        "Softmax": emit.onnx_softmax("softmax"),
        "LogSoftmax": emit.onnx_softmax("log_softmax"),
        **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), emit.onnx_matmul),
        "Gemm": emit.onnx_gemm,
        "Einsum": emit.onnx_einsum,
        "LRN": emit.onnx_response_norm,
        **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), emit.onnx_conv),
        "ConvTranspose": emit.onnx_conv_transpose,
        "MaxPool": emit.onnx_pool("max_pool"),
        "AveragePool": emit.onnx_pool("avg_pool"),
        "Gather": emit.onnx_gather,
        "Trilu": emit.onnx_trilu,
        "Attention": emit.onnx_attention,
    }
