"""What the layers and the attributes of a module say of its inputs, without running it."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, Final

from torch import Tensor, nn

import nar.capture.torch_internals as internals
from nar.own.inputs.slots import Extents, Kind

RECURRENT: Final = (nn.RNNBase,)
ATTENTION: Final = (
    nn.MultiheadAttention,
    nn.TransformerEncoder,
    nn.TransformerDecoder,
    nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
    nn.Transformer,
)
OVER_SEQUENCES: Final = (*RECURRENT, *ATTENTION)
_BY_AXES: Final = {1: Kind.SERIES, 2: Kind.IMAGE, 3: Kind.VOLUME}
_SEQUENTIAL_NAMES: Final = re.compile(
    r"attention|attn|transformer|mixer|mamba|rmsnorm|expert|moe|slot|routing|\bssm|positional|"
    r"pos_emb"
)

_IMAGE_SIZES: Final = (
    "img_size",
    "image_size",
    "input_size",
    "input_resolution",
    "crop_size",
    "resolution",
    "sample_size",
    "image_resolution",
    "img_resolution",
)
_LENGTHS: Final = (
    "max_len",
    "max_length",
    "max_seq_len",
    "max_seq_length",
    "seq_len",
    "seq_length",
    "sequence_length",
    "context_length",
    "block_size",
    "n_ctx",
    "n_positions",
    "max_position_embeddings",
    "num_tokens_max",
    "ctx_len",
    "max_position",
)
_RATES: Final = ("samplerate", "sample_rate", "sampling_rate")
_SECONDS: Final = ("segment", "segment_seconds", "clip_seconds", "segment_duration")
_NODE_COUNTS: Final = ("num_nodes", "n_nodes", "num_node", "node_num")
_MOST_NODES = 4096  # chosen: an adjacency of them still runs without data in a second
# A count of tokens beyond which a module does something else.
_WINDOWS: Final = re.compile(
    r"^(local_)?(attn_)?(window|bucket|chunk|segment)_(size|len|length)$|^num_\w*tokens(_\w+)?$"
)
_LARGEST_WINDOW = 4096  # tokens; chosen: twice as many run without data in a second
_CONFIGS: Final = ("config", "cfg", "args", "hparams", "params", "configs", "opt")
# Pattern of the name of an input -> attributes that say its width.
_WIDTHS: Final[dict[re.Pattern[str], tuple[str, ...]]] = {
    re.compile(r"pooled|^text_embeds?$"): (
        "pooled_projection_dim",
        "projection_class_embeddings_input_dim",
    ),
    re.compile(r"^(encoder_hidden_states|context|prompt_embeds?|caption)"): (
        "joint_attention_dim",
        "cross_attention_dim",
        "caption_channels",
        "cap_feat_dim",
        "text_embed_dim",
        "text_dim",
        "context_dim",
    ),
    re.compile(r"^(sample|hidden_states|x|latents?)$"): ("in_channels",),
}
# Chosen: a patch is smaller than 28, a hidden width may be larger than 2048.
_SMALLEST_IMAGE, _LARGEST_IMAGE, _SMALLEST_SIDE = 4, 2048, 28
_LONGEST = 10**6  # chosen: a minute of sound has as many samples; more is a count of rows
_DEPTH = 3  # chosen: attributes of deeper children speak of parts of the input


def convolution_axes(layer: nn.Module) -> int | None:
    """Over how many axes a layer is a convolution; None if it is none. Lazy ones have no weight."""
    if not isinstance(layer, internals.AnyConvolution):
        return None
    return len(layer.kernel_size)


def has(module: nn.Module, kinds: type | tuple[type, ...]) -> bool:
    """Whether a module contains a layer of some classes."""
    return any(isinstance(layer, kinds) for layer in module.modules())


def usual_kind(module: nn.Module) -> Kind:
    """The kind that the first layer wants, in the order in which layers were registered."""
    first = next(filter(None, map(_kind_of_layer, module.modules())), None)
    has_images = any(convolution_axes(layer) == 2 for layer in module.modules())
    if first is Kind.IDS:
        return Kind.IMAGE if has_images and not _convolves_words(module) else Kind.IDS
    if first is not Kind.VECTOR:
        return first or Kind.VECTOR
    if has_images:
        return Kind.IMAGE
    if has(module, OVER_SEQUENCES) or _convolves(module, 1):
        return Kind.SEQUENCE
    if has(module, nn.Embedding):
        return Kind.IDS
    return Kind.SEQUENCE if is_sequential(module) else Kind.VECTOR


def wants_time_first(layer: nn.Module | None) -> bool:
    """Whether a layer over sequences wants the time before the batch."""
    holder: Any = layer
    if isinstance(layer, nn.TransformerEncoder | nn.TransformerDecoder):
        holder = layer.layers[0]
    attention = read_attribute(holder, "self_attn")
    return read_attribute(holder if attention is None else attention, "batch_first") is False


def is_sequential(module: nn.Module) -> bool:
    """Whether linear layers of a module run over sequences rather than over single vectors."""
    if window(module):
        return True
    if has(module, (*OVER_SEQUENCES, nn.Conv1d, nn.LayerNorm, nn.RMSNorm)):
        return not has(module, nn.BatchNorm1d) or has(module, OVER_SEQUENCES)
    classes = [type(layer).__name__ for layer in module.modules()]
    names = [name for name, _ in module.named_parameters()]
    return _SEQUENTIAL_NAMES.search(" ".join([*classes, *names]).lower()) is not None


def image_size(module: nn.Module) -> Extents | None:
    """Height and width that an attribute of a module or of its config gives."""
    found = _attribute(module, _IMAGE_SIZES, _is_image_size)
    if found is None:
        return None
    return (found, found) if isinstance(found, int) else tuple(found)[-2:]


def length(module: nn.Module) -> int | None:
    """The longest sequence that an attribute of a module or of its config gives."""
    found: int | None = _attribute(module, _LENGTHS, _is_length)
    return found


def sound_length(module: nn.Module) -> int | None:
    """The samples of a sound, where a module states its seconds and their rate."""
    rate = _attribute(module, _RATES, _is_length)
    seconds = _attribute(module, _SECONDS, _is_time)
    samples = int(rate * seconds) if rate and seconds else 0
    return samples if 0 < samples <= _LONGEST else None


def sound_channels(module: nn.Module) -> int | None:
    """The channels of a sound that an attribute of a module or of its config gives."""
    found: int | None = _attribute(module, ("audio_channels",), _is_count)
    return found


def node_count(module: nn.Module) -> int | None:
    """The nodes of a graph that an attribute of a module or of its config gives."""
    found: int | None = _attribute(module, _NODE_COUNTS, _is_node_count)
    return found


def window(module: nn.Module) -> int:
    """The most tokens that a module states to take at once of a longer sequence; 0 if none."""
    found = [
        value
        for layer in module.modules()
        for name, value in vars(layer).items()
        if type(value) is int and value <= _LARGEST_WINDOW and _WINDOWS.match(name)
    ]
    return max(found, default=0)


def stated_width(module: nn.Module, name: str) -> int | None:
    """The width that an attribute of a module or of its config gives for an input of that name."""
    names = next((names for pattern, names in _WIDTHS.items() if pattern.search(name)), ())
    found: int | None = _attribute(module, names, _is_length)
    return found


def asks_for(module: nn.Module, name: str) -> bool:
    """Whether an attribute of a module or of its config switches an optional input on.

    ``guidance_embeds = True`` does so for ``guidance``, and so does ``use_guidance = True``.
    """
    names = [f"{name}{end}" for end in ("_embeds", "_embed", "_embedding", "_cond")]
    names += [f"{start}{name}" for start in ("use_", "with_", "has_")]
    return any(read_attribute(each, key) is True for each in _holders(module) for key in names)


def _kind_of_layer(layer: nn.Module) -> Kind | None:
    if isinstance(layer, nn.Embedding):
        return Kind.IDS
    axes = convolution_axes(layer)
    if axes is not None:
        return _BY_AXES.get(axes)
    if isinstance(layer, OVER_SEQUENCES):
        return Kind.SEQUENCE
    return Kind.VECTOR if isinstance(layer, nn.Linear) else None


def _convolves(module: nn.Module, axes: int) -> bool:
    return any(convolution_axes(layer) == axes for layer in module.modules())


def _convolves_words(module: nn.Module) -> bool:
    """Whether each convolution over two axes covers whole embeddings: then it reads text."""
    widths = {layer.embedding_dim for layer in module.modules() if isinstance(layer, nn.Embedding)}
    sides = [
        layer.kernel_size[-1]
        for layer in module.modules()
        if isinstance(layer, internals.AnyConvolution) and len(layer.kernel_size) == 2
    ]
    return bool(sides) and all(side in widths for side in sides)


def _is_image_size(value: object) -> bool:
    if type(value) is int:
        return _SMALLEST_IMAGE <= value <= _LARGEST_IMAGE
    if type(value) not in (tuple, list):
        return False
    sides: Sequence[object] = value  # type: ignore[assignment]
    return (
        len(sides) in (2, 3)
        and all(type(side) is int and side >= 1 for side in sides)
        and max(side for side in sides if type(side) is int) >= _SMALLEST_SIDE
    )


def _is_time(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


def _is_node_count(value: object) -> bool:
    return type(value) is int and 2 <= value <= _MOST_NODES


def _is_length(value: object) -> bool:
    return type(value) is int and 2 <= value <= _LONGEST


def _attribute(module: nn.Module, names: Sequence[str], is_right: Callable[[object], bool]) -> Any:  # noqa: ANN401
    """The first attribute of that name and form, from the outermost module to the inner ones."""
    waiting = deque([(module, 0)])
    while waiting:
        layer, depth = waiting.popleft()
        for holder in _holders(layer):
            for name in names:
                value = _plain(read_attribute(holder, name))
                if is_right(value):
                    return value
        if depth < _DEPTH:
            waiting.extend((child, depth + 1) for child in layer.children())
    return None


def _holders(layer: nn.Module) -> Iterator[object]:
    yield layer
    for name in _CONFIGS:
        config = read_attribute(layer, name)
        if config is not None and not isinstance(config, nn.Module | Tensor):
            yield config


def read_attribute(holder: object, name: str) -> Any:  # noqa: ANN401
    """An attribute of a user's object, or a value of a mapping; None where there is none.

    An attribute of the user's own may be a property that raises anything.
    """
    try:
        return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    except Exception:
        return None


def _plain(value: object) -> object:
    """A list of a config library as a tuple."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | tuple | list):
        return tuple(value)
    return value
