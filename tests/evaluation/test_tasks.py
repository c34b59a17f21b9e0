"""Tasks: what is learned, what is asked, and that nothing of the one is in the other."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import resnet

from nar.architecture import Labels, architecture
from nar.canonical import canonical
from nar.corpus import read_cards, write_shard
from nar.errors import InvalidInputError
from nar.evaluation.benchmark.datasets import DataSet, load_dataset
from nar.evaluation.benchmark.tasks import PROTOCOLS, load_task, make_task

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
            canonical(resnet([number + 1])),
        )
        for number, name in enumerate(ROLES)
    ]
    path = tmp_path_factory.mktemp("dataset") / "shard.parquet"
    write_shard(path, items)
    return DataSet("small", tuple(read_cards(path)), tuple(item.graph for item in items))


def asked(task):
    return [task.asked.ids[position] for position in task.asked.asked()]


def test_only_training_rows_have_targets(dataset):
    task = make_task("small/family", dataset, PROTOCOLS["family"], ROLES, seed=0)
    assert task.train.tolist() == [0, 3]
    assert task.targets.families.tolist() == [0, 1]
    assert task.targets.classes.tolist() == [0, 0]
    assert [graph.nodes for graph in task.learned()] == [
        dataset.graphs[0].nodes,
        dataset.graphs[3].nodes,
    ]
    assert asked(task) == ["a:resnet3", "b:net2"]


def test_what_selects_a_model_asks_instead_of_the_test(dataset):
    protocol = PROTOCOLS["family"]
    task = make_task("small/family", dataset, protocol, ROLES, seed=0, held="validation")
    assert asked(task) == ["a:resnet2"]
    assert task.train.tolist() == [0, 3]


def test_a_name_without_a_printed_class_is_like_nobody_and_does_not_ask(dataset):
    task = make_task("small/paper", dataset, PROTOCOLS["paper"], ROLES, seed=0)
    assert len(set(task.targets.families.tolist())) == 2
    assert task.targets.classes.tolist() == [0, 1]
    assert asked(task) == ["a:resnet3"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "imaginary"}, "data: wanted one of real, rewrites, nas-2"),
        ({"data": "rewrites"}, "protocol: wanted one of rewrites, rewrites-design for rewrites"),
        ({"protocol": "guess"}, "protocol: wanted one of paper, family"),
        ({"data": "real", "seed": 9}, "seed: wanted one of 0, 1, 2, came 9"),
    ],
)
def test_what_there_is_not_is_named(tmp_path, change, message):
    wanted = {"data": "real", "protocol": "paper", "seed": 0} | change
    with pytest.raises(InvalidInputError) as caught:
        load_task(**wanted, cache_directory=tmp_path)
    assert message in str(caught.value)


def test_the_real_tasks_ask_designs_that_are_not_learned(tmp_path):
    task = load_task("real", "twins", 0, cache_directory=tmp_path)
    names = np.array(task.asked.ids)
    learned = set(names[task.train])
    assert len(task.graphs) > 12_517
    assert learned.isdisjoint(asked(task))
    other = load_task("real", "unseen", 0, cache_directory=tmp_path)
    modules = {
        card.labels.name: card.labels.family for card in load_dataset("real", tmp_path).cards
    }
    held = {modules[name] for name in asked(other)}
    assert held.isdisjoint(modules[name] for name in names[other.train])
    assert replace(other).graphs is task.graphs  # read once in a process
