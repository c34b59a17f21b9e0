"""The highest of many scores, found without sorting the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.index.ranking import foremost


@given(st.integers(0, 2**32 - 1), st.integers(1, 3_000), st.integers(1, 60), st.integers(1, 500))
def test_the_foremost_are_those_that_a_sort_puts_first(seed, rows, count, different):
    # Few different scores, so that many are equal, at the border too.
    scores = np.random.default_rng(seed).integers(different, size=rows).astype(np.float32)
    best = foremost(scores, min(count, rows))
    assert len(set(best.tolist())) == len(best) == min(count, rows)
    assert sorted(scores[best]) == np.sort(scores)[-len(best) :].tolist()


@pytest.mark.parametrize("rows", [1, 31, 32, 64, 2_000])
def test_all_rows_may_be_the_foremost(rows):
    scores = np.linspace(-1, 1, rows, dtype=np.float32)
    assert sorted(foremost(scores, rows).tolist()) == list(range(rows))
