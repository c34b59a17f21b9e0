"""Models that hold a model of another family, by their settings; learning without them."""

from dataclasses import replace

import numpy as np
import pytest
from tasks import small_task

from nar.evaluation.inside import _without, families_inside


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
