"""The operator vocabulary: what a node of a computational graph may be.

Canonical classes have fixed ids, in the order of ``OPS``. The order is part of every
fingerprint: append, never insert. An operator outside the vocabulary keeps an identity of its
own through a hashed id, so two different unknown operators stay different, and is counted and
reported by whoever captured it.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

OPS: tuple[str, ...] = (
    # sources
    "input",
    # layers with weights
    "conv", "conv_grouped", "conv_depthwise", "conv_transpose", "deform_conv", "linear",
    "bilinear", "embedding", "lstm", "gru", "rnn",
    # products
    "matmul", "attention", "outer",
    # norms
    "batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm", "response_norm",
    "l2_norm",
    # activations
    "relu", "relu6", "leaky_relu", "prelu", "elu", "selu", "celu", "gelu", "silu", "mish",
    "sigmoid", "log_sigmoid", "tanh", "hard_swish", "hard_sigmoid", "hard_tanh", "softplus",
    "softsign", "glu", "softmax", "log_softmax", "threshold", "erf",
    # arithmetic
    "add", "sub", "mul", "div", "neg", "reciprocal", "pow", "sqrt", "rsqrt", "exp", "log", "abs",
    "sign", "round", "clamp", "maximum", "minimum", "remainder", "sin", "cos", "tan", "atan",
    # decisions
    "compare", "logical", "where", "masked_fill",
    # reductions
    "sum", "mean", "prod", "var", "max", "min", "logsumexp", "argmax", "sort", "topk", "cumsum",
    # pooling and resampling
    "max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool", "upsample",
    "pixel_shuffle", "grid_sample", "unfold", "fold",
    # moving values
    "concat", "split", "slice", "index", "gather", "scatter", "roll", "flip", "pad", "repeat",
    "tril", "triu", "diagonal",
    # detection
    "nms", "roi_align",
    # signals and linear algebra
    "fft", "ifft", "stft", "linalg", "distance", "interpolate_other",
    # randomness that survives into inference
    "random",
    # operations of a NAS cell, as the DARTS space names them
    "skip_connect", "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5",
    "max_pool_3x3", "avg_pool_3x3",
    # a function that stays opaque on purpose
    "ctc", "state_space", "quantize", "dequantize",
    # reductions met later
    "vector_norm",
    # positions turned into query and key
    "rotary",
)  # fmt: skip

ATTRIBUTES: tuple[str, ...] = (
    "kernel",  # largest extent of the window, 0 where there is none
    "kernel_shape",  # 0 no window, 1 square, 2 wide (1 x k), 3 tall (k x 1)
    "stride",
    "dilation",
    "rank",  # spatial dimensions of the window: 1, 2 or 3
    "channel_ratio",  # round(4 log2(out / in)) of a layer with weights
    "heads",
    "parameter_operands",  # learned tensors read directly: a scale, a token, a bias
    "constant_operands",  # buffers, masks and positions read directly
)

FIRST_HASHED_ID = 1024
MAX_OP_ID = 65_535
UNKNOWN_BUCKETS = 32
FEATURE_DIM = len(OPS) + UNKNOWN_BUCKETS

_ID_OF = {name: op_id for op_id, name in enumerate(OPS)}

# Operators whose operands have no order: a + b is b + a.
COMMUTATIVE_IDS: frozenset[int] = frozenset(
    _ID_OF[name] for name in ("add", "mul", "maximum", "minimum", "logical")
)


def op_id(name: str) -> int:
    """The id of an operator class; a name outside the vocabulary gets its hashed id."""
    known = _ID_OF.get(name)
    if known is not None:
        return known
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return FIRST_HASHED_ID + int.from_bytes(digest, "big") % (MAX_OP_ID + 1 - FIRST_HASHED_ID)


def op_name(identifier: int) -> str:
    """The class behind an id; hashed ids print as ``unknown:<id>``."""
    return OPS[identifier] if identifier < len(OPS) else f"unknown:{identifier}"


def is_known(identifier: int) -> bool:
    """Whether the id is one of the vocabulary or a hashed one; others belong to no operator."""
    return 0 <= identifier < len(OPS) or FIRST_HASHED_ID <= identifier <= MAX_OP_ID


def one_hot_columns(op_ids: NDArray[np.uint16], width: int = FEATURE_DIM) -> NDArray[np.int64]:
    """Column of each operator in a one-hot encoding.

    Args:
        op_ids: Shape (nodes,).
        width: Of the encoding; that of an older vocabulary for who learned with it.

    Returns:
        Shape (nodes,). Hashed ids, and operators that came after the vocabulary of this width,
        share ``UNKNOWN_BUCKETS`` columns behind it.
    """
    ids, known = op_ids.astype(np.int64), width - UNKNOWN_BUCKETS
    return np.where(ids < known, ids, known + ids % UNKNOWN_BUCKETS)
