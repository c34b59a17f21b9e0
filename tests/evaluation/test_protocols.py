"""Protocols: who asks and who answers, on a corpus small enough to see."""

import pytest

from nar.architecture import Labels
from nar.corpus import Card
from nar.errors import InvalidInputError
from nar.evaluation.benchmark.protocols import (
    decoder_questions,
    distinct_questions,
    family_questions,
    kin,
    member,
    paper_questions,
    twin_questions,
)
from nar.labels.paper_labels import paper_block, paper_family
from nar.labels.twins import TwinGroup


def card(name, family, topology, tier="named", backbone=""):
    source = name.partition(":")[0]
    labels = Labels(name, source, f"{source} 1", family, "image-classification", tier, backbone)
    return Card(
        labels, "cnn", paper_family(name), paper_block(name), 1, 1, 1, 0, topology, topology
    )


CARDS = [
    card("tv:resnet18", "resnet", "r18"),
    card("timm:resnet18", "resnet", "r18"),
    card("timm:resnet50", "resnet", "r50"),
    card("timm:vgg16", "vgg", "v16"),
    card("tv:vgg16", "vgg", "v16b"),
]
ROLES = {
    "tv:resnet18": "test",
    "timm:resnet18": "test",
    "timm:resnet50": "train",
    "timm:vgg16": "test",
    "tv:vgg16": "gallery",
}
GROUPS = [TwinGroup("resnet18", "ResNet-18", ("timm:resnet18", "tv:resnet18"), "arXiv:1", "")]


def asked(posed):
    return [posed.ids[position] for position in posed.asked()]


def test_a_member_is_its_card():
    one = member(card("smp:unet/vgg16", "unet", "u", "composed", "vgg"))
    assert (one.name, one.family, one.topology) == ("smp:unet/vgg16", "unet", "u")
    assert (one.backbone, one.is_named) == ("vgg", False)


def test_the_papers_rules_say_nothing_of_some_names():
    posed = paper_questions(CARDS, ROLES)
    assert asked(posed) == ["tv:resnet18", "timm:resnet18"]
    assert posed.relevant()[0] == 2  # its copy counts
    assert posed.gallery.all()


def test_families_of_the_code_ask_the_same_gallery():
    assert asked(family_questions(CARDS, ROLES)) == ["tv:resnet18", "timm:resnet18", "timm:vgg16"]


def test_one_architecture_stands_for_a_design():
    posed = distinct_questions(CARDS, ROLES)
    assert asked(posed) == ["timm:resnet18", "timm:vgg16"]
    assert posed.relevant()[posed.asked()].tolist() == [1, 1]
    assert posed.gallery.tolist() == [False, True, True, True, True]


def test_a_composed_model_is_kin_to_those_of_its_decoder_and_encoder():
    on_vgg, on_vit = (card(f"smp:unet/{it}", "unet", it, "composed", it) for it in ("vgg", "vit"))
    assert kin([on_vgg, on_vit, CARDS[0]]) == ["unet/vgg", "unet/vit", "resnet"]
    posed = family_questions(
        [on_vgg, on_vit, *CARDS], ROLES | {"smp:unet/vgg": "test"} | {"smp:unet/vit": "train"}
    )
    assert "smp:unet/vgg" not in asked(posed)


def test_with_the_decoder_alone_every_encoder_is_kin():
    on_vgg, on_vit = (card(f"smp:unet/{it}", "unet", it, "composed", it) for it in ("vgg", "vit"))
    posed = decoder_questions([on_vgg, on_vit], {"smp:unet/vgg": "test", "smp:unet/vit": "train"})
    assert asked(posed) == ["smp:unet/vgg"]


def test_twins_are_asked_for_in_other_libraries():
    posed = twin_questions(CARDS, GROUPS)
    assert asked(posed) == ["tv:resnet18", "timm:resnet18"]
    assert posed.relevant()[posed.asked()].tolist() == [1, 1]


def test_twins_of_one_library_make_no_question():
    with pytest.raises(InvalidInputError, match="relevant"):
        twin_questions(CARDS[:1], GROUPS)
