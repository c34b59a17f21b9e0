"""Motifs of real models: the block a person would name, and depth seen only in its count."""

import pytest
import torch

from nar.capture import CaptureInputs, capture_module
from nar.graphs.ops import op_name
from nar.motifs.partition import partition
from nar.zoo.libraries import import_library


def timm_model(name):
    with torch.device("meta"):
        module = import_library("timm").create_model(name, pretrained=False)
    image = torch.empty(1, *module.pretrained_cfg["input_size"], device="meta")
    return partition(capture_module(module, CaptureInputs((image,), {}), name=name).graph)


def bert(layers, hidden):
    transformers = import_library("transformers")
    config = transformers.BertConfig(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=hidden // 64
    )
    with torch.device("meta"):
        module = transformers.BertModel(config)
    ids = torch.ones(1, 16, dtype=torch.int64, device="meta")
    inputs = CaptureInputs((), {"input_ids": ids, "attention_mask": ids})
    return partition(capture_module(module, inputs, name="bert").graph)


def block(cut):
    """Operators of the motif type that covers most of the network."""
    codes = cut.motif_codes.tolist()
    sizes = {code: (cut.node_to_motif == codes.index(code)).sum() for code in codes}
    code = max(sizes, key=lambda code: sizes[code] * codes.count(code))
    nodes = cut.graph.op_ids[cut.node_to_motif == codes.index(code)]
    return " ".join(op_name(identifier) for identifier in nodes.tolist())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shallow", "deep", "differences"),
    [
        (lambda: timm_model("resnet50"), lambda: timm_model("resnet101"), [17]),
        (lambda: bert(12, 768), lambda: bert(24, 1024), [12]),
        (
            lambda: timm_model("swin_tiny_patch4_window7_224"),
            lambda: timm_model("swin_base_patch4_window7_224"),
            [6, 6],  # twelve layers more, every other one of them shifted
        ),
    ],
    ids=["resnet 50, 101", "bert base, large", "swin tiny, base"],
)
def test_two_sizes_share_their_blocks_and_differ_only_in_the_count(shallow, deep, differences):
    one, other = shallow().counts(), deep().counts()
    assert one.keys() == other.keys()
    assert (
        sorted(other[code] - one[code] for code in one if other[code] != one[code]) == differences
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda: timm_model("resnet50"),
            "conv batch_norm relu conv batch_norm relu conv batch_norm add relu",
        ),
        (
            lambda: bert(12, 768),
            "linear linear linear attention linear add layer_norm "
            "linear gelu linear add layer_norm",
        ),
        (
            lambda: timm_model("convnext_tiny"),
            "conv_depthwise layer_norm linear gelu linear mul add",
        ),
    ],
    ids=["resnet", "bert", "convnext"],
)
def test_the_block_is_the_one_its_authors_drew(build, expected):
    assert block(build()) == expected
