"""Selections: what the jobs capture when they are given one word."""

from collections import Counter

import pytest

from nar.errors import MissingLibraryError, UnknownArchitectureError
from nar.zoo import list_specs, resolve, selections, source_names
from nar.zoo.selections import select


def test_the_demo_has_relatives_of_many_families_from_all_libraries():
    names = select("demo").names
    families = Counter(resolve(name).labels.family for name in names)
    assert len(set(names)) == len(names) >= 300
    assert sum(members >= 4 for members in families.values()) >= 15
    assert {name.partition(":")[0] for name in names} == {"timm", "torchvision", "transformers"}


def test_the_demo_leaves_out_the_model_it_asks_for():
    assert "timm:convnext_tiny" not in select("demo").names


@pytest.mark.parametrize("source", ["timm", "torchvision", "transformers"])
def test_a_source_selects_all_it_has(source):
    assert list(select(source).names) == list_specs(source)


def test_the_corpus_has_all_that_libraries_register_once():
    found = select("corpus")
    sources = {name.partition(":")[0] for name in found.names}
    assert sources.isdisjoint(found.skipped)
    assert sources | found.skipped.keys() == set(source_names()) - {"darts"}
    assert len(set(found.names)) == len(found.names) > 2_000


def test_an_absent_library_is_skipped_with_the_way_out(monkeypatch):
    def listed(source):
        if source == "timm":
            raise MissingLibraryError("timm is not installed: pip install 'nar[timm]'")
        return [f"{source}:one"]

    monkeypatch.setattr(selections, "list_specs", listed)
    found = select("corpus")
    assert found.skipped == {"timm": "timm is not installed: pip install 'nar[timm]'"}
    assert "timm:one" not in found.names
    assert "torchvision:one" in found.names


def test_darts_networks_come_in_ten_classes():
    names = select("darts:40").names
    families = Counter(resolve(name).labels.family for name in names)
    assert families == {f"darts-{label}": 4 for label in range(10)}
    assert names == select("darts:100").names[:40]


@pytest.mark.parametrize("selection", ["everything", "darts:many", "timm:10"])
def test_unknown_selections_are_answered_with_the_known(selection):
    with pytest.raises(UnknownArchitectureError, match="wanted corpus, demo, darts:<count>"):
        select(selection)
