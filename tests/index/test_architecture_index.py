"""What every index must do, whatever keeps its rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DIM, Oracle, row

from nar.base.errors import InvalidInputError, InvalidQueryError
from nar.index.filters import Filter, Range
from nar.index.rows import architecture_id

EAST = np.eye(1, DIM, dtype=np.float32)
HOSTILE = "nope'] or id not in ['zzz"


def names(hits):
    return [hit.name for hit in hits]


def compass():
    return [row("east", 1), row("north-east", 1, 1), row("north", 0, 1), row("west", -1)]


@pytest.mark.slow
def test_hits_are_ordered_by_cosine(backend):
    [hits] = backend.fill(compass()).search(EAST, 3)
    assert names(hits) == ["east", "north-east", "north"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0.707107, 0], abs=1e-6)


@pytest.mark.slow
def test_a_hit_carries_every_field(backend):
    item = row("east", 1, family="vit", block="attention", parameters=2**40, topology="c" * 64)
    [[hit]] = backend.fill([item]).search(EAST, 1)
    assert hit == item.hit(1.0)


@pytest.mark.slow
def test_length_does_not_count(backend):
    index = backend.fill([row("short", 0.01, 0.001), row("long", 500, 60)])
    for scale in (1e-30, 1.0, 1e30):
        [hits] = index.search(EAST.astype(np.float64) * scale, 2)
        assert names(hits) == ["short", "long"]
        assert all(-1 <= hit.score <= 1 for hit in hits)


@pytest.mark.slow
def test_equal_scores_are_ordered_by_id_across_the_cut(backend):
    twins = [row(f"twin {number}", 1, 2) for number in range(90)]
    index = backend.fill([*twins, row("nearest", 1)])
    by_id = sorted(twins, key=lambda item: item.id)
    for top_k in (2, 5, 60):
        [hits] = index.search(EAST, top_k)
        assert [hit.id for hit in hits[1:]] == [item.id for item in by_id[: top_k - 1]]


def test_many_queries_are_answered_as_one_by_one(backend):
    index = backend.fill(compass())
    vectors = np.random.default_rng(0).normal(size=(20, DIM)).astype(np.float32)
    together = index.search(vectors, 3)
    assert_same(together, [index.search(vector[None], 3)[0] for vector in vectors])


def test_no_more_hits_than_rows(backend):
    index = backend.fill(compass())
    assert len(index.search(EAST, 16_384)[0]) == 4
    assert index.search(EAST, 5, Filter(families=("none",))) == [[]]
    assert index.search(np.empty((0, DIM), dtype=np.float32), 5) == []


def test_upsert_twice_changes_nothing(backend):
    index = backend.fill(compass())
    before = index.search(EAST, 4)
    index.upsert(compass())
    assert index.count() == 4
    assert index.search(EAST, 4) == before


def test_a_row_of_the_same_name_is_replaced(backend):
    index = backend.fill(compass())
    index.upsert([row("east", 0, 0, 1, family="new")])
    assert index.count() == 4
    assert index.get(["east"])["east"].family == "new"
    assert names(index.search(EAST, 1)[0]) == ["north-east"]


def test_a_deleted_row_is_gone(backend):
    index = backend.fill(compass())
    east, west = architecture_id("east"), architecture_id("west")
    assert index.delete([east, west, architecture_id("stranger")]) == 2
    assert index.count() == 2
    assert index.contains([east, west, architecture_id("north")]) == {architecture_id("north")}
    assert index.get(["east"]) == {}
    assert names(index.search(EAST, 4)[0]) == ["north-east", "north"]


def test_rows_come_back_by_name_and_by_id(backend):
    rows = [row("timm:a", 0.1, 0.2, 0.3), row("timm:b", 1 / 3)]
    index = backend.fill(rows)
    got = index.get(["timm:a", rows[1].id, "timm:c"])
    assert got.keys() == {"timm:a", rows[1].id}
    for key, item in zip(got, rows, strict=True):
        assert got[key].embedding.tobytes() == item.embedding.tobytes()
        assert got[key].hit(0) == item.hit(0)


def test_rows_are_found_by_fingerprint(backend):
    wide = row("wide", 1, topology="c" * 64, exact="1" * 64)
    narrow = row("narrow", 1, topology="c" * 64, exact="2" * 64)
    folded = row("folded", 1, topology="d" * 64, inference="3" * 64)
    index = backend.fill([wide, narrow, folded, row("other", 1)])

    def names_of(**fingerprints):
        return {item.name for item in index.find_by_fingerprint(**fingerprints)}

    assert names_of(topologies=["c" * 64]) == {"wide", "narrow"}
    assert names_of(exacts=["2" * 64]) == {"narrow"}
    assert names_of(inferences=["3" * 64]) == {"folded"}
    both = {"topologies": ["c" * 64, "d" * 64], "inferences": ["3" * 64, wide.inference]}
    assert names_of(**both) == {"wide", "narrow", "folded", "other"}
    assert names_of(topologies=["f" * 64]) == names_of() == set()


def test_ranges_take_in_both_ends(backend):
    largest = 2**63 - 1
    index = backend.fill([row(str(n), 1, parameters=n) for n in (0, 5, 6, largest)])

    def sizes_in(minimum, maximum):
        wanted = Filter(parameters=Range(minimum, maximum))
        return sorted(map(int, names(index.search(EAST, 9, wanted)[0])))

    assert sizes_in(5, 6) == [5, 6]
    assert sizes_in(None, 5) == [0, 5]
    assert sizes_in(6, None) == [6, largest]
    assert sizes_in(largest, largest) == [largest]


@pytest.mark.parametrize(
    ("vectors", "field"),
    [
        (np.zeros((1, DIM)), "vectors[0]"),
        (np.full((2, DIM), np.nan), "vectors[0][0]"),
        (np.array([[1.0] * DIM, [1.0] * 7 + [np.inf]]), "vectors[1][7]"),
        (np.ones((1, DIM - 1)), "vectors"),
        (np.ones(DIM), "vectors"),
    ],
)
def test_a_vector_without_direction_is_refused(backend, vectors, field):
    with pytest.raises(InvalidQueryError) as caught:
        backend.fill([]).search(vectors, 1)
    assert caught.value.field == field


@pytest.mark.parametrize("top_k", [0, -1, 16_385])
def test_top_k_out_of_range_is_refused(backend, top_k):
    with pytest.raises(InvalidQueryError, match="top_k: wanted 1 to 16384"):
        backend.fill([]).search(EAST, top_k)


def test_hostile_keys_find_and_harm_nothing(backend):
    index = backend.fill(compass())
    assert index.get([HOSTILE, "", "'", "\\", "\n"]) == {}
    assert index.count() == 4


VECTORS = st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0]), min_size=3, max_size=3)
ROWS = st.lists(
    st.builds(
        lambda name, vector, family: row(f"n{name}", 0.25, *vector, family=family),
        st.integers(0, 12),
        VECTORS,
        st.sampled_from(["a", "b"]),
    ),
    max_size=8,
    unique_by=lambda item: item.id,
)
STEPS = st.lists(
    st.tuples(ROWS, st.lists(st.integers(0, 12).map("n{}".format), max_size=3), VECTORS),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
def test_any_history_leaves_what_exact_search_has(backend):
    @settings(max_examples=backend.examples, deadline=None)
    @given(steps=STEPS)
    def holds(steps):
        index, exact = backend.fill([]), Oracle()
        for rows, gone, vector in steps:
            ids = [architecture_id(name) for name in gone]
            for either in (index, exact):
                either.upsert(rows)
            assert index.delete(ids) == exact.delete(ids)
            assert_equal(index, exact, np.array([[0.1, *vector, 0, 0, 0, 0]]))

    holds()


def assert_equal(index, exact, query):
    wanted = Filter(families=("a",))
    assert index.count() == exact.count()
    assert_same(index.search(query, 5), exact.search(query, 5))
    assert_same(index.search(query, 5, wanted), exact.search(query, 5, wanted))


def assert_same(came, expected):
    for hits, wanted in zip(came, expected, strict=True):
        assert [hit.id for hit in hits] == [hit.id for hit in wanted]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in wanted], abs=1e-6)


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (row("x", np.nan), "embedding[0]"),
        (row("x", 1, np.inf), "embedding[1]"),
        (row("x", 0), "embedding"),
        (row("x", 1e-30), "embedding"),
        (row("x", 1, family=7), "family"),
        (row("x", 1, task="\ud800"), "task"),
        (row("x", 1, source="s" * 65), "source"),
        (row("x", 1, parameters=-1), "parameters"),
        (row("x", 1, flops=2**63), "flops"),
        (row("x", 1, nodes=1.5), "nodes"),
        (row("x", 1, topology="A" * 64), "topology"),
        (row("x", 1, exact="a" * 63), "exact"),
    ],
)
def test_a_bad_row_is_refused_with_its_batch(backend, item, field):
    index = backend.fill([])
    with pytest.raises(InvalidInputError) as caught:
        index.upsert([row("good", 1), item])
    assert caught.value.field == f"rows[1].{field}"
    assert index.count() == 0


def test_one_name_twice_in_a_batch_is_refused(backend):
    with pytest.raises(InvalidInputError, match=r"rows\[1\].id: 'x' is there twice"):
        backend.fill([]).upsert([row("x", 1), row("x", 2)])
