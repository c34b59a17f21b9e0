"""Capture of a GGUF file: its metadata become the configuration of a class of transformers.

transformers has a table of the families that it maps; families of llama.cpp that it lacks, and
whose settings bear the usual names, stand here. How weights are quantised is no part of a design.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from nar.base.errors import CaptureError
from nar.base.weight_files import Gguf, read_gguf
from nar.capture import Capture
from nar.graphs.assumed import Assumed
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.config_file import capture_settings

# Names of llama.cpp, and the types of transformers, where these differ.
_TYPES: Final = {
    "command-r": "cohere",
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "glm4moe": "glm4_moe",
    "gpt-oss": "gpt_oss",
    "gptneox": "gpt_neox",
    "minimax-m2": "minimax_m2",
    "phi2": "phi",
    "qwen2moe": "qwen2_moe",
    "qwen3moe": "qwen3_moe",
    "t5encoder": "t5",
}
# Settings under the names of most families; the table of transformers goes before.
_USUAL: Final = {
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_epsilon": "layer_norm_eps",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window",
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "expert_count": "num_local_experts",
    "expert_used_count": "num_experts_per_tok",
    "feed_forward_length": "intermediate_size",
    "vocab_size": "vocab_size",
}
# Numbers of ways to store weights whose names say what people call the file.
_STORED: Final = {
    2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
}  # fmt: skip
# Numbers of 32 and 16 bits a weight, which are not quantised.
_WHOLE: Final = frozenset({0, 1, 32})


def capture_gguf(path: Path, *, name: str) -> Capture:
    """The graph of the language model in a GGUF file; of its weights nothing is read.

    Args:
        path: The file.
        name: Name of the model, for errors.

    Raises:
        CaptureError: The header is damaged, or transformers knows no such family.
        MissingLibraryError: transformers is not installed.
    """
    try:
        header = read_gguf(path)
    except (OSError, ValueError) as error:
        raise CaptureError(name, "-", str(error)) from error
    family = header.metadata.get("general.architecture")
    if not isinstance(family, str):
        raise CaptureError(name, "-", "wanted a general.architecture among the metadata, came none")
    capture = capture_settings(_settings(header, family), name=name)
    stored = header.metadata.get("general.file_type", 0)
    if stored in _WHOLE:
        return capture
    how = _STORED.get(stored, f"type {stored}")
    note = f"Its weights are quantised ({how}), which is no part of the design."
    return replace(capture, assumed=replace(capture.assumed or Assumed(), notes=(note,)))


def _settings(header: Gguf, family: str) -> Mapping[str, Any]:
    """The configuration that metadata and the names of tensors give."""
    model_type = _type(header, family)
    names = {**_USUAL, **_mapped(model_type)}
    prefix = f"{family}."
    settings: dict[str, Any] = {}
    for key, value in header.metadata.items():
        renamed = names.get(key.removeprefix(prefix)) if key.startswith(prefix) else None
        if isinstance(renamed, str):
            settings[renamed] = value
    if f"{prefix}attention.key_length" in header.metadata:
        settings["head_dim"] = header.metadata[f"{prefix}attention.key_length"]
    embedding = header.shapes.get("token_embd.weight")
    if embedding:
        settings["vocab_size"] = embedding[0]
    if header.shapes:
        settings["tie_word_embeddings"] = "output.weight" not in header.shapes
    if "blk.0.attn_q.bias" in header.shapes and model_type == "llama":
        settings["attention_bias"] = True
    if model_type in _OF_TYPE:
        settings |= _OF_TYPE[model_type](header, settings)
    classes = _class_names(model_type)
    return {"model_type": model_type, **settings, **({"architectures": classes} if classes else {})}


def _type(header: Gguf, family: str) -> str:
    if family == "llama" and header.metadata.get("llama.expert_count"):
        return "mixtral"
    return _TYPES.get(family, family)


def _mapped(model_type: str) -> Mapping[str, Any]:
    """The table of transformers for a type; empty where it has none."""
    tables: Any = import_library("transformers.integrations.ggml").GGUF_CONFIG_MAPPING
    table: Mapping[str, Any] = tables.get(model_type.removesuffix("_text"), {})
    return table


def _of_stablelm(header: Gguf, _settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "use_qkv_bias": any(name.endswith("attn_q.bias") for name in header.shapes),
        "use_parallel_residual": not any("ffn_norm" in name for name in header.shapes),
    }


def _of_lfm2(_header: Gguf, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Layers without heads of keys are convolutions."""
    heads = settings.get("num_key_value_heads")
    if not isinstance(heads, list):
        return {}
    attending = [layer for layer, count in enumerate(heads) if count > 0]
    return {
        "num_key_value_heads": max(heads),
        "block_auto_adjust_ff_dim": False,
        "full_attn_idxs": attending,
    }


def _of_t5(_header: Gguf, _settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"is_gated_act": True, "feed_forward_proj": "gated-gelu"}


# Types of which tensors say more than metadata.
_OF_TYPE: Final = {"stablelm": _of_stablelm, "lfm2": _of_lfm2, "t5": _of_t5}


def _class_names(model_type: str) -> list[str]:
    """The class that writes text, as files of llama.cpp are used; none for an encoder."""
    tables: Any = import_library("transformers.models.auto.modeling_auto")
    for table in (
        tables.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        tables.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    ):
        if model_type in table and model_type != "bert":
            return [str(table[model_type])]
    return []
