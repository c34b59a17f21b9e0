"""The paper's labels: what its description says of names, mistakes included."""

import pytest

from nar.labels.families import paper_block, paper_family


@pytest.mark.parametrize(
    ("name", "family", "block"),
    [
        ("roberta-base", "roberta", "attention-block"),
        ("timm:poolformer_s12", "former", "attention-block"),
        ("timm:convnext_tiny", "conv", "cnn-block"),
        ("timm:resnet50", "resnet", "cnn-block"),
        ("pytorchcv:resnext50_32x4d", "resnet", "cnn-block"),
        ("transformers:bert/BertForMaskedLM", "bert", "attention-block"),
        ("transformers:t5/T5ForConditionalGeneration@t5-small", "t5", "attention-block"),
        ("torchvision:vit_b_16", "vit", "attention-block"),
        ("smp:unet/resnet34", "resnet", "cnn-block"),
        ("darts:skip@0+skip@1", "unknown", "other"),
    ],
)
def test_a_hint_in_the_name_gives_class_and_block(name, family, block):
    assert (paper_family(name), paper_block(name)) == (family, block)


@pytest.mark.parametrize(
    "name",
    [
        "distilbert-base-uncased-finetuned-text-classification",
        "roberta-base-classifier",
        "conv-bert-small",
        "vit-base-dog-breeds",
    ],
)
def test_known_mistake_text_models_and_transformers_become_cnns(name):
    assert paper_block(name) == "cnn-block"


@pytest.mark.parametrize(
    "name",
    [
        "densenet121", "efficientnet_b0", "vgg16", "inception_v3", "mobilenet_v2", "unet",
        "electra-base", "pegasus-large", "whisper-tiny",
    ],
)  # fmt: skip
def test_known_mistake_common_designs_are_unknown(name):
    assert (paper_family(name), paper_block(name)) == ("unknown", "other")


def test_neither_the_source_nor_the_class_of_a_name_counts():
    assert paper_family("transformers:mamba/MambaForCausalLM") == "unknown"
    assert paper_block("transformers:vit/ViTForImageClassification") == "attention-block"
