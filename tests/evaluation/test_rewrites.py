"""Rewritten models as a data set: captured on a tiny model, and the shipped file as it is."""

from dataclasses import replace

import numpy as np
import pytest

from nar.corpus import read_cards, write_shard
from nar.evaluation.benchmark.datasets import REAL, REWRITES, load_dataset
from nar.evaluation.benchmark.protocols import (
    REWRITTEN,
    rewrite_questions,
    rewrite_roles,
    rewritten_design_questions,
)
from nar.evaluation.benchmark.tasks import load_task
from nar.evaluation.rewriting import model_names
from nar.evaluation.rewriting.dataset import capture_rewritten

CNN = "timm:test_resnet"


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    path = tmp_path_factory.mktemp("rewrites") / "rewrites.parquet"
    write_shard(path, capture_rewritten([CNN]))
    return list(read_cards(path))


def test_what_was_rewritten_asks_for_its_original(cards):
    asked = rewrite_questions(cards, {})
    original = asked.ids.index(CNN)
    assert asked.gallery.tolist() == [name == CNN for name in asked.ids]
    assert (asked.queries != asked.gallery).all()
    assert (asked.relevance[asked.queries] == asked.relevance[original]).all()
    assert {name.rpartition("@")[0] for name in asked.ids} - {""} == {CNN}
    assert f"{CNN}@renumbered" in asked.ids


def test_another_size_of_a_design_is_as_good_where_designs_are_asked_for(cards):
    (first, *others) = cards
    wider = replace(first, labels=replace(first.labels, name="wider"), exact="another")
    exact, design = (
        ask([first, wider, *others], {}) for ask in (rewrite_questions, rewritten_design_questions)
    )
    assert first.labels.name == CNN
    assert set(exact.relevant()[exact.queries].tolist()) == {1}
    assert set(design.relevant()[design.queries].tolist()) == {2}


def test_a_design_that_was_rewritten_is_not_learned_from(cards):
    roles = rewrite_roles(cards)
    assert roles.pop(CNN) == "gallery"
    assert set(roles.values()) == {"test"}


def test_the_shipped_file_has_every_original_once(tmp_path):
    whole, real = load_dataset(REWRITES, tmp_path), load_dataset(REAL, tmp_path)
    names = [card.labels.name for card in whole.cards]
    assert names[: len(real.cards)] == [card.labels.name for card in real.cards]
    assert set(model_names()) < set(names)
    assert len(set(names)) == len(names)
    written = [card for card in whole.cards if card.labels.source == REWRITTEN]
    assert len(written) > 900


def test_nothing_that_asks_was_learned_from(tmp_path):
    task = load_task(REWRITES, REWRITES, 0, cache_directory=tmp_path)
    whole = load_dataset(REWRITES, tmp_path)
    learned = {whole.cards[row].topology for row in task.train}
    assert not learned & {
        card.topology for card in whole.cards if card.labels.name in set(model_names())
    }
    assert not np.isin(np.flatnonzero(task.asked.queries), task.train).any()
