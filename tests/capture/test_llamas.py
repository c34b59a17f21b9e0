"""A Llama written by hand is the Llama of the library, wherever it runs."""

import pytest
import torch
from llamas import HEADS, HIDDEN, KV_HEADS, LAYERS, SPELLINGS, VOCABULARY, WIDTH

from nar.capture import CaptureInputs, capture_module
from nar.graphs.canonical import exact_fingerprint
from nar.zoo.libraries import import_library

IDS = torch.zeros(2, 12, dtype=torch.long)


@pytest.fixture(scope="module")
def published():
    transformers = import_library("transformers")
    config = transformers.LlamaConfig(
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        vocab_size=VOCABULARY,
    )
    with torch.device("meta"):
        module = transformers.LlamaForCausalLM(config)
    inputs = CaptureInputs((), {"input_ids": IDS, "use_cache": False})
    return capture_module(module, inputs, name="llama").graph


@pytest.mark.slow
@pytest.mark.parametrize("device", ["meta", "cpu"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_llama_by_hand_is_a_llama(published, spelling, device):
    module = SPELLINGS[spelling]().to(device)
    graph = capture_module(module, CaptureInputs((IDS,)), name=spelling).graph
    assert exact_fingerprint(graph) == exact_fingerprint(published)
