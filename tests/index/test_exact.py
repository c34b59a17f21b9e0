"""The exact index: what a plain loop over all rows gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import DIM, Oracle, row

from nar.base.errors import InvalidQueryError
from nar.index.exact import ExactIndex
from nar.index.filters import Filter, Range
from nar.index.ranking import Search
from nar.index.rows import COLUMNS, COUNTS, FINGERPRINTS, IndexRow
from nar.index.table import Fingerprints, Ids, Table, Texts

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


def of_columns(records: list[IndexRow]) -> ExactIndex:
    """The index of some rows as an atlas makes it: ids of names, fingerprints as bytes."""
    told = {column: [getattr(each, column) for each in records] for column in COLUMNS}
    names = Texts.of(told["name"])
    texts = {
        column: Fingerprints(np.array([bytes.fromhex(each) for each in values], dtype="V32"))
        if column in FINGERPRINTS
        else Texts.of(values)
        for column, values in told.items()
        if column not in (*COUNTS, "id")
    }
    counts = {column: np.array(told[column], dtype=np.int64) for column in COUNTS}
    vectors = np.stack([each.embedding for each in records])
    return ExactIndex.of_columns(vectors, {"id": Ids(names), **texts}, counts)


FILTERS = st.builds(
    Filter,
    families=st.sampled_from([(), ("family1",), ("family0", "family2"), ("none",)]),
    parameters=st.builds(Range, st.none() | st.integers(0, 20), st.none() | st.integers(20, 40)),
)


def test_no_search_asks_rows_one_by_one(monkeypatch):
    """Of forty rows only those that are shown become objects, and each of them once."""
    index = ExactIndex(rows(0), dim=DIM)
    made, make = [], Table.made
    monkeypatch.setattr(
        Table, "made", lambda table, position: made.append(position) or make(table, position)
    )
    shown = set()
    for wanted in (Filter(), Filter(families=("family1",), parameters=Range(minimum=3))):
        for _ in range(2):
            [hits] = index.search(np.eye(1, DIM, dtype=np.float32), 3, wanted)
            shown |= {hit.id for hit in hits}
    assert len(made) == len(set(made)) == len(shown)


def test_records_are_kept_up_to_a_number(monkeypatch):
    monkeypatch.setattr("nar.index.table._KEPT", 3)
    known = rows(0)
    table = Table.of(known)
    for position in [*range(len(known)), 0]:
        assert table.at(position).name == known[position].name
        assert table.at(position) is table.at(position)


def test_searches_of_all_sorts_are_answered_together():
    index = ExactIndex(rows(0), dim=DIM)
    east, north = np.eye(2, DIM, dtype=np.float32)
    wanted = Filter(families=("family1",))
    asked = [Search(east, 3), Search(east, 1, wanted), Search(north, 5, wanted)]
    alone = [index.search(each.vector[None], each.top_k, each.wanted)[0] for each in asked]
    assert index.search_all(asked) == alone
    assert index.search_all([]) == []


def test_a_changed_index_is_what_a_new_one_would_be():
    every = rows(0)
    index = ExactIndex(every, dim=DIM)
    replaced = [row(NAMES[4], 1, family="new"), row("timm:new", 0, 1)]
    other = index.changed(replaced, gone=[every[0].id, every[1].id])
    assert (index.count(), other.count()) == (40, 39)
    assert index.get([NAMES[0], "timm:new"]).keys() == {NAMES[0]}
    assert other.get([NAMES[0], "timm:new"]).keys() == {"timm:new"}
    assert other.get([NAMES[4]])[NAMES[4]].family == "new"
    fresh = ExactIndex([*every[2:4], *every[5:], *replaced], dim=DIM)
    queries = np.random.default_rng(1).normal(size=(9, DIM))
    for wanted in (Filter(), Filter(families=("new", "family2"))):
        assert other.search(queries, 12, wanted) == fresh.search(queries, 12, wanted)


def test_an_index_of_columns_is_that_of_its_rows():
    # Digests that end with zeros are digests, too.
    every = [*rows(0), row("timm:zeros", 1, topology="a" * 8 + "0" * 56)]
    made, read = ExactIndex(every, dim=DIM), of_columns(every)
    added = [row("timm:new", 0, 1, topology="b" * 64)]
    gone = [every[1].id]
    changed = (made.changed(added, gone=gone), read.changed(added, gone=gone))
    for plain, packed in ((made, read), changed):
        assert [each.id for each in packed.page("", 99)] == [each.id for each in plain.page("", 99)]
        asked = ["timm:3", every[4].id, "timm:new", every[1].id, "timm:1", "nobody"]
        assert packed.get(asked).keys() == plain.get(asked).keys()
        assert packed.contains([each.id for each in every]) == plain.contains(
            [each.id for each in every]
        )
        for topology in (every[7].topology, every[-1].topology, "b" * 64):
            found = [
                [each.name for each in index.find_by_fingerprint(topologies=[topology])]
                for index in (plain, packed)
            ]
            assert found[0] == found[1]
        wanted = Filter(topologies=(every[7].topology, "no fingerprint"))
        for asked_for in (Filter(), wanted):
            answers = [index.search(np.eye(2, DIM), 9, asked_for) for index in (plain, packed)]
            assert answers[0] == answers[1]
        assert sorted(packed.values("topology")) == sorted(
            {each.topology for each in packed.rows()}
        )


def test_texts_that_no_row_has_any_more_are_let_go():
    column = Texts.of(["a", "b"])
    for number in range(2_000):
        column = column.changed(np.array([True, False]), [f"text {number}"])
    assert [column.at(0), column.at(1)] == ["a", "text 1999"]
    assert len(column.values) <= 1_010


@pytest.mark.slow
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
