"""ATen operators by name, and what each becomes in a trace. Tables only: `emitters` is the code."""

from nar.capture.forward import emitters as emit
from nar.capture.forward.emitters import Table

# Another view of the same numbers: shape, stride or axis order.
VIEWS = (
    "_reshape_alias _reshape_copy _unsafe_view alias alias_copy as_strided as_strided_copy "
    "broadcast_to expand expand_as expand_copy flatten matrix_H mH mT movedim permute permute_copy "
    "ravel reshape reshape_as squeeze squeeze_copy swapaxes swapdims t t_copy transpose "
    "transpose_copy unflatten unsqueeze unsqueeze_copy view view_as view_as_complex "
    "view_as_complex_copy view_as_real view_as_real_copy view_copy atleast_1d atleast_2d atleast_3d"
)
# The same numbers elsewhere: another memory, type, layout or place in the autograd graph.
COPIES = (
    "_conj _conj_physical _lazy_clone _to_copy _to_dense clone complex_copy conj conj_physical "
    "contiguous copy detach detach_copy lift lift_fresh lift_fresh_copy positive real resolve_conj "
    "resolve_neg to to_dense type_as _neg_view"
)
# Operators that do nothing outside training, or only check.
INERT = (
    "_assert_async _assert_tensor_metadata _functional_assert_async alpha_dropout dropout "
    "feature_alpha_dropout feature_dropout identity native_dropout nan_to_num "
    "_pack_padded_sequence _pad_packed_sequence set _to_sparse _coalesce _coalesced _values values"
)
# Operators whose result holds nothing of the tensors that they read, or that read numbers only.
CONSTANTS = (
    "_efficientzerotensor arange bartlett_window blackman_window empty empty_like empty_permuted "
    "empty_strided eye fft_fftfreq fft_rfftfreq fill full full_like hamming_window hann_window "
    "kaiser_window linspace logspace new_empty new_empty_strided new_full new_ones new_zeros "
    "normal ones ones_like rand rand_like randint randint_like randn randn_like randperm range "
    "_indices indices crow_indices col_indices _dimI sparse_dim dense_dim "
    "scalar_tensor tril_indices triu_indices zero zeros zeros_like uniform exponential log_normal "
    "cauchy geometric random"
)
ARITHMETIC = {
    "add": "add", "sub": "sub", "rsub": "sub", "div": "div", "true_divide": "div",
    "floor_divide": "div", "addcmul": "add", "addcdiv": "add", "lerp": "add", "maximum": "maximum",
    "minimum": "minimum", "fmax": "maximum", "fmin": "minimum", "remainder": "remainder",
    "fmod": "remainder", "atan2": "atan", "divide": "div", "subtract": "sub",
    "hypot": "sqrt", "xlogy": "mul", "logaddexp": "logsumexp", "addmv": "add", "addr": "add",
    "__or__": "logical", "__xor__": "logical", "exp2": "exp", "ldexp": "mul",
}  # fmt: skip
# ATen name -> operator class. Each makes one operation that reads every tensor argument.
NODES = {
    "relu": "relu", "relu6": "relu6", "leaky_relu": "leaky_relu", "prelu": "prelu",
    "_prelu_kernel": "prelu", "rrelu": "leaky_relu", "rrelu_with_noise": "leaky_relu",
    "elu": "elu", "selu": "selu", "celu": "celu", "gelu": "gelu", "silu": "silu", "mish": "mish",
    "sigmoid": "sigmoid", "special_expit": "sigmoid", "log_sigmoid_forward": "log_sigmoid",
    "log_sigmoid": "log_sigmoid", "tanh": "tanh", "hardswish": "hard_swish",
    "hardsigmoid": "hard_sigmoid", "softplus": "softplus", "softsign": "softsign", "glu": "glu",
    "threshold": "threshold", "hardshrink": "threshold", "softshrink": "threshold", "erf": "erf",
    "special_erf": "erf", "erfinv": "erf", "neg": "neg", "negative": "neg",
    "reciprocal": "reciprocal", "sqrt": "sqrt", "rsqrt": "rsqrt", "exp": "exp", "expm1": "exp",
    "log": "log", "log1p": "log", "log2": "log", "log10": "log", "abs": "abs", "absolute": "abs",
    "square": "pow", "sign": "sign", "sgn": "sign", "floor": "round", "ceil": "round",
    "round": "round", "trunc": "round", "frac": "remainder", "sin": "sin", "cos": "cos",
    "sinh": "sin", "cosh": "cos", "tan": "tan", "atan": "atan", "asin": "atan", "acos": "atan",
    "asinh": "atan", "acosh": "atan", "atanh": "atan",
    "angle": "atan", "special_i0": "exp", "logit": "log", "lgamma": "log", "digamma": "log",
    "native_layer_norm": "layer_norm", "layer_norm": "layer_norm", "rms_norm": "rms_norm",
    "_fused_rms_norm": "rms_norm", "native_group_norm": "group_norm", "group_norm": "group_norm",
    "instance_norm": "instance_norm", "local_response_norm": "response_norm",
    "_grouped_mm": "linear", "grouped_mm": "linear",
    "_grouped_linear": "linear", "bilinear": "bilinear", "_trilinear": "bilinear",
    "embedding": "embedding", "_embedding_bag": "embedding", "embedding_bag": "embedding",
    "_embedding_bag_forward_only": "embedding", "ger": "outer", "outer": "outer",
    "where": "where", "masked_fill": "masked_fill", "bucketize": "compare",
    "searchsorted": "compare", "eq": "compare", "ne": "compare", "equal": "compare",
    "isclose": "compare", "isnan": "compare", "isinf": "compare", "isfinite": "compare",
    "isin": "compare",
    "logical_and": "logical", "logical_or": "logical", "logical_xor": "logical",
    "logical_not": "logical", "bitwise_or": "logical",
    "bitwise_xor": "logical", "bitwise_not": "logical", "any": "logical", "all": "logical",
    "_is_all_true": "logical", "_is_any_true": "logical",
    "prod": "prod", "var": "var", "std": "var", "var_mean": "var", "std_mean": "var",
    "max": "max", "min": "min", "amax": "max", "amin": "min", "aminmax": "max", "cummax": "max",
    "cummin": "min",
    "logsumexp": "logsumexp", "_logcumsumexp": "logsumexp", "logcumsumexp": "logsumexp",
    "argmax": "argmax", "argmin": "argmax", "sort": "sort", "argsort": "sort", "msort": "sort",
    "topk": "topk", "kthvalue": "topk", "median": "sort", "nanmedian": "sort", "mode": "sort",
    "cumsum": "cumsum", "cumprod": "cumsum", "bincount": "sum", "histc": "sum",
    "count_nonzero": "sum", "unique_consecutive": "sort", "_unique2": "sort", "unique_dim": "sort",
    "nonzero": "index", "nonzero_static": "index", "masked_select": "index", "index": "index",
    "_unsafe_index": "index", "index_select": "index", "take": "gather", "gather": "gather",
    "take_along_dim": "gather", "scatter": "scatter", "scatter_add": "scatter",
    "scatter_reduce": "scatter", "index_put": "scatter", "_index_put_impl": "scatter",
    "_unsafe_index_put": "scatter", "index_add": "scatter", "index_copy": "scatter",
    "index_fill": "scatter", "index_reduce": "scatter", "masked_scatter": "scatter",
    "put": "scatter", "slice_scatter": "scatter", "select_scatter": "scatter",
    "diagonal_scatter": "scatter",
    "as_strided_scatter": "scatter", "roll": "roll", "flip": "flip", "rot90": "flip",
    "reflection_pad1d": "pad", "reflection_pad2d": "pad", "reflection_pad3d": "pad",
    "replication_pad1d": "pad", "replication_pad2d": "pad", "replication_pad3d": "pad",
    "_pad_circular": "pad",
    "repeat_interleave": "repeat", "tril": "tril", "triu": "triu", "diagonal": "diagonal",
    "diagonal_copy": "diagonal", "diag_embed": "diagonal", "unfold": "unfold",
    "unfold_copy": "unfold", "im2col": "unfold", "col2im": "fold",
    "unfold_backward": "fold", "pixel_shuffle": "pixel_shuffle",
    "pixel_unshuffle": "pixel_shuffle", "channel_shuffle": "pixel_shuffle",
    "native_channel_shuffle": "pixel_shuffle", "grid_sampler": "grid_sample",
    "grid_sampler_2d": "grid_sample", "grid_sampler_3d": "grid_sample",
    "affine_grid_generator": "grid_sample", "upsample_nearest1d": "upsample",
    "upsample_nearest2d": "upsample", "upsample_nearest3d": "upsample",
    "_upsample_nearest_exact1d": "upsample", "_upsample_nearest_exact2d": "upsample",
    "_upsample_nearest_exact3d": "upsample", "upsample_linear1d": "upsample",
    "upsample_bilinear2d": "upsample", "upsample_trilinear3d": "upsample",
    "upsample_bicubic2d": "upsample", "_upsample_bilinear2d_aa": "upsample",
    "_upsample_bicubic2d_aa": "upsample", "_adaptive_avg_pool2d": "adaptive_avg_pool",
    "_adaptive_avg_pool3d": "adaptive_avg_pool", "adaptive_avg_pool1d": "adaptive_avg_pool",
    "adaptive_avg_pool2d": "adaptive_avg_pool", "adaptive_avg_pool3d": "adaptive_avg_pool",
    "adaptive_max_pool1d": "adaptive_max_pool", "adaptive_max_pool2d": "adaptive_max_pool",
    "adaptive_max_pool3d": "adaptive_max_pool", "fractional_max_pool2d": "max_pool",
    "linalg_vector_norm": "vector_norm", "norm": "vector_norm", "_weight_norm": "vector_norm",
    "_weight_norm_interface": "vector_norm", "linalg_inv_ex": "linalg", "linalg_qr": "linalg",
    "linalg_cholesky_ex": "linalg", "linalg_solve_ex": "linalg", "_linalg_solve_ex": "linalg",
    "_linalg_svd": "linalg", "_linalg_eigh": "linalg", "_linalg_det": "linalg",
    "_linalg_slogdet": "linalg", "linalg_eig": "linalg", "linalg_lu_factor_ex": "linalg",
    "linalg_solve_triangular": "linalg", "linalg_cross": "linalg", "linalg_matrix_exp": "linalg",
    "trace": "linalg", "inverse": "linalg", "_cdist_forward": "distance",
    "_euclidean_dist": "distance", "_fft_r2c": "fft", "_fft_c2c": "fft", "_fft_c2r": "ifft",
    "stft": "stft", "istft": "stft", "complex": "concat", "polar": "concat", "imag": "slice",
    "bernoulli": "random", "multinomial": "random", "poisson": "random",
    "_standard_gamma": "random", "_sample_dirichlet": "random", "_ctc_loss": "ctc",
    "deform_conv2d": "deform_conv", "roi_align": "roi_align", "roi_pool": "roi_align",
    "ps_roi_align": "roi_align", "ps_roi_pool": "roi_align",
    "fake_quantize_per_tensor_affine": "quantize",
}  # fmt: skip
# Operators that move parts of a value: transparent where the part is the whole.
PARTS = {
    "slice": "slice", "slice_copy": "slice", "select": "slice", "select_copy": "slice",
    "narrow": "slice", "narrow_copy": "slice", "split": "split", "split_copy": "split",
    "split_with_sizes": "split", "split_with_sizes_copy": "split", "unsafe_split": "split",
    "unsafe_split_with_sizes": "split", "chunk": "split", "unsafe_chunk": "split",
    "tensor_split": "split", "unbind": "split", "unbind_copy": "split",
    "stack": "concat", "repeat": "repeat", "tile": "repeat", "pad": "pad",
}  # fmt: skip
# Each part is a value of its own until the graph is laid out.
SPLITS = frozenset(name for name, operator in PARTS.items() if operator == "split")
POOLS = {
    "max_pool1d": ("max_pool", 1), "max_pool2d": ("max_pool", 2), "max_pool3d": ("max_pool", 3),
    "max_pool1d_with_indices": ("max_pool", 1), "max_pool2d_with_indices": ("max_pool", 2),
    "max_pool3d_with_indices": ("max_pool", 3), "avg_pool1d": ("avg_pool", 1),
    "avg_pool2d": ("avg_pool", 2), "avg_pool3d": ("avg_pool", 3),
    "quantized_max_pool1d": ("max_pool", 1), "quantized_max_pool2d": ("max_pool", 2),
    "quantized_max_pool3d": ("max_pool", 3), "quantized::max_pool2d": ("max_pool", 2),
}  # fmt: skip
PRODUCTS = (
    "mm bmm matmul dot mv vdot inner linalg_matmul addmm baddbmm addbmm _addmm_activation hspmm "
    "_sparse_mm smm _int_mm"
)
ATTENTIONS = (
    "scaled_dot_product_attention _scaled_dot_product_flash_attention "
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention "
    "_scaled_dot_product_cudnn_attention _scaled_dot_product_attention_math "
    "_scaled_dot_product_fused_attention_overrideable"
)
BATCH_NORMS = (
    "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training "
    "cudnn_batch_norm _batch_norm_no_update _batch_norm_with_update batch_norm "
    "_batch_norm_impl_index"
)
CELLS = {"lstm_cell": "lstm", "gru_cell": "gru", "rnn_tanh_cell": "rnn", "rnn_relu_cell": "rnn"}
# The same numbers in fewer bits, and back.
IN_FEWER_BITS = (
    "quantize_per_tensor quantize_per_tensor_dynamic quantize_per_channel dequantize int_repr "
    + " ".join(
        f"quantized_decomposed::{way}_per_{part}"
        for way in ("quantize", "dequantize")
        for part in ("tensor", "channel", "token", "channel_group")
    )
)
BITS = {
    "__and__": "logical", "bitwise_and": "logical", "__lshift__": "mul", "__rshift__": "div",
    "bitwise_left_shift": "mul", "bitwise_right_shift": "div",
}  # fmt: skip
# Operators over numbers of 8 bits, in the namespace ``quantized``, and what each is on floats.
QUANTISED_NODES = {
    "add": "add", "add_scalar": "add", "mul": "mul", "mul_scalar": "mul",
    **{f"batch_norm{rank}": "batch_norm" for rank in ("", "1d", "2d", "3d")},
    "layer_norm": "layer_norm", "group_norm": "group_norm", "instance_norm": "instance_norm",
    "hardswish": "hard_swish", "relu6": "relu6", "leaky_relu": "leaky_relu", "elu": "elu",
    "celu": "celu", "sigmoid": "sigmoid", "prelu": "prelu", "threshold": "threshold",
}  # fmt: skip
# With an activation at once, by the end of the name.
QUANTISED_ENDS = {"": "", "_relu": "relu", "_leaky_relu": "leaky_relu", "_tanh": "tanh"}
CONVOLUTIONS = tuple(f"{kind}{rank}d" for kind in ("conv", "conv_transpose") for rank in (1, 2, 3))
FEW_BITS = "_weight_int4pack_mm _weight_int4pack_mm_for_cpu _weight_int8pack_mm"
RECURRENT = {"lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn", "rnn_relu": "rnn"}


def aten_table() -> Table:
    """ATen name -> emitter."""
    return {
        **dict.fromkeys(f"{VIEWS} {COPIES} {INERT} {IN_FEWER_BITS}".split(), emit.read_through),
        **{name: emit.bits(operator) for name, operator in BITS.items()},
        **dict.fromkeys(FEW_BITS.split(), emit.few_bits),
        **_quantised(),
        **dict.fromkeys(CONSTANTS.split(), emit.constant),
        **{name: emit.arithmetic(operator) for name, operator in ARITHMETIC.items()},
        **{name: emit.node(operator) for name, operator in NODES.items()},
        **{name: emit.part(operator) for name, operator in PARTS.items()},
        **{name: emit.pool(*kind) for name, kind in POOLS.items()},
        **dict.fromkeys(PRODUCTS.split(), emit.product),
        **dict.fromkeys(ATTENTIONS.split(), emit.attention),
        **dict.fromkeys(BATCH_NORMS.split(), emit.batch_norm),
        **{name: emit.recurrent(operator) for name, operator in RECURRENT.items()},
        **dict.fromkeys(("lt", "le", "gt", "ge"), emit.ordered),
        **{name: emit.cell(operator) for name, operator in CELLS.items()},
        "mul": emit.multiplied,
        "multiply": emit.multiplied,
        "pow": emit.power,
        "clamp": emit.clamp,
        "clip": emit.clamp,
        "clamp_min": emit.clamp,
        "clamp_max": emit.clamp,
        "cat": emit.concat,
        "concat": emit.concat,
        "concatenate": emit.concat,
        "constant_pad_nd": emit.pad,
        "glu": emit.glu,
        "hardtanh": emit.hardtanh,
        "convolution": emit.convolution,
        "_convolution": emit.convolution,
        "convolution_overrideable": emit.convolution,
        "linear": emit.linear,
        "_native_multi_head_attention": emit.multi_head,
        "_transformer_encoder_layer_fwd": emit.encoder_layer,
        "_scaled_mm": emit.scaled_product,
        "quantized::linear_dynamic": emit.packed_linear(),
        "quantized::linear_dynamic_fp16": emit.packed_linear(),
        "quantized::linear_relu_dynamic": emit.packed_linear("relu"),
        "quantized_lstm": emit.packed_recurrent("lstm", 4),
        "quantized_gru": emit.packed_recurrent("gru", 3),
        "_sparse_addmm": emit.sparse_product,
        "sspaddmm": emit.product,
        "_sparse_sum": emit.reduction("sum"),
        "_sparse_softmax": emit.reduction("softmax"),
        "_sparse_log_softmax": emit.reduction("log_softmax"),
        "_sparse_coo_tensor_with_dims_and_tensors": emit.last_operand,
        "_sparse_coo_tensor_unsafe": emit.last_operand,
        "_sparse_compressed_tensor_unsafe": emit.last_operand,
        "mean": emit.mean,
        "sum": emit.reduction("sum"),
        "softmax": emit.reduction("softmax"),
        "_softmax": emit.reduction("softmax"),
        "_safe_softmax": emit.reduction("softmax"),
        "log_softmax": emit.reduction("log_softmax"),
        "_log_softmax": emit.reduction("log_softmax"),
        "max_unpool2d": emit.node("upsample"),
        "nms": emit.first_operand("nms"),
    }


def _quantised() -> Table:
    """Operators over numbers of 8 bits: layers with packed weights, and what stands between."""
    ends = QUANTISED_ENDS.items()
    nodes = {
        f"{name}{end}": emit.followed(emit.node(operator), activation)
        for name, operator in QUANTISED_NODES.items()
        for end, activation in ends
    }
    layers = {
        **{f"linear{end}": emit.packed_linear(activation) for end, activation in ends},
        **{
            f"{name}{end}": emit.followed(emit.packed_convolution, activation)
            for name in CONVOLUTIONS
            for end, activation in (*ends, ("_dynamic", ""))
        },
        "embedding_byte": emit.packed_embedding,
        "embedding_4bit": emit.packed_embedding,
    }
    others: Table = {
        "cat": emit.concat,
        "cat_relu": emit.followed(emit.concat, "relu"),
        "matmul": emit.product,
        "softmax": emit.reduction("softmax"),
        "dropout": emit.read_through,
    }
    return {f"quantized::{name}": each for name, each in {**nodes, **layers, **others}.items()}
