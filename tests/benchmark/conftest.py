"""The real architectures and the tasks made of them: dear to make, so that tests share them."""

from functools import cache

import pytest

from benchmark.tasks.datasets import REAL, load_dataset
from benchmark.tasks.task import load_task


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    """The real data set; not to be changed."""
    return load_dataset(REAL, tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="session")
def real_task(tmp_path_factory):
    """`load_task` of the real data set, by split, seed and who asks; not to be changed."""
    kept = tmp_path_factory.mktemp("real")

    @cache
    def load(split, seed, held="test"):
        return load_task(REAL, split, seed, cache_directory=kept, held=held)

    return load
