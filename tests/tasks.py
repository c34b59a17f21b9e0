"""A task small enough to train every method on in a moment."""

import numpy as np
from encoding import three_families

from benchmark.tasks.questions import questions
from benchmark.tasks.task import Task
from nar.encoding.collecting import Targets

FAMILIES = tuple(family for family in ("resnet", "bert", "swin") for _ in range(3))


def small_task() -> Task:
    """Three members each of three designs; the last of each asks."""
    names = [f"small:{number}" for number in range(len(FAMILIES))]
    is_last = np.arange(len(FAMILIES)) % 3 == 2
    train = np.flatnonzero(~is_last)
    families = [FAMILIES[row] for row in train]
    return Task(
        "small/family",
        0,
        tuple(three_families()),
        train,
        Targets.of(
            ["cnn" if family == "resnet" else "attention" for family in families],
            families,
        ),
        {"family": questions(names, FAMILIES, queries=is_last)},
    )
