"""Families: every name that the table maps exists, and one design has one name in all libraries."""

import re
from importlib import util
from pathlib import Path

import pytest

from nar.labels.families import definings, entrypoints, family_of, snake_case
from nar.zoo.libraries import import_library
from nar.zoo.sources import list_specs
from nar.zoo.sources.openmmlab.configs import config_names

SNAKE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")


@pytest.mark.slow
def test_every_mapped_name_exists_in_its_library(defining_names):
    wrong = {
        library: set(rows) - defining_names[library]
        for library, rows in definings().items()
        if library in defining_names and set(rows) - defining_names[library]
    }
    assert wrong == {}


def test_every_module_of_timm_and_torchvision_was_reviewed():
    timm, torchvision = import_library("timm"), import_library("torchvision.models")
    modules = {
        torchvision.get_model_builder(name).__module__.rpartition(".")[2]
        for name in torchvision.list_models()
    }
    assert set(definings()["timm"]) == set(map(snake_case, timm.list_modules()))
    assert set(definings()["torchvision"]) == set(map(snake_case, modules))


@pytest.mark.slow
def test_every_listed_entry_point_takes_a_model():
    names = {
        "timm": import_library("timm").list_models(),
        "torchvision": import_library("torchvision.models").list_models(),
        "segmentation_models_pytorch": import_library(
            "segmentation_models_pytorch.encoders"
        ).get_encoder_names(),
    }
    names["open_clip"] = [path.stem for path in configurations("open_clip", "model_configs")]
    names["litgpt"] = [name.partition(":")[2] for name in list_specs("litgpt")]
    names |= {library: config_names(library) for library in ("mmpretrain", "mmseg")}
    for library, rows in entrypoints().items():
        plain = [snake_case(name) for name in names[library]]
        idle = [row for row in rows if not any(continues(row, name) for name in plain)]
        assert idle == [], library


def configurations(library, folder):
    return (Path(util.find_spec(library).origin).parent / folder).glob("*.json")


def continues(row, name):
    return name.startswith(row) and not name[len(row) :][:1].isalpha()


def test_family_names_are_lower_snake_case():
    tables = [*definings().values(), *entrypoints().values()]
    names = {family for rows in tables for family in rows.values()}
    assert [name for name in names if not SNAKE.fullmatch(name)] == []


@pytest.mark.parametrize(
    ("family", "definitions"),
    [
        (
            "resnet",
            [
                ("timm", "resnet", "resnet50"),
                ("timm", "byobnet", "resnet51q"),
                ("torchvision", "resnet", "resnet50"),
                ("torchvision", "resnet", "quantized_resnet50"),
                ("transformers", "resnet", ""),
                ("transformers", "rt_detr_resnet", ""),
                ("pytorchcv", "resnet_cifar", ""),
                ("segmentation_models_pytorch", "resnet", "resnet34"),
            ],
        ),
        (
            "mobilenet_v2",
            [
                ("timm", "efficientnet", "mobilenetv2_100"),
                ("torchvision", "mobilenetv2", "mobilenet_v2"),
                ("transformers", "mobilenet_v2", ""),
                ("pytorchcv", "mobilenetv2", ""),
                ("segmentation_models_pytorch", "mobilenet", "mobilenet_v2"),
            ],
        ),
        (
            "swinv2",
            [
                ("timm", "swin_transformer_v2", "swinv2_tiny_window8_256"),
                ("timm", "swin_transformer_v2_cr", "swinv2_cr_tiny_224"),
                ("torchvision", "swin_transformer", "swin_v2_t"),
                ("transformers", "swinv2", ""),
            ],
        ),
        (
            "vit",
            [
                ("timm", "vision_transformer", "vit_base_patch16_224"),
                ("torchvision", "vision_transformer", "vit_b_16"),
                ("transformers", "vit", ""),
                ("vit_pytorch", "vit", ""),
            ],
        ),
        (
            "video_swin",
            [("torchvision", "swin_transformer", "swin3d_t")],
        ),
        ("roberta", [("transformers", "roberta", ""), ("transformers", "xlm-roberta", "")]),
    ],
)
def test_one_design_has_one_name(family, definitions):
    assert {family_of(*definition) for definition in definitions} == {family}


@pytest.mark.parametrize(
    ("entrypoint", "family"),
    [
        ("resnet50", "resnet"),
        ("resnetrs50", "resnet_rs"),
        ("resnext101_32x8d", "resnext"),
        ("seresnextaa101d_32x8d", "senet"),
        ("ecaresnetlight", "ecanet"),
        ("wide_resnet50_2", "wide_resnet"),
    ],
)
def test_a_module_of_several_families_is_told_apart_by_entry_point(entrypoint, family):
    assert family_of("timm", "resnet", entrypoint) == family


def test_the_longest_listed_beginning_counts():
    assert family_of("timm", "nfnet", "nf_regnet_b1") == "nf_regnet"
    assert family_of("timm", "vision_transformer", "vit_base_patch14_reg4_dinov2") == "dinov2"
    assert family_of("timm", "eva", "vit_small_plus_patch16_dinov3_qkvb") == "dinov3"


def test_a_name_without_a_row_is_its_own_family():
    assert family_of("transformers", "kosmos-2.5") == "kosmos_2_5"
    assert family_of("no_such_library", "SomeNet") == "somenet"
