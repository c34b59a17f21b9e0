"""Protocols: who asks and who answers, on a corpus small enough to see."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmark.scoring.evaluate import score
from benchmark.scoring.metrics import METRICS
from benchmark.scoring.ranking import rank
from benchmark.tasks import asking
from benchmark.tasks.asking import (
    changed_questions,
    design_questions,
    family_questions,
    kin,
    lineage_questions,
    member,
    novelty_questions,
    paper_questions,
    parent_questions,
    twin_questions,
    unjudged_relatives,
)
from benchmark.tasks.protocols import PROTOCOLS
from nar.corpus import Card
from nar.graphs.architecture import Labels
from nar.labels.families import paper_block, paper_family
from nar.labels.lineage import TwinGroup


def card(name, family, topology, tier="named", backbone="", source=None, **others):
    library = source or name.partition(":")[0]
    labels = Labels(name, library, f"{library} 1", family, "image-classification", tier, backbone)
    sizes = dict.fromkeys(("parameters", "flops", "nodes", "edges"), 1)
    prints = dict.fromkeys(("topology", "exact", "inference"), topology)
    words = {"paper_family": paper_family(name), "paper_block": paper_block(name)}
    return Card(labels, "cnn", **{**words, **sizes, **prints, **others})


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
EDIT = card("timm:resnet18@gelu", "resnet", "r18g", source="edits")


def on(encoder, decoder="unet"):
    return card(f"smp:{decoder}/{encoder}", decoder, f"{decoder}{encoder}", "composed", encoder)


def asked(questions):
    return [questions.ids[row] for row in questions.asked()]


def right(questions, name):
    """Who answers rightly, and what that is worth."""
    (row,) = (
        row
        for row, item in enumerate(questions.queries.nonzero()[0])
        if questions.ids[item] == name
    )
    worth = questions.gains.toarray()[row]
    return {questions.ids[item]: worth[item] for item in worth.nonzero()[0]}


def test_a_member_is_its_card():
    one = member(card("smp:unet/vgg16", "unet", "u", "composed", "vgg"))
    assert (one.name, one.family, one.topology) == ("smp:unet/vgg16", "unet", "u")
    assert (one.backbone, one.is_named) == ("vgg", False)


def test_the_papers_rules_say_nothing_of_some_names():
    questions = paper_questions(CARDS, ROLES)
    assert asked(questions) == ["tv:resnet18", "timm:resnet18"]
    assert questions.relevant()[0] == 2  # its copy counts
    assert questions.gallery.all()


def test_families_of_the_code_ask_the_same_gallery():
    assert asked(family_questions(CARDS, ROLES)) == ["tv:resnet18", "timm:resnet18", "timm:vgg16"]


def test_one_architecture_stands_for_a_design():
    questions = design_questions(CARDS, ROLES)
    assert asked(questions) == ["timm:resnet18", "timm:vgg16"]
    assert right(questions, "timm:resnet18") == {"timm:resnet50": 1}
    assert questions.gallery.tolist() == [False, True, True, True, True]


def test_a_copy_of_a_right_answer_is_right_whatever_it_is_called():
    copy = card("a:other", "other", "r50")
    questions = design_questions([copy, *CARDS], {**ROLES, "a:other": "train"})
    assert right(questions, "timm:resnet18") == {"a:other": 1}  # stands for the design of ResNet-50


def test_tracks_keep_named_and_composed_models_apart():
    cards = [*CARDS, on("vgg"), on("resnet"), on("resnet", "fpn")]
    roles = {**ROLES, "smp:unet/vgg": "test", "smp:unet/resnet": "train", "smp:fpn/resnet": "test"}
    composed = partial(design_questions, cards, roles, tier="composed")
    assert right(design_questions(cards, roles), "timm:resnet18") == {"timm:resnet50": 1}
    decoders, encoders = composed(), composed(right=asking.encoders)
    assert right(decoders, "smp:unet/vgg") == {"smp:unet/resnet": 1}
    assert right(encoders, "smp:fpn/resnet") == {"smp:unet/resnet": 1}
    assert asked(composed(right=kin)) == []


def test_only_what_was_never_learned_asks_as_something_never_seen():
    cards = [*CARDS, on("vgg"), on("resnet"), on("vgg", "fpn")]
    roles = dict.fromkeys((each.labels.name for each in cards), "test") | {
        "smp:unet/resnet": "train"
    }
    composed = partial(design_questions, cards, roles, tier="composed", fresh=True)
    assert asked(composed()) == []  # something of U-Net was learned, and FPN has one design
    assert asked(composed(right=asking.encoders)) == ["smp:unet/vgg", "smp:fpn/vgg"]
    named = design_questions(cards, roles, fresh=True)
    assert asked(named) == ["timm:vgg16", "tv:vgg16"]  # U-Net on a ResNet was learned


def test_a_composed_model_is_kin_to_those_of_its_decoder_and_encoder():
    on_vgg, on_vit = on("vgg"), on("vit")
    assert kin([on_vgg, on_vit, CARDS[0]]) == ["unet/vgg", "unet/vit", "resnet"]
    roles = ROLES | {"smp:unet/vgg": "test", "smp:unet/vit": "train"}
    assert "smp:unet/vgg" not in asked(family_questions([on_vgg, on_vit, *CARDS], roles))


LINE = [
    card("a:resnet", "resnet", "1"),
    card("a:resnet_b", "resnet", "2"),
    card("a:vgg", "vgg", "3"),
    card("a:resnext", "resnext", "4"),
    card("a:densenet", "densenet", "5"),
    card("a:bert", "bert", "6"),
]
LINE_ROLES = dict.fromkeys((each.labels.name for each in LINE), "train") | {"a:resnext": "test"}


def test_relatives_are_worth_less_than_the_family_and_more_than_nothing():
    questions = lineage_questions(LINE, LINE_ROLES)
    assert right(questions, "a:resnext") == {"a:resnet": 2, "a:resnet_b": 2, "a:densenet": 1}
    held_out = {"a:resnet": "test", "a:resnet_b": "gallery"}
    of_resnet = lineage_questions(LINE, {**LINE_ROLES, **held_out})
    worth = right(of_resnet, "a:resnet")
    assert worth == {"a:resnet_b": 3, "a:vgg": 2, "a:resnext": 2, "a:densenet": 2}


@pytest.mark.parametrize("ask", [lineage_questions, parent_questions])
def test_who_asks_by_lineage_does_not_count_if_its_family_was_learned(ask):
    # A member of the family was held out for what it stands on; another one is learned from.
    assert asked(ask(LINE, {**LINE_ROLES, "a:resnet": "test"})) == ["a:resnext"]


def test_parents_are_asked_for_without_the_own_family():
    held_out = dict.fromkeys(("a:resnet", "a:resnet_b", "a:bert"), "test")
    questions = parent_questions(LINE[:1] + LINE[2:], {**LINE_ROLES, **held_out})
    assert asked(questions) == ["a:resnet", "a:resnext"]
    assert right(questions, "a:resnet") == {"a:vgg": 1}
    assert right(questions, "a:resnext") == {"a:resnet": 1}


def test_relatives_that_are_not_judged_neither_count_nor_cost():
    held_out = {"a:resnet": "test", "a:resnet_b": "gallery"}
    asking_resnet = {**LINE_ROLES, **held_out, "a:resnext": "train"}
    ask = partial(unjudged_relatives, LINE, asking_resnet)
    questions, strict = ask(), design_questions(LINE, asking_resnet)
    assert right(questions, "a:resnet") == {"a:resnet_b": 1}
    assert questions.digest() == strict.digest()  # the same rankings, judged otherwise
    # By their vectors ResNeXt, VGG and BERT stand before the other ResNet.
    vectors = np.array([[4, 0], [3, 3], [4, 1], [4, 0.5], [0, 1], [4, 2]], dtype=np.float32)
    ranking = rank(vectors, strict)
    judged = (score(ranking, each).values["mrr@20"].tolist() for each in (strict, questions))
    assert list(judged) == [[1 / 4], [1 / 2]]  # BERT is no relative, and costs still


def test_what_has_the_graph_of_a_right_answer_is_judged_though_it_is_a_relative():
    copy = card("a:copy", "resnext", "2")  # by name it stands for both
    cards = [*LINE[:1], copy, *LINE[2:]]
    roles = {**LINE_ROLES, "a:copy": "gallery", "a:resnet": "test"}
    questions = unjudged_relatives([*cards, LINE[1]], {**roles, "a:resnet_b": "gallery"})
    unjudged = {questions.ids[item] for item in questions.unjudged.toarray()[0].nonzero()[0]}
    assert unjudged == {"a:vgg", "a:resnext", "a:densenet"}


def test_new_and_known_designs_ask_what_was_learned():
    roles = {**LINE_ROLES, "a:resnet_b": "known"}
    questions = novelty_questions(LINE, roles)
    assert [questions.ids[row] for row in questions.queries.nonzero()[0]] == [
        "a:resnet_b",
        "a:resnext",
    ]
    assert questions.relevant().tolist() == [1, 0]
    assert not questions.gallery[3]


@pytest.fixture
def twins_of_resnet18(monkeypatch):
    members, later = ("timm:resnet18", "tv:resnet18"), ("mm:resnet-18",)
    group = TwinGroup("resnet18", "ResNet-18", members, "arXiv:1", "", later)
    monkeypatch.setattr(asking, "twins", lambda: (group,))


def test_twins_are_asked_for_in_other_libraries(twins_of_resnet18):
    questions = twin_questions(CARDS, ROLES)
    assert asked(questions) == ["tv:resnet18", "timm:resnet18"]
    assert right(questions, "tv:resnet18") == {"timm:resnet18": 1}


def test_implementations_that_came_later_answer_and_so_does_the_very_graph(twins_of_resnet18):
    later, copy = card("mm:resnet-18", "resnet", "m18"), card("hub:copy", "resnet", "r18")
    cards = [*CARDS, later, copy]
    questions = twin_questions(cards, {**ROLES, "mm:resnet-18": "gallery", "hub:copy": "train"})
    assert asked(questions) == ["tv:resnet18", "timm:resnet18"]
    assert right(questions, "tv:resnet18") == {
        "timm:resnet18": 1,
        "mm:resnet-18": 1,
        "hub:copy": 1,
    }


def test_whose_very_graph_another_library_has_does_not_count_among_the_differing(monkeypatch):
    resnet = TwinGroup("resnet18", "ResNet-18", ("timm:resnet18", "tv:resnet18"), "arXiv:1", "")
    vgg = TwinGroup("vgg16", "VGG-16", ("timm:vgg16", "tv:vgg16"), "arXiv:2", "")
    monkeypatch.setattr(asking, "twins", lambda: (resnet, vgg))
    rewritten = card("timm:vgg16@renumbered", "vgg", "v16", source="rewrites")
    cards, roles = [*CARDS, rewritten], {**ROLES, "timm:vgg16@renumbered": "test"}
    every, differing = (PROTOCOLS[f"twins{what}"].ask(cards, roles) for what in ("", "-differing"))
    assert asked(every) == ["tv:resnet18", "timm:resnet18", "timm:vgg16"]
    assert asked(differing) == ["timm:vgg16"]
    assert every.digest() == differing.digest()


def test_twins_of_one_library_have_no_answer(twins_of_resnet18):
    assert asked(twin_questions(CARDS[:1], ROLES)) == []


def test_a_changed_model_asks_for_its_original_or_its_family():
    cards, roles = [*CARDS, EDIT], {**ROLES, "timm:resnet18@gelu": "test"}
    ask = partial(changed_questions, cards, roles, source="edits")
    original = ask(right=asking.exact_graphs)
    assert asked(original) == ["timm:resnet18@gelu"]
    assert right(original, "timm:resnet18@gelu") == {"tv:resnet18": 1, "timm:resnet18": 1}
    family = right(ask(right=asking.families), "timm:resnet18@gelu")
    assert family.keys() == {"tv:resnet18", "timm:resnet18", "timm:resnet50"}
    assert not original.gallery[-1]


def test_what_is_right_for_a_rewritten_model_has_the_normal_form_of_its_original():
    folded = {"inference": "r18", "parameters": 1_000}
    cards = [
        *(replace(each, parameters=1_000) for each in CARDS),
        card("mm:resnet18_deploy", "resnet", "d18", **folded),
        card("mm:resnet18_wide", "resnet", "w18", **{**folded, "parameters": 4_000}),
        card("timm:resnet18@folded", "resnet", "f18", source="rewrites", **folded),
        card("timm:resnet18@wide", "resnet", "x18", source="rewrites", parameters=4_000),
    ]
    names = [each.labels.name for each in cards]
    roles = {**dict.fromkeys(names, "gallery"), **dict.fromkeys(names[-2:], "test")}
    questions = PROTOCOLS["rewrites"].ask(cards, roles)
    same = {"tv:resnet18": 1, "timm:resnet18": 1, "mm:resnet18_deploy": 1}
    # However it was changed: what is right is what its original is.
    assert right(questions, "timm:resnet18@folded") == same
    assert right(questions, "timm:resnet18@wide") == same
    by_graph = changed_questions(cards, roles, source="rewrites", right=asking.exact_graphs)
    assert right(by_graph, "timm:resnet18@folded").keys() == {"tv:resnet18", "timm:resnet18"}
    assert by_graph.digest() == questions.digest()  # rankings do not ask what is right


def test_a_changed_model_answers_nobody():
    cards, roles = [*CARDS, EDIT], {**ROLES, "timm:resnet18@gelu": "test"}
    for protocol in PROTOCOLS.values():
        questions = protocol.ask(cards, roles)
        assert not questions.gallery[-1]


def test_every_protocol_is_judged_by_a_metric_that_there_is():
    known = {name for metric in METRICS for name in metric.names()}
    assert {each.headline for each in PROTOCOLS.values()} <= known
