"""A GGUF file: the network that its metadata configure, whatever its weights are stored as."""

import json

import pytest
from weight_headers import write_gguf

from nar.base.errors import CaptureError
from nar.own import capture_architecture

LLAMA = {
    "general.architecture": "llama",
    "general.name": "small",
    "general.file_type": 15,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 128,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.rope.dimension_count": 16,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "tokenizer.ggml.tokens": ["a"] * 100,
}
SHAPES = {"token_embd.weight": (100, 64), "output.weight": (100, 64)}
SIZES = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
}


def of_family(family, **more):
    """The same metadata for another family of llama.cpp."""
    named = {key.replace("llama.", f"{family}.", 1): each for key, each in LLAMA.items()}
    return {**named, "general.architecture": family, **more}


# Family of llama.cpp -> the configuration of transformers that is the same network.
SAME = {
    "llama": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SIZES},
    "qwen3": {
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], **SIZES, "head_dim": 16,
    },
    "olmo2": {"model_type": "olmo2", "architectures": ["Olmo2ForCausalLM"], **SIZES},
    "command-r": {"model_type": "cohere", "architectures": ["CohereForCausalLM"], **SIZES,
        "tie_word_embeddings": False},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("family", SAME)
def test_its_network_is_that_of_the_configuration(tmp_path, family):
    more = {f"{family}.attention.key_length": 16} if family == "qwen3" else {}
    file = write_gguf(tmp_path / "m-Q4_K_M.gguf", of_family(family, **more), SHAPES)
    config = tmp_path / "config.json"
    config.write_text(json.dumps(SAME[family]))
    captured = capture_architecture(str(file))
    assert captured.architecture.exact == capture_architecture(str(config)).architecture.exact
    assert captured.assumed.notes == (
        "Its weights are quantised (Q4_K_M), which is no part of the design.",
    )


@pytest.mark.slow
def test_experts_make_a_mixtral(tmp_path):
    more = {"llama.expert_count": 4, "llama.expert_used_count": 2, "general.file_type": 1}
    file = write_gguf(tmp_path / "m.gguf", {**LLAMA, **more}, SHAPES)
    captured = capture_architecture(str(file))
    assert captured.assumed is None
    assert captured.architecture.parameters > 4 * 3 * 64 * 128 * 2


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"general.name": "x"}, "wanted a general.architecture among the metadata"),
        ({"general.architecture": "deci"}, "knows no model_type deci"),
        ({"general.architecture": "llama", "llama.block_count": "x"}, "m.gguf"),
    ],
)
def test_what_is_no_known_family_is_told(tmp_path, metadata, said):
    with pytest.raises(CaptureError, match=said):
        capture_architecture(str(write_gguf(tmp_path / "m.gguf", metadata, {})))


def test_a_damaged_file_is_told(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(CaptureError, match="wanted a GGUF file of version 2 or 3, came version 0"):
        capture_architecture(str(tmp_path / "m.gguf"))
