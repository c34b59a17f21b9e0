"""The operator vocabulary: what a node of a computational graph may be.

Every class is one row of ``OPERATORS``: its name and its traits. All other tables of operators
(layers, norms, operators that begin a head) are derived from these rows, so that a new class is one
row. Ids are the places in the table. They are part of every fingerprint: append rows, never insert.
An operator outside the vocabulary has a hashed id, so that two different unknown operators stay
different; capture counts and reports it.
"""

import hashlib
from enum import Flag, auto
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Trait(Flag):
    """Properties of an operator class.

    Attributes:
        WEIGHTED: A layer that makes new features with learned weights of its own.
        OWN_VECTORS: Has learned vectors or statistics of its own, but makes no new features.
        NORM: Normalises its source.
        ACTIVATION: A function of each number by itself, as stands between two layers.
        ARITHMETIC: With one operand: a scale, a shift or a bias that is written out.
        MAKER: Gives features their form (`nar.answers.roles`); every norm does so as well.
        BEGINS_HEAD: Pools, picks or projects features, as the heads of networks begin.
        CONVOLVES: Makes the design that it occurs in a convolutional one.
        ATTENDS: Makes the design that it occurs in an attentional one.
        FOLDS_NORM: A linear layer that takes in the batch norm behind it when it is deployed.
        MERGES_BRANCHES: Parallel layers of this class, and a shortcut, are deployed as one layer.
        SEVERAL_VALUES: Gives several values; two readers may read different values.
        POOLS_TO_SIZE: Pools to an extent that is given, whatever the extent of its source.
        ON_POOLED: Stands between a pooling to one place and a layer, and keeps the one place.
        ON_LEARNED: Stays an operator where all its operands are learned, as every layer with
            weights does; the results of other operators on parameters alone are parameters.
        COMMUTATIVE: Its operands have no order: a + b is b + a.
    """

    WEIGHTED = auto()
    OWN_VECTORS = auto()
    NORM = auto()
    ACTIVATION = auto()
    ARITHMETIC = auto()
    MAKER = auto()
    BEGINS_HEAD = auto()
    CONVOLVES = auto()
    ATTENDS = auto()
    FOLDS_NORM = auto()
    MERGES_BRANCHES = auto()
    SEVERAL_VALUES = auto()
    POOLS_TO_SIZE = auto()
    ON_POOLED = auto()
    ON_LEARNED = auto()
    COMMUTATIVE = auto()


class Op(NamedTuple):
    """An operator class: its name and its traits."""

    name: str
    traits: Trait = Trait(0)


T: Final = Trait  # a row of the table fits on a line

OPERATORS: Final[tuple[Op, ...]] = (
    # Sources.
    Op("input"),
    # Layers with weights.
    Op("conv", T.WEIGHTED | T.CONVOLVES | T.FOLDS_NORM | T.MERGES_BRANCHES),
    Op("conv_grouped", T.WEIGHTED | T.CONVOLVES | T.FOLDS_NORM | T.MERGES_BRANCHES),
    Op("conv_depthwise", T.WEIGHTED | T.CONVOLVES | T.FOLDS_NORM | T.MERGES_BRANCHES),
    Op("conv_transpose", T.WEIGHTED | T.CONVOLVES | T.FOLDS_NORM),
    Op("deform_conv", T.WEIGHTED | T.CONVOLVES),
    Op("linear", T.WEIGHTED | T.ON_POOLED | T.BEGINS_HEAD | T.FOLDS_NORM),
    Op("bilinear", T.WEIGHTED),
    Op("embedding", T.WEIGHTED),
    Op("lstm", T.WEIGHTED | T.MAKER | T.SEVERAL_VALUES),
    Op("gru", T.WEIGHTED | T.MAKER | T.SEVERAL_VALUES),
    Op("rnn", T.WEIGHTED | T.MAKER | T.SEVERAL_VALUES),
    # Products.
    Op("matmul"),
    Op("attention", T.MAKER | T.ON_LEARNED | T.ATTENDS),
    Op("outer"),
    # Norms.
    Op("batch_norm", T.NORM | T.OWN_VECTORS | T.ON_POOLED),
    Op("layer_norm", T.NORM | T.OWN_VECTORS | T.ON_LEARNED | T.ON_POOLED),
    Op("rms_norm", T.NORM | T.OWN_VECTORS | T.ON_LEARNED),
    Op("group_norm", T.NORM | T.OWN_VECTORS | T.ON_LEARNED),
    Op("instance_norm", T.NORM | T.OWN_VECTORS),
    Op("response_norm", T.NORM),
    Op("l2_norm", T.NORM),
    # Activations.
    Op("relu", T.ACTIVATION | T.MAKER | T.ON_POOLED),
    Op("relu6", T.ACTIVATION | T.MAKER | T.ON_POOLED),
    Op("leaky_relu", T.ACTIVATION | T.MAKER | T.ON_POOLED),
    Op("prelu", T.ACTIVATION | T.MAKER | T.OWN_VECTORS | T.ON_POOLED),
    Op("elu", T.ACTIVATION | T.MAKER),
    Op("selu", T.ACTIVATION | T.MAKER),
    Op("celu", T.ACTIVATION | T.MAKER),
    Op("gelu", T.ACTIVATION | T.MAKER | T.ON_POOLED),
    Op("silu", T.ACTIVATION | T.MAKER | T.ON_POOLED),
    Op("mish", T.ACTIVATION | T.MAKER | T.ON_POOLED),
    Op("sigmoid", T.ACTIVATION | T.ON_POOLED),
    Op("log_sigmoid", T.ACTIVATION),
    Op("tanh", T.ACTIVATION | T.ON_POOLED),
    Op("hard_swish", T.ACTIVATION | T.MAKER | T.ON_POOLED),
    Op("hard_sigmoid", T.ACTIVATION | T.ON_POOLED),
    Op("hard_tanh", T.ACTIVATION),
    Op("softplus", T.ACTIVATION),
    Op("softsign", T.ACTIVATION),
    Op("glu", T.MAKER),
    Op("softmax"),
    Op("log_softmax"),
    Op("threshold", T.ACTIVATION),
    Op("erf", T.ACTIVATION),
    # Arithmetic.
    Op("add", T.ARITHMETIC | T.COMMUTATIVE),
    Op("sub", T.ARITHMETIC),
    Op("mul", T.ARITHMETIC | T.COMMUTATIVE),
    Op("div", T.ARITHMETIC),
    Op("neg", T.ARITHMETIC),
    Op("reciprocal", T.ARITHMETIC),
    Op("pow", T.ARITHMETIC),
    Op("sqrt", T.ARITHMETIC),
    Op("rsqrt", T.ARITHMETIC),
    Op("exp", T.ARITHMETIC),
    Op("log", T.ARITHMETIC),
    Op("abs", T.ARITHMETIC),
    Op("sign", T.ARITHMETIC),
    Op("round", T.ARITHMETIC),
    Op("clamp", T.ARITHMETIC),
    Op("maximum", T.ARITHMETIC | T.COMMUTATIVE),
    Op("minimum", T.ARITHMETIC | T.COMMUTATIVE),
    Op("remainder"),
    Op("sin"),
    Op("cos"),
    Op("tan"),
    Op("atan"),
    # Decisions.
    Op("compare"),
    Op("logical", T.COMMUTATIVE),
    Op("where"),
    Op("masked_fill"),
    # Reductions.
    Op("sum", T.BEGINS_HEAD),
    Op("mean", T.BEGINS_HEAD),
    Op("prod"),
    Op("var", T.SEVERAL_VALUES),
    Op("max", T.BEGINS_HEAD | T.SEVERAL_VALUES),
    Op("min"),
    Op("logsumexp"),
    Op("argmax"),
    Op("sort", T.SEVERAL_VALUES),
    Op("topk", T.SEVERAL_VALUES),
    Op("cumsum"),
    # Pooling and resampling.
    Op("max_pool"),
    Op("avg_pool"),
    Op("adaptive_avg_pool", T.BEGINS_HEAD | T.POOLS_TO_SIZE),
    Op("adaptive_max_pool", T.BEGINS_HEAD | T.POOLS_TO_SIZE),
    Op("lp_pool"),
    Op("upsample"),
    Op("pixel_shuffle"),
    Op("grid_sample"),
    Op("unfold"),
    Op("fold"),
    # Moving values.
    Op("concat"),
    Op("split", T.BEGINS_HEAD | T.SEVERAL_VALUES),
    Op("slice", T.BEGINS_HEAD),
    Op("index", T.BEGINS_HEAD),
    Op("gather", T.BEGINS_HEAD),
    Op("scatter"),
    Op("roll"),
    Op("flip"),
    Op("pad"),
    Op("repeat"),
    Op("tril"),
    Op("triu"),
    Op("diagonal"),
    # Detection.
    Op("nms"),
    Op("roi_align"),
    # Signals and linear algebra.
    Op("fft"),
    Op("ifft"),
    Op("stft"),
    Op("linalg"),
    Op("distance"),
    Op("interpolate_other"),
    # Randomness that survives into inference.
    Op("random"),
    # Operations of a NAS cell, as the DARTS space names them.
    Op("skip_connect"),
    Op("sep_conv_3x3", T.CONVOLVES),
    Op("sep_conv_5x5", T.CONVOLVES),
    Op("dil_conv_3x3", T.CONVOLVES),
    Op("dil_conv_5x5", T.CONVOLVES),
    Op("max_pool_3x3"),
    Op("avg_pool_3x3"),
    # A function that stays opaque on purpose.
    Op("ctc"),
    Op("state_space", T.MAKER),
    Op("quantize"),
    Op("dequantize"),
    # Reductions met later.
    Op("vector_norm"),
    # Positions turned into query and key.
    Op("rotary"),
)

OPS: tuple[str, ...] = tuple(operator.name for operator in OPERATORS)

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

# Chosen: room for a vocabulary seven times as large; hashed ids never meet ids of the table.
FIRST_HASHED_ID = 1024
MAX_OP_ID = 65_535  # the largest uint16, the type of ids in a graph
# Chosen: columns that unknown operators share. A graph has few unknown operators, and each column
# costs weights.
UNKNOWN_BUCKETS = 32
FEATURE_DIM = len(OPS) + UNKNOWN_BUCKETS

_TRAITS = np.array([operator.traits.value for operator in OPERATORS])
_ID_OF = {name: op_id for op_id, name in enumerate(OPS)}


def op_id(name: str) -> int:
    """The id of an operator class; a name outside the vocabulary gets its hashed id."""
    known = _ID_OF.get(name)
    if known is not None:
        return known
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return FIRST_HASHED_ID + int.from_bytes(digest, "big") % (MAX_OP_ID + 1 - FIRST_HASHED_ID)


def with_any(traits: Trait) -> frozenset[str]:
    """Names of the operators with any of these traits.

    Example:
        >>> sorted(with_any(Trait.POOLS_TO_SIZE | Trait.ATTENDS))
        ['adaptive_avg_pool', 'adaptive_max_pool', 'attention']
    """
    return frozenset(map(OPS.__getitem__, ids_with_any(traits)))


def ids_with_any(traits: Trait) -> frozenset[int]:
    """Ids of the operators with any of these traits."""
    return frozenset(np.flatnonzero(mask_of(traits)).tolist())


def mask_of(traits: Trait) -> NDArray[np.bool_]:
    """Whether each possible id has any of these traits: shape (MAX_OP_ID + 1,).

    Index it with the ids of a graph: ``mask_of(Trait.NORM)[graph.op_ids]``.
    """
    mask = np.zeros(MAX_OP_ID + 1, dtype=np.bool_)
    mask[: len(OPS)] = _TRAITS & traits.value
    return mask


def op_name(identifier: int) -> str:
    """The class behind an id; hashed ids print as ``unknown:<id>``."""
    return OPS[identifier] if identifier < len(OPS) else f"unknown:{identifier}"


def is_known(identifier: int) -> bool:
    """Whether an id is in the vocabulary or hashed; other ids belong to no operator."""
    return 0 <= identifier < len(OPS) or FIRST_HASHED_ID <= identifier <= MAX_OP_ID


def one_hot_columns(op_ids: NDArray[np.uint16], width: int = FEATURE_DIM) -> NDArray[np.int64]:
    """Column of each operator in a one-hot encoding.

    Args:
        op_ids: Shape (nodes,).
        width: Width of the encoding; encoders of an older vocabulary keep its width.

    Returns:
        Shape (nodes,). Hashed ids, and operators that came after the vocabulary of this width,
        share ``UNKNOWN_BUCKETS`` columns behind it.
    """
    ids, known = op_ids.astype(np.int64), width - UNKNOWN_BUCKETS
    return np.where(ids < known, ids, known + ids % UNKNOWN_BUCKETS)
