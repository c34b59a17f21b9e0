"""Models that hold a model of another family, by their settings; learning without them."""

from dataclasses import replace

import numpy as np
import pytest
from tasks import FAMILIES, small_task

from benchmark.inside import PROTOCOL, _on_learned, _without, families_inside
from benchmark.tasks.datasets import DataSet
from nar.corpus import card_of
from nar.graphs.architecture import Labels, architecture


@pytest.mark.parametrize(
    ("model_type", "families"),
    [
        ("bert", set()),
        ("llava", {"clip", "llama"}),
        ("rt_detr", {"resnet"}),
        ("detr", {"resnet"}),
        ("edgetam_vision_model", {"repvit"}),
    ],
)
def test_families_inside_a_type_are_read_off_its_settings(model_type, families):
    assert families_inside(model_type) == families


def test_rows_that_are_left_out_take_their_targets_with_them():
    task = small_task()
    task = replace(task, targets=replace(task.targets, families=np.arange(len(task.train))))
    gone = task.train[[1, 3]].tolist()
    left = _without(task, gone)
    assert not np.isin(gone, left.train).any()
    kept = [0, 2, *range(4, len(task.train))]
    assert left.train.tolist() == task.train[kept].tolist()
    assert left.targets.families.tolist() == kept


def test_who_asks_may_hold_a_family_that_was_learned():
    task = small_task()
    # The last of three asks: on a learned backbone, with a learned model inside, on a new one.
    asking = {2: ("detector", "resnet"), 5: ("gpt", ""), 8: ("segmenter", "new")}
    items = []
    for row, graph in enumerate(task.graphs):
        family, backbone = asking.get(row, (FAMILIES[row], ""))
        name = f"small:{row}"
        labels = Labels(name, "small", "-", family=family, task="-", backbone=backbone)
        items.append(card_of(architecture(labels, graph)))
    dataset = DataSet("small", tuple(items), task.graphs)
    task = replace(task, asked={PROTOCOL: task.asked["family"]})
    held = {5: frozenset({"bert"}), 8: frozenset({"unknown"})}
    assert _on_learned(dataset, held, task).tolist() == [True, True, False]
