"""The exact index: what a plain loop over all rows gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import DIM, Oracle, row

from nar.base.errors import InvalidQueryError
from nar.index.exact import ExactIndex, Vectors
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
    """Of forty rows only those that are shown become objects, all at once."""
    index = ExactIndex(rows(0), dim=DIM)
    asked, hits = [], Table.hits
    monkeypatch.setattr(Table, "made", None)
    monkeypatch.setattr(
        Table,
        "hits",
        lambda table, places, *rest: asked.append(places) or hits(table, places, *rest),
    )
    east, north = np.eye(2, DIM, dtype=np.float32)
    wanted = Filter(families=("family1",), parameters=Range(minimum=3))
    found = index.search_all([Search(east, 3), Search(north, 2, wanted)])
    assert [len(each) for each in found] == [3, 2]
    assert [len(each) for each in asked] == [5]


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
        right = fresh.search(queries, 12, wanted)
        assert other.folded().search(queries, 12, wanted) == right
        apart = other.search(queries, 12, wanted)
        assert [[hit.id for hit in each] for each in apart] == [
            [hit.id for hit in each] for each in right
        ]


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
@given(st.data())
def test_written_rows_answer_as_a_loop_does_whenever_they_are_folded(data):
    """Any order of writes, deletions, foldings and searches, against a loop over all rows."""
    every, oracle = {each.name: each for each in rows(data.draw(st.integers(0, 3)))}, Oracle()
    first = list(every.values())[: data.draw(st.integers(0, 40))]
    oracle.upsert(first)
    index = ExactIndex(first, dim=DIM)
    if data.draw(st.booleans()):
        index.prepare(DIM // 2)
    for seed in range(data.draw(st.integers(1, 6))):
        written = data.draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
        others = {each.name: each for each in rows(10 + seed)}
        gone = [every[name].id for name in data.draw(st.sets(st.sampled_from(NAMES), max_size=5))]
        fresh = [others[name] for name in written if others[name].id not in gone]
        before, kept = index, [each.id for each in index.rows()]
        index = index.changed(fresh, gone=gone)
        oracle.upsert(fresh)
        oracle.delete(gone)
        if data.draw(st.booleans()):
            index = index.folded()
            assert index.unfolded == 0
        assert [each.id for each in before.rows()] == kept
        check_reads(index, oracle, data)


def check_reads(index, oracle, data):
    """Every read gives what a loop gives."""
    known = {each.name: each for each in index.rows()}
    assert {each.digest() for each in known.values()} == {
        each.digest() for each in oracle.rows.values()
    }
    assert index.count() == len(known) == len(oracle.rows)
    wanted = data.draw(FILTERS)
    asked = np.random.default_rng(1).normal(size=(2, DIM)).astype(np.float32)
    top_k = data.draw(st.integers(1, 50))
    mine, theirs = index.search(asked, top_k, wanted), oracle.search(asked, top_k, wanted)
    for found, right in zip(mine, theirs, strict=True):
        assert [hit.id for hit in found] == [hit.id for hit in right]
        assert [hit.score for hit in found] == pytest.approx([h.score for h in right], abs=1e-6)
        assert all(hit.parameters == known[hit.name].parameters for hit in found)
    ids = sorted(each.id for each in known.values())
    assert [each.id for each in index.page("", 30)] == ids[:30]
    assert [each.id for each in index.page(ids[3], 9)] == ids[4:13] if len(ids) > 3 else True
    assert [each.id for each in index.page("", 99, wanted)] == sorted(
        hit.id for hit in index.search(asked[:1], 99, wanted)[0]
    )
    assert index.counted(wanted) == len(index.page("", 99, wanted))
    assert index.contains([row(name, 1).id for name in NAMES]) == set(ids)
    assert index.get(NAMES).keys() == known.keys()
    assert index.digests_between("4", "c").keys() == {each for each in ids if "4" <= each < "c"}
    for topology in (f"{number:064x}" for number in range(5)):
        same = index.find_by_fingerprint(topologies=[topology])
        right = sorted(each.id for each in known.values() if each.topology == topology)
        assert [each.id for each in same] == right


def test_a_write_copies_no_row_that_was_there_before(monkeypatch):
    index = ExactIndex(rows(0), dim=DIM)
    copied, changed = [], Vectors.changed
    monkeypatch.setattr(
        Vectors,
        "changed",
        lambda part, kept, vectors: copied.append(len(part)) or changed(part, kept, vectors),
    )
    monkeypatch.setattr("nar.index.exact._MOST_UNFOLDED", 9)
    for number in range(10):
        index = index.changed([row(f"timm:new {number}", 1)])
    # The rows before are copied once, when there are more new rows than may lie apart.
    assert copied == [*range(1, 10), 40]
    assert (index.count(), index.unfolded) == (50, 0)


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
