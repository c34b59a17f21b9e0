"""The highest of many scores, found without sorting the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.index.ranking import foremost, ranked


@pytest.mark.slow
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


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 9), st.uuids()), min_size=1, max_size=40, unique=True),
    st.integers(1, 40),
    st.booleans(),
)
def test_equal_scores_are_ranked_by_id(rows, top_k, complete):
    top_k = min(top_k, len(rows))
    scores, ids = [score / 10 for score, _ in rows], [str(each) for _, each in rows]
    order = ranked(scores, range(len(rows)), ids.__getitem__, top_k, complete=complete)
    wanted = sorted(range(len(rows)), key=lambda at: (-scores[at], ids[at]))[:top_k]
    if complete or scores[wanted[-1]] != min(scores):
        assert order == [(row, scores[row]) for row in wanted]
    else:
        assert order is None


def test_ids_are_asked_for_only_where_scores_are_equal():
    asked = []

    def id_of(row):
        asked.append(row)
        return row

    order = ranked([0.9, 0.5, 0.5, 0.5, 0.1, 0.1], "adcbef", id_of, 3, complete=False)
    assert order == [("a", 0.9), ("b", 0.5), ("c", 0.5)]
    assert sorted(asked) == ["b", "c", "d"]
