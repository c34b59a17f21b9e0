"""Runs laid end to end against lists of lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.ragged import slices


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(), max_size=4), min_size=1, max_size=6), st.data())
def test_chosen_runs_come_one_after_the_other(runs, data):
    chosen = data.draw(st.lists(st.integers(0, len(runs) - 1), max_size=8))
    flat = [value for run in runs for value in run]
    start = np.cumsum([0, *map(len, runs)])
    positions, begins = slices(start, np.array(chosen, dtype=np.int64))
    assert [flat[position] for position in positions] == [
        value for run in chosen for value in runs[run]
    ]
    assert begins.tolist() == np.cumsum([0, *(len(runs[run]) for run in chosen)]).tolist()
