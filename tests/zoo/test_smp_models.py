"""Models of segmentation-models-pytorch: decoders on its own encoders and on timm's."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo.sources.smp import DILATED, PYRAMID, SMP, TOKENS, encoders
from nar.zoo.sources.timm import timm_backbones


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "family", "backbone", "parameters"),
    [
        ("smp:unet/resnet18", "unet", "resnet", 14_328_209),
        ("smp:pan/tu-resnet18", "pan", "resnet", 11_367_656),
        ("smp:fpn/mit_b0", "fpn", "mit", 5_075_425),
        ("smp:dpt/tu-vit_tiny_patch16_224", "dpt", "vit", 34_879_913),
    ],
)
def test_a_decoder_stands_on_an_encoder(name, family, backbone, parameters):
    spec = SMP.resolve(name)
    capture = spec.capture()
    assert (spec.labels.family, spec.labels.tier) == (family, "composed")
    assert spec.labels.backbone == backbone
    assert spec.labels.task == "image-segmentation"
    assert capture.graph.parameters == parameters
    assert capture.unknown_operators == {}


def test_every_pair_is_listed_once():
    names = SMP.specs()
    assert len(names) == len(set(names)) == sum(len(e.decoders) for e in encoders().values())
    assert len(names) > 6_000


def test_encoders_that_pool_are_not_dilated():
    assert encoders()["densenet121"].decoders == PYRAMID
    assert encoders()["resnet34"].decoders == PYRAMID + DILATED


def test_maps_of_one_scale_go_to_the_decoder_that_rescales_them():
    assert encoders()["tu-vit_base_patch16_224"].decoders == TOKENS


def test_an_unsupported_pair_is_refused():
    with pytest.raises(UnknownArchitectureError, match="smp:unet/mit_b0"):
        SMP.resolve("smp:linknet/mit_b0")


def test_rows_of_the_table_say_what_they_may():
    rows = timm_backbones().values()
    assert {row.gives for row in rows} == {"tokens", "quarter", "half", "whole"}
    assert all(row.size > 0 for row in rows)
    assert not any(row.is_dilated for row in rows if row.gives == "tokens")
