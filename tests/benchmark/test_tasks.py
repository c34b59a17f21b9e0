"""Tasks: what is learned, what is asked, and that nothing of the one is in the other."""

import pytest
from graphs import resnet

from benchmark.tasks.asking import original_name
from benchmark.tasks.datasets import DataSet
from benchmark.tasks.frozen import SEEDS
from benchmark.tasks.task import load_task, make_task
from nar.base.errors import InvalidInputError
from nar.corpus import read_cards, write_shard
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical

ROLES = {
    "a:resnet1": "train",
    "a:resnet2": "validation",
    "a:resnet3": "test",
    "b:net1": "train",
    "b:net2": "test",
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    items = [
        architecture(
            Labels(name, name[0], f"{name[0]} 1", f"family-{name[0]}", "image-classification"),
            canonical(resnet([place + 1])),
        )
        for place, name in enumerate(ROLES)
    ]
    path = tmp_path_factory.mktemp("dataset") / "shard.parquet"
    write_shard(path, items)
    return DataSet("small", tuple(read_cards(path)), tuple(item.graph for item in items))


def asked(task, protocol):
    questions = task.asked[protocol]
    return [questions.ids[row] for row in questions.asked()]


def test_only_training_rows_have_targets(dataset):
    task = make_task(dataset, "distinct", ROLES, seed=0)
    assert task.train.tolist() == [0, 3]
    assert task.targets.families.tolist() == [0, 1]
    assert task.targets.classes.tolist() == [0, 0]
    assert [graph.nodes for graph in task.learned()] == [
        dataset.graphs[0].nodes,
        dataset.graphs[3].nodes,
    ]
    assert asked(task, "distinct-named") == ["a:resnet3", "b:net2"]


def test_what_selects_a_model_asks_instead_of_the_test(dataset):
    task = make_task(dataset, "distinct", ROLES, seed=0, held="validation")
    assert asked(task, "distinct-named") == ["a:resnet2"]
    assert task.train.tolist() == [0, 3]


def test_a_name_without_a_printed_class_is_like_nobody_and_does_not_ask(dataset):
    task = make_task(dataset, "paper", ROLES, seed=0)
    assert len(set(task.targets.families.tolist())) == 2
    assert task.targets.classes.tolist() == [0, 1]
    assert asked(task, "paper") == ["a:resnet3"]


def test_protocols_that_a_small_data_set_has_no_answer_to_are_left_out(dataset):
    task = make_task(dataset, "distinct", ROLES, seed=0)
    assert set(task.asked) == {
        "distinct-named",
        "distinct-named-relatives-unjudged",
        "distinct-all",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "imaginary"}, "data: wanted one of real, nas-2"),
        ({"data": "nas-4", "split": "unseen"}, "split: wanted one of paper for nas-4"),
        ({"split": "guess"}, "split: wanted one of paper, distinct, unseen, copies for real"),
        ({"data": "real", "seed": 9}, "seed: wanted one of 0, 1, 2, 3, 4, came 9"),
    ],
)
def test_what_there_is_not_is_named(tmp_path, change, message):
    wanted = {"data": "real", "split": "paper", "seed": 0} | change
    with pytest.raises(InvalidInputError) as caught:
        load_task(**wanted, cache_directory=tmp_path)
    assert message in str(caught.value)


@pytest.mark.slow
def test_the_real_tasks_ask_designs_that_are_not_learned(real, real_task):
    assert len(real.graphs) > 12_517
    for split in ("distinct", "unseen", "copies"):
        task = real_task(split, 0)
        assert task.graphs is real.graphs  # read once in a process
        learned = {real.cards[row].topology for row in task.train}
        for name, questions in task.asked.items():
            asking = {real.cards[row].topology for row in questions.asked()}
            assert learned.isdisjoint(asking) or name.startswith(("edits", "parts"))


# What nothing may have been learned of: the family, the encoder of a composed model, or both.
HALVES = {
    "unseen-named": ("family",),
    "unseen-composed-decoder": ("family",),
    "unseen-composed-encoder": ("backbone",),
    "unseen-composed-both": ("family", "backbone"),
    "lineage": ("family",),
    "lineage-parents": ("family",),
    "edits-original-unseen": ("family",),
    "edits-family-unseen": ("family",),
    "parts-original-unseen": ("family",),
    "parts-family-unseen": ("family",),
}


@pytest.mark.slow
@pytest.mark.parametrize("held", ["test", "validation"])
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_that_asks_under_unseen_is_of_a_family_that_was_learned(
    real, real_task, seed, held
):
    cards = real.cards
    task = real_task("unseen", seed, held)
    learned = [cards[row].labels for row in task.train]
    seen = {each.family for each in learned} | {each.backbone for each in learned}
    by_name = {card.labels.name: card.labels for card in cards}
    for protocol, halves in HALVES.items():
        asking = [by_name[original_name(cards[row])] for row in task.asked[protocol].asked()]
        assert asking, protocol
        of_asking = {getattr(labels, half) for labels in asking for half in halves}
        assert seen.isdisjoint(of_asking), protocol


@pytest.mark.slow
def test_no_family_that_selects_a_model_under_unseen_asks_in_a_test(real, real_task):
    cards = real.cards

    def families(seed, held):
        task = real_task("unseen", seed, held)
        rows = {
            row
            for name, questions in task.asked.items()
            if name != "novelty"
            for row in questions.asked().tolist()
        }
        labels = [cards[row].labels for row in rows]
        return {each.family for each in labels} | {each.backbone for each in labels} - {""}

    selecting = families(0, "validation")
    assert selecting
    for seed in SEEDS:
        assert selecting.isdisjoint(families(seed, "test")), seed
