"""The reader: rows in memory say what Milvus would, and follow it wherever it goes."""

from math import isnan
from threading import Event

import numpy as np
import pytest
from backends import ENCODER
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DIM, row
from waiting import wait_for

from nar.base.errors import IndexMismatchError, IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import create_collection
from nar.index.exact import ExactIndex
from nar.index.filters import Filter, Range
from nar.index.lite import DamagedIndexError
from nar.index.publishing import point_alias
from nar.index.ranking import Search
from nar.index.reader import Reader
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig

EAST = np.eye(1, DIM, dtype=np.float32)
OLD = [row(f"old {number}", 1, number) for number in range(3)]
NEW = [row(f"new {number}", 1, number) for number in range(5)]
SOON = {"follow_s": 0.05}


@pytest.fixture(autouse=True)
def prepared(monkeypatch):
    """The rows that were prepared, along fewer directions than their vectors have numbers here."""
    counts, prepare = [], ExactIndex.prepare

    def along_one(index):
        counts.append(index.count())
        prepare(index, 1)

    monkeypatch.setattr(ExactIndex, "prepare", along_one)
    return counts


def load(index, rows, encoder=ENCODER):
    with index.build(encoder, DIM) as build:
        build.upsert(rows)
        build.publish()


def names(reader):
    return sorted(hit.name for hit in reader.search(EAST, 100)[0])


def names_of(rows):
    return sorted(item.name for item in rows)


on_both = pytest.mark.parametrize(
    "uri", ["lite", pytest.param("server", marks=pytest.mark.milvus_server)], indirect=True
)


@pytest.fixture
def uri(request, tmp_path):
    if getattr(request, "param", "lite") == "lite":
        return str(tmp_path / "index.db")
    return request.getfixturevalue("milvus_uri")


@pytest.fixture
def opened(request, uri):
    """A published index, and the reader in front of it."""
    config = IndexConfig(uri=uri, alias=request.function.__name__, **SOON)
    index = ArchitectureIndex(config)
    load(index, OLD)
    with Reader(lambda _: index, config) as reader:
        wait_for(lambda: reader.holds_rows)
        yield index, reader


VECTORS = st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0]), min_size=3, max_size=3)
ROWS = st.lists(
    st.builds(
        lambda name, vector, family, size, print_: row(
            f"n{name}", 0.25, *vector, family=family, parameters=size, topology=print_ * 64
        ),
        st.integers(0, 12),
        VECTORS,
        st.sampled_from(["a", "b", "it's \\ 'c'"]),
        st.integers(0, 9),
        st.sampled_from("abc"),
    ),
    max_size=8,
    unique_by=lambda item: item.id,
)
GONE = st.lists(st.integers(0, 12).map("n{}".format), max_size=3)
BOUND = st.none() | st.integers(0, 9)
FILTERS = st.builds(
    Filter,
    names=st.lists(st.integers(0, 12).map("n{}".format), max_size=2).map(tuple),
    families=st.lists(st.sampled_from(["a", "it's \\ 'c'", "none"]), max_size=2).map(tuple),
    topologies=st.lists(st.sampled_from(["a" * 64, "d" * 64]), max_size=1).map(tuple),
    parameters=st.builds(
        lambda low, high: Range(low, None if None in (low, high) else max(low, high)), BOUND, BOUND
    ),
)
STEPS = st.lists(st.tuples(ROWS, GONE, VECTORS, FILTERS), min_size=1, max_size=4)


def same(mine, theirs):
    assert [[hit.id for hit in hits] for hits in mine] == [
        [hit.id for hit in hits] for hits in theirs
    ]
    for one, other in zip(mine, theirs, strict=True):
        assert [hit.score for hit in one] == pytest.approx([h.score for h in other], abs=1e-6)


@pytest.mark.slow
@on_both
def test_reader_and_store_never_differ(opened, uri):
    index, reader = opened

    @settings(max_examples=40 if uri.endswith(".db") else 8, deadline=None)
    @given(steps=STEPS, top_k=st.integers(1, 20))
    def holds(steps, top_k):
        for rows, gone, vector, wanted in steps:
            reader.upsert(rows)
            reader.delete([architecture_id(name) for name in gone])
            vectors = np.array([[0.1, *vector, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]])
            assert reader.holds_rows
            asked = [Search(vectors[0], top_k, wanted), *(Search(each, 3) for each in vectors)]
            same(reader.search_all(asked), index.search_all(asked))
            shown, told = (each.page("", 9, wanted) for each in (reader, index))
            assert [entry.id for entry in shown] == [entry.id for entry in told]
            keys = [item.name for item in rows] + gone
            assert reader.get(keys).keys() == index.get(keys).keys()
            prints = {"topologies": ["a" * 64], "exacts": ["b" * 64]}
            mine, theirs = (each.find_by_fingerprint(**prints) for each in (reader, index))
            assert [item.digest() for item in mine] == [item.digest() for item in theirs]
            assert reader.count() == index.count() == len(reader.search(vectors, 99)[0])

    holds()


@pytest.mark.slow
@on_both
def test_a_publisher_that_died_before_it_dropped_is_followed(opened, request):
    """The alias points elsewhere and the collection before is still there."""
    index, reader = opened
    before = index.live
    with index.build(ENCODER, DIM, job="died") as build:
        build.upsert(NEW)
    point_alias(before.milvus, request.function.__name__, build.staging.name)
    wait_for(lambda: names(reader) == names_of(NEW))
    assert reader.collection == index.live.name == build.staging.name
    before.drop()


@pytest.mark.slow
def test_rows_of_another_process_are_noticed(opened):
    index, reader = opened
    index.live.upsert(NEW)  # past the reader, as another process would
    wait_for(lambda: names(reader) == names_of([*OLD, *NEW]))


@pytest.mark.slow
def test_rows_that_another_process_replaced_are_noticed(uri):
    config = IndexConfig(uri=uri, compare_s=0.1, **SOON)
    index = ArchitectureIndex(config)
    load(index, OLD)
    with Reader(lambda _: index, config) as reader:
        wait_for(lambda: reader.holds_rows)
        index.live.upsert([row("old 1", 1, 1, family="renamed")])
        wait_for(lambda: reader.get(["old 1"])["old 1"].family == "renamed")


@pytest.mark.slow
def test_writes_are_seen_at_once_while_rows_are_read_anew(opened, monkeypatch):
    monkeypatch.setattr("nar.index.collection.PAGE_ROWS", 1)
    index, reader = opened
    for number in range(30):
        index.live.upsert([row(f"foreign {number}", 1, number)])  # lets rows be read anew
        reader.upsert([row(f"own {number}", 1, number)])
        reader.delete([architecture_id(f"own {number - 1}")])
        assert reader.get([f"own {number}", f"own {number - 1}"]).keys() == {f"own {number}"}
    wait_for(lambda: names(reader) == sorted(hit.name for hit in index.search(EAST, 100)[0]))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 4])
def test_more_rows_than_may_be_held_are_searched_by_milvus(uri, limit):
    config = IndexConfig(uri=uri, reader_rows=limit, **SOON)
    index = ArchitectureIndex(config)
    load(index, OLD)
    with Reader(lambda _: index, config) as reader:
        wait_for(lambda: reader.collection)
        assert reader.holds_rows is (limit == 4)
        reader.upsert(NEW)
        assert not reader.holds_rows
        assert names(reader) == names_of([*OLD, *NEW])


@pytest.mark.slow
def test_vectors_of_another_encoder_are_not_taken_for_these(uri):
    config = IndexConfig(uri=uri, **SOON)
    with ArchitectureIndex(config) as index:
        load(index, OLD)
    index = ArchitectureIndex(config, encoder=ENCODER)
    with Reader(lambda _: index, config) as reader:
        wait_for(lambda: reader.holds_rows)
        other = create_collection(
            index.live.milvus, "arch_other", encoder="f" * 64, dim=DIM, kind="FLAT"
        )
        point_alias(index.live.milvus, config.alias, other.name)
        wait_for(lambda: fault(reader, IndexMismatchError))
        assert names(reader) == names_of(OLD)


def fault(reader, kind):
    try:
        reader.count()
    except kind:
        return True
    return False


@pytest.mark.slow
def test_a_row_that_reads_back_damaged_is_said(uri, monkeypatch):
    config = IndexConfig(uri=uri, **SOON)
    index = ArchitectureIndex(config)
    load(index, OLD)
    records = index.live.milvus.client.query(
        index.live.name, filter="", limit=9, output_fields=["*"]
    )
    records[0]["embedding"] = [9.0] * DIM
    index.live.milvus.client.upsert(index.live.name, records[:1])
    with Reader(lambda _: index, config) as reader:
        wait_for(lambda: fault(reader, DamagedIndexError))
        with pytest.raises(DamagedIndexError, match=r"index\.db reads back damaged"):
            reader.count()


@pytest.mark.slow
def test_a_fault_of_our_own_ends_health_and_not_answers(opened, monkeypatch, caplog):
    _, reader = opened
    monkeypatch.setattr(ArchitectureIndex, "follow", lambda _: 1 / 0)
    wait_for(lambda: fault(reader, IndexUnavailableError))
    assert "the index is no longer followed" in caplog.text
    assert names(reader) == names_of(OLD)


def test_a_fault_of_our_own_in_the_first_look_leaves_files_alone(uri, monkeypatch, caplog):
    index = ArchitectureIndex(IndexConfig(uri=uri))
    closed = []
    monkeypatch.setattr(index, "follow", lambda: 1 / 0)
    monkeypatch.setattr(index, "close", lambda: closed.append(1))
    with Reader(lambda _: index, IndexConfig(uri=uri), ExactIndex(OLD, dim=DIM)) as reader:
        wait_for(lambda: "the index is no longer followed" in caplog.text)
        assert (closed, reader.count(), names(reader)) == ([1], 3, names_of(OLD))


@pytest.mark.slow
def test_when_rows_and_store_last_agreed_is_told(opened, caplog):
    index, reader = opened
    wait_for(lambda: reader.agreed_s > 0)
    index.live.drop()
    wait_for(lambda: "the rows in memory may be old" in caplog.text)
    stale = reader.agreed_s
    assert stale < caplog.records[-1].created
    assert names(reader) == names_of(OLD)
    load(index, NEW)
    wait_for(lambda: reader.agreed_s > stale and names(reader) == names_of(NEW))


@pytest.mark.slow
def test_files_answer_until_the_index_is_there(uri, prepared):
    config, may_open = IndexConfig(uri=uri, **SOON), Event()

    def open_late(_ending):
        assert may_open.wait(300)
        index = ArchitectureIndex(config)
        load(index, NEW)
        return index

    with Reader(open_late, config, ExactIndex(OLD, dim=DIM)) as reader:
        assert (names(reader), reader.count(), reader.collection) == (names_of(OLD), 3, None)
        assert (isnan(reader.agreed_s), reader.errors) == (True, {})
        with pytest.raises(IndexUnavailableError, match="files alone"):
            reader.upsert(NEW)
        may_open.set()
        wait_for(lambda: names(reader) == names_of(NEW))
        # What was written since the files were made is looked for along the same directions.
        assert prepared == [len(OLD)]
        wait_for(lambda: reader.state.is_writable)
        reader.upsert(OLD)
        assert reader.count() == 8


def test_files_answer_for_good_where_no_index_can_be_opened(caplog):
    def refuse(_ending):
        raise IndexUnavailableError("no room")

    with Reader(refuse, IndexConfig(), ExactIndex(OLD, dim=DIM)) as reader:
        wait_for(lambda: "answering from files alone: no room" in caplog.text)
        assert names(reader) == names_of(OLD)
