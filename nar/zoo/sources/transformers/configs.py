"""Configurations of transformers models: the default of a type, at full width or narrow."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from nar.base.workspace import package_yaml
from nar.zoo.libraries import import_library

# transformers' own: which attributes they have depends on the type.
Config = Any
Model = Any

# How experts are computed does not belong to a design. The usual way depends on the routing of one
# example; this way computes all chosen experts in one product.
EXPERTS = "batched_mm"

# Every width is divided alike, so that the ratios between them, which are attributes of a graph,
# stay; numbers of layers and heads stay as they are.
NARROWING = 8  # chosen: an eighth of the width is some 64th of the weights
# Chosen: for a configuration that does not say its vocabulary, more tokens than an example has.
UNKNOWN_VOCABULARY = 1_000
_WIDTHS = (
    "d_ff", "d_inner", "d_kv", "d_model", "decoder_ffn_dim", "dim", "emb_dim", "embed_dim",
    "embedding_size", "encoder_ffn_dim", "encoder_hash_byte_group_vocab",
    "encoder_hidden_size", "ffn_dim", "ffn_hidden_size", "head_dim", "hidden_dim", "hidden_size",
    "hidden_size_global", "intermediate_size", "moe_intermediate_size", "n_embd", "n_inner",
    "projection_dim", "shared_expert_intermediate_size", "vocab_size",
)  # fmt: skip
_LISTS = (
    "convstream_hidden_sizes", "depths", "embed_dims", "fusion_hidden_sizes", "hidden_sizes",
)  # fmt: skip
# Settings that keep their value where a map names tokens by their ids.
_NAMED_TOKENS = ("vocab_size",)
# The part and the setting that say how wide the features of a tower are.
_INTO_TEXT = (("vision_config", "out_hidden_size"), ("audio_config", "output_dim"))


def default_config(model_type: str) -> Config:
    """The default configuration of a type, without a cache of past tokens."""
    config = import_library("transformers").CONFIG_MAPPING[model_type](**completion(model_type))
    for part in parts(config):
        if hasattr(part, "use_cache"):
            part.use_cache = False
        # Some classes add lists to settings whose defaults are tuples.
        for name in _LISTS:
            if isinstance(getattr(part, name, None), tuple):
                setattr(part, name, list(getattr(part, name)))
    _let_features_fit(config)
    return config


def completion(model_type: str) -> dict[str, Any]:
    """The settings that a type needs beside its defaults; a copy, for configurations change it."""
    if model_type == "chameleon":
        return {"vocabulary_map": _chameleon_codes()}
    table = package_yaml("zoo", "sources", "transformers", "tables/completions.yaml")
    completion: dict[str, Any] = deepcopy(table["completions"].get(model_type, {}))
    return completion


def _chameleon_codes() -> dict[str, int]:
    """facebook/chameleon-7b: a token for each of 8,192 codes, its number in letters.

    The order of the ids appears in no graph.
    """
    letters = str.maketrans("0123456789", "ABCDEFGHIJ")
    codes = {f"IMGIMG{str(code).translate(letters)}Z": 4 + code for code in range(8_192)}
    return {"<image>": 8_711, **codes}


def _let_features_fit(config: Config) -> None:
    """Make features of images and sounds as wide as the token embeddings they stand beside.

    Default configurations combine a tower of one published size with a text model of another.
    """
    width = getattr(getattr(config, "text_config", None), "hidden_size", None)
    if width is None:
        return
    for part, name in _INTO_TEXT:
        tower = getattr(config, part, None)
        if hasattr(tower, name):
            setattr(tower, name, width)


def narrowed(config: Config, by: int = NARROWING) -> Config:
    """A configuration of the same depth with every width divided alike.

    Args:
        config: Changed in place; special tokens move into the reach of its narrow vocabulary.
        by: What widths are divided by.
    """
    kept = _NAMED_TOKENS if getattr(config, "vocabulary_map", None) else ()
    for part in parts(config):
        for name in dict.fromkeys(part.attribute_map.get(width, width) for width in _WIDTHS):
            width = None if name in kept else getattr(part, name, None)
            if isinstance(width, int) and width >= by:
                setattr(part, name, width // by)
    for part in parts(config):
        _move_special_tokens(part)
    return config


def _move_special_tokens(config: Config) -> None:
    """Different tokens stay different: they take the last places of the vocabulary."""
    vocabulary = vocabulary_size(config)
    tokens = {
        name: token
        for name, token in vars(config).items()
        if name.endswith(("_token_id", "_token_index")) and isinstance(token, int)
    }
    beyond = sorted({token for token in tokens.values() if token >= vocabulary}, reverse=True)
    for name, token in tokens.items():
        if token in beyond:
            setattr(config, name, vocabulary - 1 - beyond.index(token))


def vocabulary_size(config: Config) -> int:
    """Number of tokens that a configuration, or one inside it, knows."""
    sizes = (getattr(part, "vocab_size", None) for part in parts(config))
    return next((size for size in sizes if isinstance(size, int) and size > 0), UNKNOWN_VOCABULARY)


def parts(config: Config) -> Iterator[Config]:
    """A configuration and all configurations inside it."""
    yield config
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if part is not None:
            yield from parts(part)
