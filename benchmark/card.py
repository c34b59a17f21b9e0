"""How right design cards are: their fields beside the configurations that built the models.

Models of transformers are built from a configuration, models of timm by the arguments of a class;
some fields are told by the names of weights. Rows of a corpus with details are read, and nothing is
built. Families are split into those that rules were tuned on and those that test them.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Literal, cast
from unittest.mock import patch

from benchmark.reporting.markdown import keep_page, markdown_table
from nar.answers.design_card import DesignCard, design_card
from nar.base.errors import CorpusError
from nar.corpus import Corpus, Location
from nar.graphs.architecture import Architecture

PAGE: Final = "card.md"
# Chosen: rows a field and half.
ROWS: Final = 300
# Chosen: rows of one family at most, so that no family speaks for all.
_A_FAMILY: Final = 12
Half = Literal["validation", "test"]
HALVES: Final[tuple[Half, ...]] = ("validation", "test")
SOURCES: Final = ("transformers", "timm")
Truth = Mapping[str, object]
_SHOWN: Final = 40  # chosen: lines of the page that name what differs
_WANTED: Final = 0.95
_INTRODUCTION: Final = (
    "Cards of rows of the corpus, held against what built the models: configurations of "
    "transformers, arguments of timm's classes, names of weights. *shown*: of rows whose truth is "
    "known, the share of which the card states the field. *right*: of the shown fields, the share "
    "that is as stated. Up to {rows} rows a field and half, families in turn; rules were tuned on "
    "families of validation alone."
)

# What a configuration calls an activation -> the operator that it is captured as.
_ACTIVATIONS: Final = {
    "gelu": "gelu", "gelu_new": "gelu", "gelu_fast": "gelu", "gelu_pytorch_tanh": "gelu",
    "gelu_python": "gelu", "gelu_10": "gelu", "gelu_accurate": "gelu", "silu": "silu",
    "swish": "silu", "relu": "relu", "relu6": "relu6", "mish": "mish", "hard_swish": "hard_swish",
    "hardswish": "hard_swish", "leaky_relu": "leaky_relu",
    "quick_gelu": "gelu", "relu2": "relu", "relu_squared": "relu",
}  # fmt: skip
# Types whose norm has another name in their configuration than it is.
_RMS: Final = frozenset({
    "t5", "mt5", "umt5", "longt5", "switch_transformers", "pop2piano", "udop", "mamba", "mamba2",
    "falcon_mamba", "nemotron_h", "pix2struct_text_model",
})  # fmt: skip
_NORM_UNSTATED: Final = frozenset({"phimoe", "hunyuan_vl_vision", "mobilebert", "mobilenet_v2"})
# Types whose stem is no layer of their patches' size.
_OTHER_STEMS: Final = frozenset({"vit_hybrid", "poolformer", "mobilevit", "mobilevitv2"})
# Types whose tables of positions are sines that stand among the weights, and never learn.
_SINES: Final = frozenset({"marian", "pegasus", "pegasus_x", "whisper", "informer", "autoformer"})
# Norms before the layers of a branch, or behind the sum: by type, as the papers have it.
_POST: Final = (
    "albert bart bert big_bird bros camembert convbert data2vec-text deberta deberta-v2 distilbert "
    "electra ernie flaubert funnel ibert layoutlm layoutlmv3 luke lxmert marian markuplm "
    "mobilebert mpnet mra nystromformer rembert roberta roformer splinter squeezebert tapas "
    "visual_bert xlm xlm-roberta yoso"
)
_PRE: Final = (
    "apertus arcee audio-spectrogram-transformer beit biogpt bitnet blenderbot bloom "
    "clip_vision_model codegen cohere ctrl cwm data2vec-vision deit dinov2 "
    "dinov2_with_registers falcon gemma gpt2 gpt_neo gpt_neox gptj granite helium llama m2m_100 "
    "mbart ministral mistral mixtral mt5 olmo pegasus persimmon phi phi3 qwen2 qwen2_moe qwen3 "
    "seed_oss siglip_vision_model stablelm starcoder2 t5 umt5 vit vit_mae vit_msn xglm yolos"
)
_PLACES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_POST.split(), "post"),
    **dict.fromkeys(_PRE.split(), "pre"),
    **dict.fromkeys(("gemma2", "gemma3_text", "glm4"), "both"),
    **dict.fromkeys(("olmo2", "olmo3", "swinv2", "exaone4"), "branch"),
    **dict.fromkeys(("resnet", "regnet"), "layer"),
}
_EXPERTS: Final = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
_CNNS: Final = frozenset({"resnet", "regnet", "convnext", "convnextv2", "mobilenet_v1",
                          "mobilenet_v2", "efficientnet", "bit", "van"})  # fmt: skip
_GATED_WEIGHTS: Final = (
    "gate_proj",
    "gate_up_proj",
    "wi_1",
    "linear_fc1_gate",
    "mlp.w12",
    "mlp.w3",
)
_PLAIN_WEIGHTS: Final = ("intermediate.dense", "dense_h_to_4h", "c_fc", "mlp.fc1", "lin1", "fc_in",
                         "fc1")  # fmt: skip
_PLACE_WEIGHTS: Final = ("position_embeddings", "embed_positions", "wpe", "position_embedding")


def half_of(family: str) -> Half:
    """Which half a family is in, for good: by its name."""
    return HALVES[sha256(family.encode()).digest()[0] % 2]


# transformers.


def truth_of_config(item: Architecture) -> Truth:
    """What the configuration of a row of transformers states; empty where it has several parts."""
    from nar.zoo.sources.transformers.models import TRANSFORMERS

    entry = TRANSFORMERS.entry(item.labels.name.partition(":")[2])
    assert entry is not None, "the corpus has names of its sources alone"
    # What captures a row holds what makes its configuration.
    config = cast("partial[Any]", entry.capture).keywords["config_of"]()
    if any(getattr(config, part, None) is not None for part in config.sub_configs):
        return {}
    kind, _, class_name = item.labels.name.partition(":")[2].partition("@")[0].partition("/")
    stated = _Stated(config, kind, class_name, item)
    truths = {name: _read_or_none(read, stated) for name, read in _CONFIG.items()}
    return {name: value for name, value in truths.items() if value is not None}


def _read_or_none(read: Callable[["_Stated"], object], stated: "_Stated") -> object:
    try:
        return read(stated)
    # Configurations whose layers differ refuse what differs, each in its own way.
    except Exception:
        return None


@dataclass(frozen=True, slots=True)
class _Stated:
    """A configuration with its class.

    Attributes:
        config: The configuration.
        type: Its type.
        class_name: The class that it built.
        item: What was captured.
    """

    config: Any
    type: str
    class_name: str
    item: Architecture

    def number(self, *names: str) -> int | None:
        """The first setting that is a whole number."""
        values = (getattr(self.config, name, None) for name in names)
        return next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)

    def has_weight(self, names: Iterable[str]) -> bool:
        """Whether a weight has one of the names in its name."""
        lines = self.item.weights.lines() if self.item.weights else []
        return any(name in line for line in lines for name in names)


def _depth(stated: _Stated) -> object:
    config = stated.config
    if depths := getattr(config, "depths", None):
        return sum(depths)
    if stated.type in _CNNS:
        return None
    both = [stated.number("encoder_layers"), stated.number("decoder_layers")]
    if stated.type in {"t5", "mt5", "umt5", "longt5"}:
        both = [stated.number("num_layers"), stated.number("num_decoder_layers")]
    if None not in both:
        if "Encoder" in stated.class_name:
            return both[0]
        return both[1] if stated.class_name.endswith("CausalLM") else max(both)  # type: ignore[type-var]
    return stated.number("num_hidden_layers", "n_layer", "num_layers")


def _stages(stated: _Stated) -> object:
    depths = getattr(stated.config, "depths", None)
    return tuple(depths) if depths and len(depths) > 1 else None


def _norm(stated: _Stated) -> object:
    config = stated.config
    if stated.type in _NORM_UNSTATED:
        return None
    if stated.type in _RMS or hasattr(config, "rms_norm_eps"):
        return "rms"
    names = ("layer_norm_eps", "layer_norm_epsilon")
    return "layer" if any(hasattr(config, name) for name in names) else None


def _activation(stated: _Stated) -> object:
    names = ("hidden_act", "hidden_activation", "activation_function", "dense_act_fn")
    values = (getattr(stated.config, name, None) for name in names)
    name = next((value for value in values if isinstance(value, str)), None)
    return _ACTIVATIONS.get(name, name) if name else None


def _heads(stated: _Stated) -> int | None:
    if getattr(stated.config, "is_encoder_decoder", False):
        return stated.number("encoder_attention_heads", "num_heads", "num_attention_heads")
    return stated.number("num_attention_heads", "n_head", "num_heads")


def _keys(stated: _Stated) -> object:
    if getattr(stated.config, "kv_lora_rank", None):
        return None
    return stated.number("num_key_value_heads") if hasattr(
        stated.config, "num_key_value_heads") else None  # fmt: skip


def _attention(stated: _Stated) -> object:
    heads, keys = _heads(stated), _keys(stated)
    if not isinstance(keys, int) or heads is None:
        return None
    return "multi-head" if keys == heads else "multi-query" if keys == 1 else "grouped"


def _head_size(stated: _Stated) -> object:
    # A narrow copy is captured where the whole is too large; its heads are narrow, too.
    size = stated.number("head_dim", "d_kv")
    heads, width = _heads(stated), stated.number("hidden_size", "d_model", "n_embd")
    if getattr(stated.config, "kv_lora_rank", None):
        return None
    return size or (width // heads if heads and width and width % heads == 0 else None)


def _window(stated: _Stated) -> object:
    config = stated.config
    if not hasattr(config, "sliding_window"):
        return None
    kinds = getattr(config, "layer_types", None)
    if kinds is not None and not any("sliding" in kind for kind in kinds):
        return 0
    if getattr(config, "use_sliding_window", True) is False:
        return 0
    return config.sliding_window or 0


def _kind(stated: _Stated) -> object:
    config, name = stated.config, stated.class_name
    if _is_hybrid(stated):
        return None
    if stated.type in _CNNS:
        return "cnn"
    if getattr(config, "is_encoder_decoder", False):
        whole = name.endswith(("ForConditionalGeneration", "ForSequenceClassification"))
        is_model = name.endswith("Model") and "Encoder" not in name and "Decoder" not in name
        return "encoder-decoder" if whole or is_model else None
    if name.endswith("ForMaskedLM"):
        return "encoder"
    is_two_way = hasattr(config, "type_vocab_size") or _heads(stated) is None
    if name.endswith("ForCausalLM") and not is_two_way and hasattr(config, "vocab_size"):
        return "decoder-only"
    is_image = name.endswith("ForImageClassification") and hasattr(config, "patch_size")
    return "encoder" if is_image and hasattr(config, "num_attention_heads") else None


def _is_hybrid(stated: _Stated) -> bool:
    """Whether blocks of a type are not all of attention, so that no one kind is stated."""
    kinds = getattr(stated.config, "layer_types", None) or ()
    is_other = any("attention" not in kind or "linear" in kind for kind in kinds)
    if is_other or stated.type in _OTHER_STEMS:
        return True
    names = vars(stated.config)
    return any(name.startswith(("mamba_", "ssm_", "layers_block_type", "block_types"))
               for name in names)  # fmt: skip


def _causal(stated: _Stated) -> object:
    kind = _kind(stated)
    return {"decoder-only": True, "encoder": False}.get(str(kind))


def _positions(stated: _Stated) -> object:
    config = stated.config
    named = getattr(config, "position_embedding_type", None)
    if named == "rotary" or getattr(config, "rope_parameters", None):
        return "rotary"
    if stated.type in {"t5", "mt5", "umt5", "longt5"}:
        return "relative"
    if stated.type in _SINES or stated.type.startswith("deberta"):
        return None
    return "learned" if stated.has_weight(_PLACE_WEIGHTS) else None


def _mlp(stated: _Stated) -> object:
    if _is_hybrid(stated):
        return None
    if _experts(stated):
        return "mixture"
    if stated.number(*_EXPERTS) is not None or getattr(stated.config, "is_moe", None) is False:
        return None
    if stated.has_weight(_GATED_WEIGHTS):
        return "gated"
    return "plain" if stated.has_weight(_PLAIN_WEIGHTS) else None


def _ratio(stated: _Stated) -> object:
    if _mlp(stated) not in {"plain", "gated"}:
        return None
    inner = stated.number("intermediate_size", "d_ff", "n_inner")
    width = stated.number("hidden_size", "d_model", "n_embd")
    return round(inner / width, 2) if inner and width else None


def _experts(stated: _Stated) -> object:
    if getattr(stated.config, "is_moe", None) is False or _is_hybrid(stated):
        return None
    count = stated.number(*_EXPERTS)
    return count if count and count > 1 else None


def _stem(stated: _Stated) -> object:
    patch_size = getattr(stated.config, "patch_size", None)
    if stated.type in _OTHER_STEMS or getattr(stated.config, "use_conv_embed", False):
        return None
    if isinstance(patch_size, int) and stated.class_name.endswith("ForImageClassification"):
        return f"patches of {patch_size}"
    return "tokens" if stated.class_name.endswith(("ForCausalLM", "ForMaskedLM")) else None


def _head(stated: _Stated) -> object:
    if stated.class_name.endswith(("ForSequenceClassification", "ForImageClassification")):
        return f"linear to {stated.config.num_labels:,}"
    if stated.class_name.endswith(("ForCausalLM", "ForMaskedLM")):
        size = stated.number("vocab_size")
        return f"linear to {size:,}" if size else None
    return None


def _place(stated: _Stated) -> object:
    return _PLACES.get(stated.type)


_CONFIG: Final[Mapping[str, Callable[[_Stated], object]]] = {
    "kind": _kind,
    "depth": _depth,
    "stages": _stages,
    "norm": _norm,
    "norm_place": _place,
    "activation": _activation,
    "mlp": _mlp,
    "mlp_ratio": _ratio,
    "attention": _attention,
    "heads": _heads,
    "key_value_heads": _keys,
    "head_size": _head_size,
    "window": _window,
    "causal": _causal,
    "positions": _positions,
    "stem": _stem,
    "head": _head,
    "experts": _experts,
}

# timm.


class _ArgumentsMet(Exception):
    """The arguments of a class of timm, before anything is built."""

    def __init__(self, model: Any, given: Mapping[str, Any]) -> None:  # noqa: ANN401
        super().__init__()
        self.model, self.given = model, given


def truth_of_arguments(item: Architecture) -> Truth:
    """What the arguments of timm's class state of a row."""
    model, given = _arguments(item.labels.name.partition(":")[2])
    if model is None:
        return {}
    defaults = {
        name: each.default
        for name, each in inspect.signature(model).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    arguments = {**defaults, **given}
    read = {name: each(model.__name__, arguments) for name, each in _ARGUMENTS.items()}
    return {name: value for name, value in read.items() if value is not None}


def _arguments(name: str) -> tuple[Any, Mapping[str, Any]]:
    import timm

    def met(model_cls: Any, variant: str, pretrained: bool, **given: Any) -> None:  # noqa: ANN401
        raise _ArgumentsMet(model_cls, given)

    entry = timm.models.model_entrypoint(name.partition(".")[0])
    with patch(f"{entry.__module__}.build_model_with_cfg", met, create=True):
        try:
            entry(pretrained=False)
        except _ArgumentsMet as found:
            return found.model, found.given
        # A factory of its own, which wants more than a name.
        except Exception:
            return None, {}
    return None, {}


_CNN_CLASSES: Final = frozenset({
    "ResNet", "ConvNeXt", "RegNet", "DenseNet", "VGG", "EfficientNet", "MobileNetV3", "Xception",
    "DLA", "ResNetV2", "CspNet", "SelecSls", "HighResolutionNet", "InceptionV3", "InceptionV4",
    "PNASNet5Large", "RexNetV1", "TResNet", "VovNet",
})  # fmt: skip
_ENCODER_CLASSES: Final = frozenset({
    "VisionTransformer", "Beit", "Cait", "VisionTransformerDistilled", "Eva", "SwinTransformer",
    "SwinTransformerV2",
})  # fmt: skip
# The argument with the blocks of each stage, by class.
_STAGED: Final[Mapping[str, str]] = {
    "ConvNeXt": "depths",
    "SwinTransformer": "depths",
    "SwinTransformerV2": "depths",
    "ResNet": "layers",
    "ResNetV2": "layers",
}
_PLACE_OF_BLOCK: Final = {"Block": "pre", "ResPostBlock": "branch"}
Given = Mapping[str, Any]


def _kind_given(model: str, _given: Given) -> object:
    return "cnn" if model in _CNN_CLASSES else "encoder" if model in _ENCODER_CLASSES else None


def _stages_given(model: str, given: Given) -> tuple[int, ...] | None:
    stages = given.get(_STAGED.get(model, ""))
    return tuple(stages) if isinstance(stages, Sequence) else None


def _depth_given(model: str, given: Given) -> object:
    stages = _stages_given(model, given)
    return sum(stages) if stages else _encoder_number("depth", model, given)


def _encoder_number(name: str, model: str, given: Given) -> int | None:
    number = given.get(name) if model in _ENCODER_CLASSES else None
    return number if isinstance(number, int) else None


def _head_size_given(model: str, given: Given) -> object:
    heads, width = (_encoder_number(name, model, given) for name in ("num_heads", "embed_dim"))
    return width // heads if heads and width else None


def _is_gated(given: Given) -> bool:
    layer = getattr(given.get("mlp_layer"), "__name__", "Mlp")
    return bool(given.get("swiglu_mlp")) or layer != "Mlp"


def _ratio_given(model: str, given: Given) -> object:
    ratio = given.get("mlp_ratio") if model in _ENCODER_CLASSES else None
    is_plain = isinstance(ratio, (int, float)) and not _is_gated(given)
    return round(float(ratio), 2) if is_plain and ratio else None


def _stem_given(model: str, given: Given) -> object:
    size = _encoder_number("patch_size", model, given)
    layer = given.get("embed_layer")
    # A convolutional network before the blocks is given as a class with arguments, without a name.
    if layer is not None and getattr(layer, "__name__", "") != "PatchEmbed":
        return None
    return f"patches of {size}" if size else None


def _place_given(model: str, given: Given) -> object:
    if model == "VisionTransformer":
        return _PLACE_OF_BLOCK.get(getattr(given.get("block_fn"), "__name__", "Block"))
    return {"ResNet": "layer", "SwinTransformerV2": "branch"}.get(model)


def _positions_given(model: str, given: Given) -> object:
    is_learned = model == "VisionTransformer" and given.get("pos_embed") == "learn"
    return "learned" if is_learned else None


_ARGUMENTS: Final[Mapping[str, Callable[[str, Given], object]]] = {
    "kind": _kind_given,
    "depth": _depth_given,
    "stages": _stages_given,
    "norm_place": _place_given,
    "attention": lambda model, _: "none" if model in _CNN_CLASSES else None,
    "causal": lambda model, _: False if model in _ENCODER_CLASSES else None,
    "heads": partial(_encoder_number, "num_heads"),
    "head_size": _head_size_given,
    "mlp_ratio": _ratio_given,
    "positions": _positions_given,
    "stem": _stem_given,
}

_TRUTHS: Final[Mapping[str, Callable[[Architecture], Truth]]] = {
    "transformers": truth_of_config,
    "timm": truth_of_arguments,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A card beside the truth.

    Attributes:
        name: Name of the model.
        family: Its family.
        card: What was read.
        truth: What is stated, by field.
    """

    name: str
    family: str
    card: DesignCard
    truth: Truth

    def is_right(self, field: str) -> bool:
        """Whether a field is as it is stated."""
        came, stated = getattr(self.card, field), self.truth[field]
        if field == "head" and isinstance(came, str):
            return came.endswith(str(stated))
        if isinstance(stated, float) and isinstance(came, float):
            return abs(came - stated) <= 0.02 * stated  # widths are rounded to whole channels
        return bool(came == stated)


def read_rows(corpus: Location, half: Half, limit: int = ROWS) -> list[Row]:
    """Cards of rows of one half, families in turn, until each field has enough or rows end.

    Raises:
        CorpusError: The corpus has no details.
    """
    by_family: dict[str, list[Architecture]] = {}
    for _, shard in Corpus(corpus).shards(SOURCES, with_details=True):
        for item in shard:
            if item.labels.tier != "composed" and half_of(item.labels.family) == half:
                by_family.setdefault(item.labels.family, []).append(item)
    if not any(item.details for items in by_family.values() for item in items):
        raise CorpusError(
            f"{corpus}: its rows have no details, which a card is read from: name a corpus that "
            "was captured with them, by --corpus"
        )
    shuffled = [sorted(each, key=_order)[:_A_FAMILY] for _, each in sorted(by_family.items())]
    counts: dict[str, int] = {}
    rows = []
    for item in (each for turn in zip_longest(*shuffled) for each in turn if each):
        truth = _TRUTHS[item.labels.source](item)
        wanted = {name: value for name, value in truth.items() if counts.get(name, 0) < limit}
        if not wanted:
            continue
        counts |= {name: counts.get(name, 0) + 1 for name in wanted}
        card = design_card(item.graph, item.details)
        rows.append(Row(item.labels.name, item.labels.family, card, wanted))
    return rows


def _order(item: Architecture) -> bytes:
    """An order of the rows of a family that has nothing to do with their names."""
    return sha256(item.labels.name.encode()).digest()


def as_markdown(halves: Mapping[str, Sequence[Row]]) -> str:
    """The page."""
    tables = [_table(rows) for rows in halves.values()]
    lines = []
    for field in _CONFIG:
        cells = [table.get(field, ("-", "-", "0")) for table in tables]
        lines.append([f"`{field}`", *(cell for group in cells for cell in group)])
    head = [f"{name}: {what}" for name in halves for what in ("right", "shown", "rows")]
    wrong = [
        [row.name, field, str(getattr(row.card, field)), str(row.truth[field])]
        for row in halves.get("validation", ())
        for field in row.truth
        if _is_shown(row, field) and not row.is_right(field)
    ]
    return "\n\n".join([
        "# Design cards beside the configurations",
        _INTRODUCTION.format(rows=ROWS),
        "```sh\npython -m benchmark card --results results\n```",
        markdown_table(("field", *head), lines),
        "## Read otherwise, in validation",
        markdown_table(("model", "field", "read", "stated"), wrong[:_SHOWN]),
    ]) + "\n"  # fmt: skip


def _is_shown(row: Row, field: str) -> bool:
    return getattr(row.card, field) not in (None, ())


def _table(rows: Sequence[Row]) -> dict[str, tuple[str, str, str]]:
    found = {}
    for field in _CONFIG:
        known = [row for row in rows if field in row.truth]
        shown = [row for row in known if _is_shown(row, field)]
        if known:
            right = sum(row.is_right(field) for row in shown)
            share = f"{right / len(shown):.3f}" if shown else "-"
            found[field] = (share, f"{len(shown) / len(known):.2f}", str(len(known)))
    return found


def write_page(results: Path, halves: Mapping[str, Sequence[Row]]) -> None:
    """Write the page into a directory of results."""
    text = as_markdown(halves)
    keep_page(results, PAGE, text)
