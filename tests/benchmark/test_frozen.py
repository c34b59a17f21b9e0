"""The frozen ids: drawn from a corpus always the same, and read back as they were."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.tasks.frozen import SEEDS, SPLITS, draw, read, roles_of, without_aliases
from benchmark.tasks.task import _learned
from nar.base.errors import CorpusError
from nar.corpus import Corpus, shipped_corpus
from nar.labels.lineage import twins


@pytest.fixture(scope="module")
def cards():
    return list(Corpus(shipped_corpus()).cards())


@pytest.fixture(scope="module")
def table():
    return read()


@pytest.mark.slow
def test_ids_are_drawn_alike_in_any_order(cards):
    assert draw(cards) == draw(cards[::-1])


def test_the_shipped_corpus_has_every_frozen_id(cards, table):
    """They are frozen: a corpus that is captured anew gains names, and loses none."""
    assert {*table.column("name").to_pylist()} <= {card.labels.name for card in cards}


def test_the_benchmark_is_as_large_as_that_of_the_paper(cards, table):
    names = set(table.column("name").to_pylist())
    assert len({card.exact for card in cards if card.labels.name in names}) > 12_517


@pytest.mark.slow
@pytest.mark.parametrize("split", [each for each in SPLITS if each != "paper"])
def test_of_no_design_that_asks_anything_is_learned(split, cards):
    topology = np.array([card.topology for card in cards])
    for seed in SEEDS:
        roles = {card.labels.name: "gallery" for card in cards} | roles_of(read(), split, seed)
        assert set(roles.values()) >= {"train", "validation", "test"}
        learned = {*topology[_learned(cards, split, roles)]}
        asked = {
            topology[row] for row, card in enumerate(cards) if roles[card.labels.name] == "test"
        }
        assert learned
        assert learned.isdisjoint(asked)


def test_every_captured_twin_asks_under_one_of_its_names(cards, table):
    network = {card.labels.name: (card.labels.source, card.exact) for card in cards}
    members = {network[name] for group in twins() for name in group.members if name in network}
    asking = {
        network[name]
        for seed in SEEDS
        for name, role in roles_of(table, "copies", seed).items()
        if role in ("test", "validation")
    }
    assert asking <= members
    # A design that selects a model under another split asks in no test, and halves are drawn.
    assert len(asking) > 0.6 * len(members)


def test_what_selects_a_model_is_tested_in_no_split_with_no_seed(cards, table):
    topology = {card.labels.name: card.topology for card in cards}
    every = [roles_of(table, split, seed) for split in SPLITS for seed in SEEDS]
    selecting = {
        topology[n] for roles in every for n, role in roles.items() if role == "validation"
    }
    tested = {
        topology[n] for roles in every for n, role in roles.items() if role in ("test", "known")
    }
    assert selecting
    assert tested
    assert selecting.isdisjoint(tested)


def test_of_a_family_held_out_nothing_is_learned_nor_of_what_stands_on_it(cards, table):
    labels = {card.labels.name: card.labels for card in cards}
    for seed in SEEDS:
        roles = roles_of(table, "unseen", seed)
        learned = [labels[name] for name, role in roles.items() if role == "train"]
        seen = {each.family for each in learned} | {each.backbone for each in learned}
        held = [labels[name] for name, role in roles.items() if role in ("test", "validation")]
        assert all({each.family, each.backbone} - seen - {""} for each in held)


def test_a_network_of_two_names_in_one_source_stands_once(cards):
    left = list(without_aliases(cards))
    assert len({(card.labels.source, card.exact) for card in cards}) == len(left)


def test_a_file_that_holds_something_else_is_named(tmp_path):
    path = tmp_path / "other.parquet"
    with pytest.raises(CorpusError, match=r"other\.parquet holds no frozen splits"):
        read(path)
    pq.write_table(pa.table({"name": ["a"]}), path)
    with pytest.raises(CorpusError, match="it lacks copies_0"):
        read(path)
