"""Configurations of transformers models: the default one of a type, at full width or narrow."""

from collections.abc import Iterator
from typing import Any

from nar.zoo.libraries import import_library

Config = Any

# Every width is divided alike, so that the ratios between them, which are attributes of a graph,
# stay; numbers of layers and heads stay as they are.
NARROWING = 8
_WIDTHS = (
    "d_ff", "d_inner", "d_kv", "d_model", "decoder_ffn_dim", "dim", "emb_dim", "embed_dim",
    "embedding_size", "encoder_ffn_dim", "ffn_dim", "head_dim", "hidden_dim", "hidden_size",
    "intermediate_size", "moe_intermediate_size", "n_embd", "n_inner", "projection_dim",
    "shared_expert_intermediate_size", "vocab_size",
)  # fmt: skip

# What a default configuration leaves open and the model needs, as its published checkpoints set it.
_COMPLETIONS: dict[str, dict[str, object]] = {
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
}


def default_config(model_type: str) -> Config:
    """The configuration that a type has when nothing is said, without a cache of past tokens."""
    chosen = _COMPLETIONS.get(model_type, {})
    config = import_library("transformers").CONFIG_MAPPING[model_type](**chosen)
    for part in parts(config):
        if hasattr(part, "use_cache"):
            part.use_cache = False
    return config


def narrow_config(model_type: str) -> Config:
    """The same depth with every width divided by `NARROWING`, special tokens moved into reach."""
    config = default_config(model_type)
    for part in parts(config):
        for name in dict.fromkeys(part.attribute_map.get(width, width) for width in _WIDTHS):
            width = getattr(part, name, None)
            if isinstance(width, int) and width >= NARROWING:
                setattr(part, name, width // NARROWING)
        _move_special_tokens(part)
    return config


def _move_special_tokens(config: Config) -> None:
    vocabulary = getattr(config, "vocab_size", None)
    if not isinstance(vocabulary, int):
        return
    for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
        token = getattr(config, name, None)
        if isinstance(token, int):
            setattr(config, name, min(token, vocabulary - 1))


def parts(config: Config) -> Iterator[Config]:
    """A configuration and all those inside it."""
    yield config
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if part is not None:
            yield from parts(part)
