"""The nearest vectors: a look along few directions leaves the answers of a whole product."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import DIM, row

from nar.index import exact
from nar.index.exact import ExactIndex, NearestQuery, Vectors
from nar.index.filters import Filter, Range

ROWS, WIDE, FEW = 1_500, 32, 4


def vectors_along(directions, count, seed, *, beside=0.05):
    """Vectors that lie mostly along the first directions, of all lengths."""
    draw = np.random.default_rng(seed)
    vectors = beside * draw.normal(size=(count, WIDE))
    vectors[:, :directions] += draw.normal(size=(count, directions))
    return (vectors * draw.uniform(0.5, 2, size=(count, 1))).astype(np.float32)


def units(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cosines(vectors, query):
    return units(vectors.astype(np.float64)) @ query.astype(np.float64)


KNOWN = vectors_along(FEW, ROWS, 0)


@pytest.fixture
def compared(monkeypatch):
    """How many numbers the vectors had of which all were compared, in order."""
    seen = []
    products = exact._products

    def watched(rows, vectors):
        seen.extend([rows.shape[1]] * bool(vectors))
        return products(rows, vectors)

    monkeypatch.setattr(exact, "_products", watched)
    return seen


@pytest.mark.slow
@given(
    st.integers(0, 99),
    st.integers(1, 200),
    st.sampled_from([FEW, WIDE]),
    st.none() | st.integers(200, ROWS),
)
def test_what_is_found_is_what_a_whole_product_finds(seed, count, directions, offered):
    draw = np.random.default_rng(seed)
    asked = units(vectors_along(directions, 3, seed + 1_000))
    places = None if offered is None else np.sort(draw.permutation(ROWS)[:offered])
    sought = [NearestQuery(each, count, places) for each in asked]
    for each, (rows, scores) in zip(
        asked, Vectors.of(KNOWN).prepared(FEW).nearest(sought), strict=True
    ):
        exact = cosines(KNOWN, each)
        assert len(rows) == len(set(rows.tolist())) == count
        assert places is None or set(rows.tolist()) <= set(places.tolist())
        assert scores == pytest.approx(exact[rows], abs=1e-6)
        best = np.sort(exact if places is None else exact[places])[-count:]
        assert np.sort(scores) == pytest.approx(best, abs=1e-6)


def test_what_lies_beside_all_directions_is_found():
    """The worst case: nothing of the query, and of the row that is sought, lies along them."""
    last = np.eye(WIDE, dtype=np.float32)[-1]
    vectors = Vectors.of(np.concatenate([KNOWN, [7 * last]])).prepared(FEW)
    [(rows, scores)] = vectors.nearest([NearestQuery(last, 1)])
    assert rows.tolist() == [ROWS]
    assert scores.tolist() == [1]


def test_few_rows_are_compared_whole(compared):
    prepared = Vectors.of(KNOWN).prepared(FEW)
    prepared.nearest([NearestQuery(each, 10) for each in units(KNOWN[:8])])
    assert compared == [FEW]


def test_all_rows_are_compared_with_what_is_like_none_of_them(compared):
    stranger = units(np.random.default_rng(5).normal(size=(1, WIDE))).astype(np.float32)[0]
    own = units(KNOWN[:1])[0]
    prepared = Vectors.of(KNOWN).prepared(FEW)
    found = prepared.nearest(
        [NearestQuery(own, 3), NearestQuery(stranger, 3), NearestQuery(own, 5)]
    )
    assert compared == [FEW, WIDE]
    assert [len(rows) for rows, _ in found] == [3, 3, 5]
    assert found[1][1].max() == pytest.approx(cosines(KNOWN, stranger).max(), abs=1e-6)


def test_few_rows_that_are_offered_are_compared_alone(compared):
    offered = np.array([1, 5, 900])
    [(rows, scores)] = Vectors.of(KNOWN).nearest([NearestQuery(units(KNOWN[5:6])[0], 2, offered)])
    assert compared == []
    assert rows[scores.argmax()] == 5
    assert set(rows.tolist()) < set(offered.tolist())


def test_most_rows_wanted_are_all_compared(compared):
    [(rows, _)] = Vectors.of(KNOWN).prepared(FEW).nearest([NearestQuery(units(KNOWN[:1])[0], ROWS)])
    assert sorted(rows.tolist()) == list(range(ROWS))
    assert compared == [FEW, WIDE]


@pytest.mark.parametrize("directions", [FEW, WIDE // 2 + 1])
def test_changed_vectors_are_what_new_ones_would_be(directions, compared):
    kept = np.arange(ROWS) % 3 > 0
    added = vectors_along(FEW, 40, 9)
    changed = Vectors.of(KNOWN).prepared(directions).changed(kept, added)
    fresh = Vectors.of(np.concatenate([KNOWN[kept], added]))
    asked = [NearestQuery(each, 12) for each in units(added)]
    answers = [vectors.nearest(asked) for vectors in (changed, fresh)]
    # Too many directions are none.
    assert compared == [*([FEW] if directions == FEW else [WIDE]), WIDE]
    for mine, theirs in zip(*answers, strict=True):
        assert set(mine[0].tolist()) == set(theirs[0].tolist())
        assert len(changed) == len(fresh) == len(changed.prepared(directions))


def test_an_index_without_rows_has_nothing_to_prepare():
    index = ExactIndex([], dim=DIM)
    index.prepare(1)
    assert index.search(np.ones((1, DIM)), 3) == [[]]


@pytest.mark.slow
@given(st.integers(0, 9), st.integers(1, 20), st.booleans())
def test_a_prepared_index_answers_as_one_that_is_not(seed, top_k, is_filtered):
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(600, DIM)) * np.geomspace(1, 0.01, DIM)
    # Some are equal, so that hits of one score are put in order by id.
    points[300:400] = points[200:300]
    every = [row(f"timm:{n}", *each, parameters=n) for n, each in enumerate(points.tolist())]
    plain, prepared = ExactIndex(every, dim=DIM), ExactIndex(every, dim=DIM)
    prepared.prepare(1)
    wanted = Filter(parameters=Range(minimum=100)) if is_filtered else Filter()
    asked = points[draw.integers(600, size=5)]
    expected, given = (each.search(asked, top_k, wanted) for each in (plain, prepared))
    for mine, theirs in zip(given, expected, strict=True):
        assert [hit.score for hit in mine] == pytest.approx([h.score for h in theirs], abs=1e-6)
        assert [hit.id for hit in mine] == [hit.id for hit in theirs]
