"""ONNX operators by name: what each becomes in a trace. `onnx_emitters` does the work."""

from collections.abc import Mapping

from nar.capture.onnx.emitters import (
    EmitOnnx,
    onnx_attention,
    onnx_chain,
    onnx_clip,
    onnx_concat,
    onnx_constant,
    onnx_conv,
    onnx_conv_transpose,
    onnx_einsum,
    onnx_fold,
    onnx_gather,
    onnx_gemm,
    onnx_matmul,
    onnx_node,
    onnx_pad,
    onnx_part,
    onnx_pool,
    onnx_power,
    onnx_quotient,
    onnx_reduction,
    onnx_response_norm,
    onnx_slice,
    onnx_softmax,
    onnx_trilu,
)

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
        **dict.fromkeys(FOLDED.split(), onnx_fold),
        **dict.fromkeys(CONSTANTS.split(), onnx_constant),
        **{name: onnx_node(operator) for name, operator in NODES.items()},
        **{name: onnx_part(operator) for name, operator in PARTS.items()},
        **{name: onnx_reduction(operator) for name, operator in REDUCTIONS.items()},
        "Slice": onnx_slice,
        "Concat": onnx_concat,
        "Pad": onnx_pad,
        "Sum": onnx_chain("add"),
        "Max": onnx_chain("maximum"),
        "Min": onnx_chain("minimum"),
        "Mean": onnx_chain("add"),
        "Div": onnx_quotient,
        "Pow": onnx_power,
        "Clip": onnx_clip,
        "Softmax": onnx_softmax("softmax"),
        "LogSoftmax": onnx_softmax("log_softmax"),
        **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), onnx_matmul),
        "Gemm": onnx_gemm,
        "Einsum": onnx_einsum,
        "LRN": onnx_response_norm,
        **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), onnx_conv),
        "ConvTranspose": onnx_conv_transpose,
        "MaxPool": onnx_pool("max_pool"),
        "AveragePool": onnx_pool("avg_pool"),
        "Gather": onnx_gather,
        "Trilu": onnx_trilu,
        "Attention": onnx_attention,
    }
