"""The atlas in one line: what is asked in four ways is one model, and answers show themselves."""

import warnings

import numpy as np
import pytest
import torch
from graphs import resnet
from torch import nn

import nar
from nar.answers.words import body_text
from nar.ask import Shown, architecture_of
from nar.base.errors import InvalidInputError
from nar.index.filters import Filter
from nar.zoo.libraries import import_library


@pytest.fixture(scope="module")
def module():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


@pytest.fixture(scope="module")
def answers(module):
    example = torch.zeros(1, 3, 64, 64)
    return [
        nar.search(module, example, top_k=3),
        nar.motifs_of(module, example),
        nar.diff(module, "timm:resnet18", example),
    ]


@pytest.mark.slow
def test_a_module_a_graph_and_an_architecture_are_asked_alike(module):
    captured = nar.capture_module(module, torch.zeros(1, 3, 64, 64)).graph
    asked = [nar.search(captured, top_k=3), nar.search(module, torch.zeros(1, 3, 64, 64), top_k=3)]
    assert asked[0].answer.hits == asked[1].answer.hits


@pytest.mark.slow
def test_a_name_of_the_atlas_is_known():
    relatives = nar.search("timm:resnet50", top_k=2, wanted=Filter(families=("resnet",)))
    assert "timm:resnet50" in [hit.name for hit in relatives.answer.same_network]
    assert nar.novelty_of("timm:resnet50") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Filter(families=("resnte",)), "wanted.families: the index has no 'resnte'; it has resnet"),
        (Filter(none_of=(Filter(sources=("tim",)),)), "wanted.sources: the index has no 'tim'"),
    ],
)
def test_a_misspelt_filter_is_told_with_what_is_near(wanted, said):
    with pytest.raises(InvalidInputError, match=said):
        nar.search("timm:resnet18", wanted=wanted)


def test_what_nobody_has_drawn_is_new(module):
    novelty = nar.novelty_of(module, torch.zeros(1, 3, 64, 64))
    assert 0 < novelty <= 100


def test_a_graph_in_any_numbering_is_the_same_motifs():
    assert nar.motifs_of(resnet([2])).cut.counts()


@pytest.mark.parametrize(
    "example",
    [None, (1, 3, 64, 64), [(1, 3, 64, 64)], "1x3x64x64", torch.zeros(1, 3, 64, 64, device="meta")],
    ids=repr,
)
def test_a_module_brings_its_inputs_in_any_form_or_none(module, example):
    alike = architecture_of(module, torch.zeros(1, 3, 64, 64))
    assert architecture_of(module, example).exact == alike.exact


@pytest.mark.slow
def test_a_module_of_transformers_needs_none_and_is_left_as_it_was():
    library = import_library("transformers")
    with torch.device("meta"):
        model = library.MixtralForCausalLM(library.MixtralConfig())
    before = model.config._experts_implementation, model.config.use_cache
    same = nar.search(model, top_k=1).answer.same_network
    assert "transformers:mixtral/MixtralForCausalLM" in [hit.name for hit in same]
    assert (model.config._experts_implementation, model.config.use_cache) == before


@pytest.mark.slow
def test_every_answer_shows_itself(answers):
    for answer in answers:
        assert isinstance(answer, Shown)
        assert "Sequential" in repr(answer)
        text = answer._repr_html_()
        assert text.startswith('<div class="nar">')
        assert "<table>" in text
        assert "<script" not in text
        assert "functools" not in text  # the text of an object, in place of what it shows


@pytest.mark.slow
def test_every_answer_becomes_a_table(answers):
    relatives, motifs, compared = (answer.to_arrow() for answer in answers)
    assert (relatives.num_rows, relatives["score"].to_pylist()[0] <= 1) == (3, True)
    assert motifs.column_names == ["code", "operators", "times"]
    assert compared.column_names == ["code", "operators", "first", "second"]
    assert list(answers[0].to_pandas()["name"]) == relatives["name"].to_pylist()


@pytest.mark.slow
def test_an_answer_begins_with_what_the_model_is(module):
    assert repr(nar.search("resnet50", top_k=1)).startswith(
        "This network is already known as timm:"
    )
    unlike = nar.search(module, torch.zeros(1, 3, 64, 64), top_k=1)
    said = {"near": "It has no close relative", "unlike": "Nothing in the index is near it"}
    assert said[unlike.resemblance.word] in repr(unlike)


@pytest.mark.slow
def test_who_has_the_body_of_a_model_is_said():
    mine = import_library("timm").create_model("convnext_tiny")
    mine.head.fc = nn.Sequential(nn.Linear(768, 64), nn.GELU(), nn.Linear(64, 5))
    told = nar.search(mine, torch.zeros(1, 3, 224, 224), top_k=1)
    assert told.bodies[0].differs == ("head",)
    assert body_text(told.bodies[0]) in " ".join(repr(told).split())
    name = "transformers:convnext/ConvNextModel@convnext-tiny-224"
    compared = nar.diff("timm:convnext_tiny", name)
    assert compared.difference.differs == ("head",)
    assert "differ in the head alone" in repr(compared)


@pytest.mark.slow
def test_hits_are_drawn_on_the_map():
    figure = nar.search("timm:resnet50", top_k=5).plot()
    (axes,) = figure.axes
    everything, near, own = (each.get_offsets() for each in axes.collections)
    assert (len(everything), len(near), len(own)) == (30_500, 5, 1)
    assert np.allclose(own[0], near[:3].mean(axis=0))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "5 relatives", "timm:resnet50",
    ]  # fmt: skip


def folded(name, head):
    """A network of torchvision with another head, as it is deployed: with its norms folded."""
    # Its import warns of what torch itself does.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.fx.experimental.optimization import fuse
    models = import_library("torchvision").models
    module = models.get_model(name)
    *_, (path, last) = ((path, each) for path, each in module.named_modules() if is_linear(each))
    module.set_submodule(path, head(last.in_features))
    return fuse(module.eval())


def is_linear(module):
    return isinstance(module, nn.Linear)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "classes"),
    [("resnet18", 10), ("mobilenet_v2", 5), ("regnet_x_400mf", 7), ("vgg11_bn", 37)],
)
def test_a_model_that_was_trained_for_other_classes_and_deployed_is_known(name, classes):
    module = folded(name, lambda features: nn.Linear(features, classes))
    relatives = nar.search(module, torch.zeros(1, 3, 224, 224))
    answer = relatives.answer
    assert {hit.family for hit in answer.same_design} >= {FAMILIES[name]}
    assert answer.novelty == 0
    assert all(each.design == "widths" for each in answer.changes)
    said = repr(relatives)
    assert "This design is already known, in other widths, as" in said
    for wrong in ("Novelty", "wired or ordered otherwise", "No architecture"):
        assert wrong not in said


FAMILIES = {
    "resnet18": "resnet",
    "mobilenet_v2": "mobilenet_v2",
    "regnet_x_400mf": "regnet",
    "vgg11_bn": "vgg",
}


@pytest.mark.slow
def test_another_kind_of_head_makes_another_design_of_a_deployed_body():
    module = folded(
        "resnet18",
        lambda features: nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, 3)),
    )
    answer = nar.search(module, torch.zeros(1, 3, 224, 224)).answer
    assert not answer.is_known
    assert answer.bodies[0].differs == ("head",)
