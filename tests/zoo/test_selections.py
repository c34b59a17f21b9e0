"""Selections: what the jobs capture when they are given one word."""

from collections import Counter

import pytest

from nar.base.errors import InvalidInputError, MissingLibraryError, UnknownArchitectureError
from nar.own import resolve
from nar.zoo import selections
from nar.zoo.selections import select
from nar.zoo.sources import list_specs, source_names


def test_the_demo_has_relatives_of_many_families_from_all_libraries():
    names = select("demo").names
    families = Counter(resolve(name).labels.family for name in names)
    assert len(set(names)) == len(names) >= 300
    assert sum(members >= 4 for members in families.values()) >= 15
    assert {name.partition(":")[0] for name in names} == {"timm", "torchvision", "transformers"}


def test_the_demo_leaves_out_the_model_it_asks_for():
    assert "timm:convnext_tiny" not in select("demo").names


@pytest.mark.slow
@pytest.mark.parametrize("source", ["timm", "torchvision", "transformers"])
def test_a_source_selects_all_it_has(source):
    assert list(select(source).names) == list_specs(source)


@pytest.mark.slow
def test_the_corpus_has_all_that_libraries_register_once():
    selection = select("corpus")
    sources = {name.partition(":")[0] for name in selection.names}
    assert sources.isdisjoint(selection.skipped)
    assert sources | selection.skipped.keys() == set(source_names()) - {"darts"}
    assert len(set(selection.names)) == len(selection.names) > 2_000


def test_an_absent_library_is_skipped_with_the_way_out(monkeypatch):
    def listed(source):
        if source == "timm":
            raise MissingLibraryError("timm is not installed: pip install '.[timm]'")
        return [f"{source}:one"]

    monkeypatch.setattr(selections, "list_specs", listed)
    selection = select("corpus")
    assert selection.skipped == {"timm": "timm is not installed: pip install '.[timm]'"}
    assert "timm:one" not in selection.names
    assert "torchvision:one" in selection.names


def test_darts_networks_come_in_ten_classes():
    names = select("darts:40").names
    families = Counter(resolve(name).labels.family for name in names)
    assert families == {f"darts-{label}": 4 for label in range(10)}
    assert names == select("darts:100").names[:40]


def test_of_more_networks_than_are_captured_one_by_one_the_way_is_named():
    with pytest.raises(
        InvalidInputError, match=r"at most 10000 of darts, came 10001; .*cluster\.draw"
    ):
        select("darts:10001")


@pytest.mark.parametrize("selection", ["everything", "darts:many", "timm:10"])
def test_unknown_selections_are_answered_with_the_known(selection):
    with pytest.raises(UnknownArchitectureError, match="wanted corpus, demo, darts:<count>"):
        select(selection)
