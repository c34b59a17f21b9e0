"""The exact index: what a plain loop over all rows gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import DIM, Oracle, row

from nar.errors import InvalidQueryError
from nar.index.exact import ExactIndex
from nar.index.filters import Filter, Range

NAMES = [f"timm:{number}" for number in range(40)]


def rows(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, size=(len(NAMES), DIM)).astype(np.float32)
    vectors[:, 0] += 3 * ~vectors.any(axis=1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        row(
            name,
            *vector,
            family=f"family{position % 3}",
            parameters=position,
            topology=f"{position % 5:064x}",
        )
        for position, (name, vector) in enumerate(zip(NAMES, vectors, strict=True))
    ]


FILTERS = st.builds(
    Filter,
    families=st.sampled_from([(), ("family1",), ("family0", "family2"), ("none",)]),
    parameters=st.builds(Range, st.none() | st.integers(0, 20), st.none() | st.integers(20, 40)),
)


def test_without_conditions_no_row_is_read():
    class Unread(list):
        def __iter__(self):
            raise AssertionError("a row was read to be filtered")

    index = ExactIndex(rows(0), dim=DIM)
    index._rows = Unread(index._rows)
    [hits] = index.search(np.eye(1, DIM, dtype=np.float32), 3)
    assert len(hits) == 3
    with pytest.raises(AssertionError, match="a row was read"):
        index.search(np.eye(1, DIM, dtype=np.float32), 3, Filter(families=("family1",)))


@given(st.integers(0, 5), st.integers(1, 60), FILTERS)
def test_it_agrees_with_a_loop(seed, top_k, wanted):
    every, oracle = rows(seed), Oracle()
    oracle.upsert(every)
    queries = np.random.default_rng(seed + 100).normal(size=(3, DIM)).astype(np.float32)
    given = ExactIndex(every, dim=DIM).search(queries, top_k, wanted)
    expected = oracle.search(queries, top_k, wanted)
    for mine, theirs in zip(given, expected, strict=True):
        assert [hit.id for hit in mine] == [hit.id for hit in theirs]
        assert [hit.score for hit in mine] == pytest.approx([h.score for h in theirs], abs=1e-6)


def test_rows_are_found_by_name_id_and_fingerprint():
    every = rows(0)
    index = ExactIndex(every, dim=DIM)
    assert index.count() == len(NAMES)
    assert index.get([NAMES[3], every[4].id, "nobody"]).keys() == {NAMES[3], every[4].id}
    same = index.find_by_fingerprint(topologies=[every[0].topology])
    assert {row.name for row in same} == set(NAMES[::5])
    assert [row.id for row in same] == sorted(row.id for row in same)


def test_bad_questions_are_named():
    index = ExactIndex(rows(0), dim=DIM)
    with pytest.raises(InvalidQueryError, match="top_k"):
        index.search(np.ones((1, DIM), dtype=np.float32), 0)
    with pytest.raises(InvalidQueryError, match="vectors"):
        index.search(np.ones((1, 3), dtype=np.float32), 1)
