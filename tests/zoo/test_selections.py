"""Selections: what the jobs capture when they are given one word."""

from collections import Counter

import pytest

from nar.errors import UnknownArchitectureError
from nar.zoo import list_specs, resolve
from nar.zoo.selections import select


def test_the_demo_has_relatives_of_many_families_from_all_libraries():
    names = select("demo")
    families = Counter(resolve(name).labels.family for name in names)
    assert len(set(names)) == len(names) >= 300
    assert sum(members >= 4 for members in families.values()) >= 15
    assert {name.partition(":")[0] for name in names} == {"timm", "torchvision", "transformers"}


def test_the_demo_leaves_out_the_model_it_asks_for():
    assert "timm:convnext_tiny" not in select("demo")


@pytest.mark.parametrize("source", ["timm", "torchvision", "transformers"])
def test_a_source_selects_all_it_has(source):
    assert select(source) == list_specs(source)


def test_darts_networks_come_in_ten_classes():
    names = select("darts:40")
    families = Counter(resolve(name).labels.family for name in names)
    assert families == {f"darts-{label}": 4 for label in range(10)}
    assert names == select("darts:100")[:40]


@pytest.mark.parametrize("selection", ["everything", "darts:many", "timm:10"])
def test_unknown_selections_are_answered_with_the_known(selection):
    with pytest.raises(UnknownArchitectureError, match="wanted demo, darts:<count>"):
        select(selection)
