"""What is done to weights before they are recognised, and the page of it."""

import random

import pytest

from benchmark.recognised import CHANGES, as_markdown, ask, distinct, names_in
from nar.corpus.signatures import Signatures, write_signatures
from nar.graphs.weights import weights_of


def stack(layers, width=8):
    """A small stack of layers with a head."""
    shapes = {f"layers.{each}.query.weight": (width, width) for each in range(layers)}
    shapes |= {f"layers.{each}.norm.weight": (width,) for each in range(layers)}
    return {"words.weight": (500, width), **shapes, "head.weight": (90, width), "head.bias": (90,)}


MODELS = {"a:six": stack(6), "a:nine": stack(9), "a:wide": stack(6, 16), "a:again": stack(6)}
CHANGED = {each.name: each for each in CHANGES}


@pytest.fixture(scope="module")
def signatures(tmp_path_factory):
    path = tmp_path_factory.mktemp("signatures") / "s.parquet"
    write_signatures(path, [(name, weights_of(shapes)) for name, shapes in MODELS.items()])
    return Signatures(path)


def changed(name):
    return CHANGED[name].apply(MODELS["a:six"], random.Random(0))


def test_a_prefix_leaves_shapes_as_they_are():
    assert list(changed("another prefix").values()) == list(MODELS["a:six"].values())


@pytest.mark.parametrize("name", ["first or second half", "half, drawn"])
def test_a_half_has_half_of_the_weights(name):
    assert len(changed(name)) in {7, 8}
    assert changed(name).items() <= MODELS["a:six"].items()


def test_another_head_changes_its_weight_and_its_bias():
    other = {name for name, shape in changed("another head").items() if shape[0] != 90}
    assert {"head.weight", "head.bias"} <= other
    assert changed("another head")["head.weight"][1] == 8


def test_another_vocabulary_changes_the_largest_table():
    shapes = changed("another vocabulary")
    assert shapes["words.weight"][0] != 500
    assert {name: shape for name, shape in shapes.items() if shape[0] != 500} != MODELS["a:six"]


def test_an_adapter_stands_beside_what_it_changes():
    beside, alone = changed("unmerged LoRA"), changed("LoRA alone")
    assert set(alone) < set(beside) | set(alone)
    assert any("base_layer" in name for name in beside)
    assert weights_of(beside).shapes == weights_of(MODELS["a:six"]).shapes


def test_models_of_equal_shapes_are_drawn_once():
    assert distinct(MODELS.items(), 10).keys() == {"a:six", "a:nine", "a:wide"}
    assert distinct(iter(MODELS.items()), 1).keys() == {"a:six"}


def test_a_seed_draws_names_of_one_tier():
    order = [(name, "named" if name < "a:t" else "swept") for name in MODELS]
    assert sorted(names_in(order, "named", 0)) == ["a:again", "a:nine", "a:six"]
    assert names_in(order, "", 0) == names_in(order[::-1], "", 0)
    assert set(names_in(order, "", 0)) == MODELS.keys()


def test_the_page_counts_what_is_right(signatures):
    asked = ask(distinct(MODELS.items(), 10), signatures)
    assert {one.place for one in asked if one.change.name == "another prefix"} == {1}
    text = as_markdown({"stacks": asked}, 4)
    assert "## 3 stacks" in text
    assert "| another prefix | 3 | 1.000 | 1.000 | 1.000 |" in text
    assert "python -m benchmark recognised" in text
