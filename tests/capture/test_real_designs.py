"""Designs that everybody knows, as timm, torchvision and transformers build them."""

from collections import Counter

import pytest
import torch

from nar.capture import CaptureInputs, capture_module
from nar.graphs.canonical import exact_fingerprint, topology_fingerprint
from nar.graphs.ops import op_name
from nar.zoo.libraries import import_library


def image(size=224, batch=1):
    return CaptureInputs((torch.empty(batch, 3, size, size, device="meta"),))


def tokens(length=12):
    ids = torch.zeros(2, length, dtype=torch.long)
    return CaptureInputs((), {"input_ids": ids, "attention_mask": torch.ones_like(ids)})


def of_timm(name, **options):
    with torch.device("meta"):
        return import_library("timm").create_model(name, **options)


def of_torchvision(name):
    with torch.device("meta"):
        return import_library("torchvision.models").get_model(name, weights=None)


def of_transformers(config_name, class_name, attention, **options):
    transformers = import_library("transformers")
    config = getattr(transformers, config_name)(**options)
    with torch.device("meta"):
        return getattr(transformers, class_name)._from_config(config, attn_implementation=attention)


def counts(graph):
    return dict(Counter(op_name(identifier) for identifier in graph.op_ids.tolist()))


RESNET50 = {
    "input": 1, "conv": 53, "batch_norm": 53, "relu": 49, "add": 16, "max_pool": 1,
    "adaptive_avg_pool": 1, "linear": 1,
}  # fmt: skip


@pytest.mark.slow
def test_resnet50():
    capture = capture_module(of_timm("resnet50"), image(), name="resnet50")
    assert counts(capture.graph) == RESNET50
    assert capture.graph.edges == 174 + 16
    assert capture.graph.parameters == 25_557_032
    assert capture.graph.flops == 8_178_368_512
    assert capture.unknown_operators == {}


@pytest.mark.slow
def test_two_libraries_build_the_same_resnet():
    timm = capture_module(of_timm("resnet50"), image(), name="timm").graph
    torchvision = capture_module(of_torchvision("resnet50"), image(), name="torchvision").graph
    assert exact_fingerprint(timm) == exact_fingerprint(torchvision)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "convnext_atto", "mobilenetv3_small_050"])
def test_size_and_batch_of_the_input_are_no_design(name):
    module = of_timm(name)
    small = capture_module(module, image(128), name=name).graph
    large = capture_module(module, image(256, batch=3), name=name).graph
    assert topology_fingerprint(small) == topology_fingerprint(large)
    assert exact_fingerprint(small) == exact_fingerprint(large)


@pytest.fixture
def fused():
    layers = import_library("timm.layers")
    before = layers.use_fused_attn()
    yield layers.set_fused_attn
    layers.set_fused_attn(bool(before))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "levit_128s", "coatnet_nano_rw_224"])
def test_fused_and_eager_attention_of_timm_are_one_design(fused, name):
    graphs = []
    for enable in (True, False):
        fused(enable)
        graphs.append(capture_module(of_timm(name), image(), name=name).graph)
    assert graphs[0] == graphs[1]


LAYER = {"linear": 6, "attention": 1, "add": 2, "layer_norm": 2, "gelu": 1}


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.slow
def test_each_layer_of_bert(attention):
    graphs = []
    for layers in (2, 3):
        module = of_transformers("BertConfig", "BertModel", attention, num_hidden_layers=layers)
        graphs.append(counts(capture_module(module, tokens(), name="bert").graph))
    assert {name: graphs[1][name] - graphs[0][name] for name in graphs[1]} == {
        **dict.fromkeys(graphs[1], 0),
        **LAYER,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "model", "inputs"),
    [
        ("BertConfig", "BertForMaskedLM", tokens),
        ("GPT2Config", "GPT2LMHeadModel", tokens),
        ("LlamaConfig", "LlamaForCausalLM", tokens),
        ("ViTConfig", "ViTForImageClassification", image),
    ],
)
def test_fused_and_eager_attention_of_transformers_are_one_design(config, model, inputs):
    graphs = []
    for attention in ("eager", "sdpa"):
        module = of_transformers(config, model, attention, num_hidden_layers=2)
        graphs.append(capture_module(module, inputs(), name=model).graph)
    assert topology_fingerprint(graphs[0]) == topology_fingerprint(graphs[1])
    assert graphs[0].parameters == graphs[1].parameters == module.num_parameters()


@pytest.mark.slow
def test_sentence_length_is_no_design():
    module = of_transformers("BertConfig", "BertModel", "sdpa", num_hidden_layers=2)
    graphs = [capture_module(module, tokens(n), name="bert").graph for n in (8, 24)]
    assert exact_fingerprint(graphs[0]) == exact_fingerprint(graphs[1])


@pytest.mark.slow
def test_gpt2_keeps_one_norm_before_each_branch():
    module = of_transformers("GPT2Config", "GPT2LMHeadModel", "sdpa")
    assert counts(capture_module(module, tokens(), name="gpt2").graph) == {
        "embedding": 2, "add": 25, "layer_norm": 25, "linear": 73,
        "attention": 12, "gelu": 12,
    }  # fmt: skip


@pytest.mark.slow
def test_recurrent_layers_do_not_unroll():
    graph = capture_module(of_timm("sequencer2d_s"), image(), name="sequencer").graph
    assert counts(graph)["lstm"] == 36
    assert graph.nodes < 250
