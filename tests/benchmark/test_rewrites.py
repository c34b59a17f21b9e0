"""Rewritten models as a data set: captured on a tiny model, and the shipped file as it is."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.rewriting.attempts import capture_rewritten, model_names
from benchmark.tasks.asking import REWRITTEN, original_name
from benchmark.tasks.protocols import PROTOCOLS
from nar.corpus import read_cards, write_shard

CNN = "timm:test_resnet"


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    path = tmp_path_factory.mktemp("rewrites") / "rewrites.parquet"
    write_shard(path, capture_rewritten([CNN]))
    return list(read_cards(path))


def roles_of(cards):
    return {
        card.labels.name: "test" if card.labels.source == REWRITTEN else "gallery" for card in cards
    }


def test_what_was_rewritten_asks_for_its_original(cards):
    asked = PROTOCOLS["rewrites"].ask(cards, roles_of(cards))
    assert asked.gallery.tolist() == [name == CNN for name in asked.ids]
    assert (asked.queries != asked.gallery).all()
    assert set(asked.relevant().tolist()) == {1}
    assert {name.rpartition("@")[0] for name in asked.ids} - {""} == {CNN}
    assert f"{CNN}@renumbered" in asked.ids


def test_another_size_of_a_design_is_as_good_where_designs_are_asked_for(cards):
    (first, *others) = cards
    labels, parameters = replace(first.labels, name="wider"), 2 * first.parameters
    wider = replace(first, labels=labels, exact="another", parameters=parameters)
    every = [first, wider, *others]
    exact, design = (
        PROTOCOLS[name].ask(every, roles_of(every)) for name in ("rewrites", "rewrites-design")
    )
    assert first.labels.name == CNN
    assert set(exact.relevant().tolist()) == {1}
    assert set(design.relevant().tolist()) == {2}


@pytest.mark.slow
def test_the_shipped_file_asks_of_every_original(real):
    names = [card.labels.name for card in real.cards]
    assert set(model_names()) < set(names)
    assert len(set(names)) == len(names)
    written = [card for card in real.cards if card.labels.source == REWRITTEN]
    assert len(written) > 900
    assert {original_name(card) for card in written} <= set(model_names())


@pytest.mark.slow
def test_no_design_is_learned_from_that_was_rewritten(real, real_task):
    task = real_task("copies", 0)
    learned = {real.cards[row].topology for row in task.train}
    rewritten = {c.topology for c in real.cards if c.labels.name in set(model_names())}
    assert learned.isdisjoint(rewritten)
    for asked in task.asked.values():
        assert not np.isin(np.flatnonzero(asked.queries), task.train).any()


@pytest.mark.slow
def test_originals_that_select_a_model_are_not_tested(real_task):
    asking = {}
    for held in ("test", "validation"):
        task = real_task("copies", 0, held)
        asked = task.asked["rewrites"]
        asking[held] = {asked.ids[row].rpartition("@")[0] for row in asked.asked()}
    assert asking["test"].isdisjoint(asking["validation"])
    assert asking["test"] | asking["validation"] == set(model_names())
