"""Composed models of transformers: encoders with decoders, and heads on backbones."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo.sources.transformers.composed import (
    TRANSFORMERS_COMPOSED,
    composed_config,
    compositions,
    family_of_part,
)


def test_names_are_unique_and_say_kind_and_parts() -> None:
    names = TRANSFORMERS_COMPOSED.specs()
    assert len(names) == len(set(names)) > 1000
    assert "transformers_composed:vision_encoder_decoder/vit-base-patch16-224+gpt2" in names
    assert "transformers_composed:detr/resnet-50" in names


@pytest.mark.slow
def test_every_part_has_a_family() -> None:
    parts = {part for made in compositions().values() for part in made.parts}
    assert all(family_of_part(part) for part in parts)


@pytest.mark.parametrize(
    ("name", "family", "task", "backbone"),
    [
        (
            "speech_encoder_decoder/hubert-base-ls960+bart-base",
            "speech_encoder_decoder", "automatic-speech-recognition", "hubert",
        ),
        ("upernet/convnext-tiny-224", "upernet", "image-segmentation", "convnext"),
        ("detr/timm.resnet26d", "detr", "object-detection", "resnet"),
    ],
)  # fmt: skip
def test_labels_name_the_combination_and_its_encoder(
    name: str, family: str, task: str, backbone: str
) -> None:
    labels = TRANSFORMERS_COMPOSED.resolve(f"transformers_composed:{name}").labels
    assert (labels.family, labels.task, labels.backbone) == (family, task, backbone)
    assert labels.tier == "composed"


def test_the_decoder_of_a_pair_reads_its_encoder() -> None:
    pair = compositions()["encoder_decoder/bert-base-uncased+gpt2"]
    config = composed_config(pair)
    assert config.decoder.add_cross_attention
    assert not config.encoder.is_decoder
    assert not config.decoder.use_cache


def test_a_head_on_levels_gets_the_last_stages_of_its_backbone() -> None:
    config = composed_config(compositions()["rt_detr/resnet-18"])
    assert config.backbone_config.out_features == ["stage2", "stage3", "stage4"]
    assert config.encoder_in_channels == [128, 256, 512]


def test_a_name_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(UnknownArchitectureError, match="no such architecture"):
        TRANSFORMERS_COMPOSED.resolve("transformers_composed:detr/gpt2")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "encoder_decoder/bert_uncased_L-2_H-128_A-2+bert_uncased_L-4_H-512_A-8",
        "vision_text_dual_encoder/vit-tiny-patch16-224+bert_uncased_L-4_H-512_A-8",
        "upernet/convnextv2-atto-1k-224",
    ],
)
def test_a_composed_model_is_captured(name: str) -> None:
    capture = TRANSFORMERS_COMPOSED.resolve(f"transformers_composed:{name}").capture()
    assert capture.graph.nodes > 50
    assert capture.graph.parameters > 1_000_000
