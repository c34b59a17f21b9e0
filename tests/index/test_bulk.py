"""Bulk loads: readers see the old rows, then the new ones, never a part."""

from dataclasses import replace

import numpy as np
import pytest
from backends import ENCODER, on_both
from oracle import DIM, row

from nar.base.errors import IndexMismatchError, IndexUnavailableError, InvalidInputError
from nar.index import bulk
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import IndexVerificationError
from nar.index.collection import SCHEMA_VERSION
from nar.index.settings import IndexConfig

OTHER_ENCODER = "f" * 64
EAST = np.eye(1, DIM, dtype=np.float32)
OLD = [row(f"old {number}", 1, number) for number in range(3)]
NEW = [row(f"new {number}", 1, number) for number in range(5)]


@pytest.fixture
def index(config):
    with ArchitectureIndex(config) as index:
        yield index


def load(index, rows, encoder=ENCODER, **job):
    with index.build(encoder, DIM, **job) as build:
        build.upsert(rows)
        return build.publish()


def names(index):
    return sorted(hit.name for hit in index.search(EAST, 100)[0])


@pytest.mark.slow
@on_both
def test_readers_see_the_old_rows_until_the_new_are_published(index):
    assert load(index, OLD) == 3
    before = index.live.name
    with index.build(OTHER_ENCODER, DIM) as build:
        build.upsert(NEW)
        assert names(index) == [item.name for item in OLD]
        build.publish()
    assert names(index) == [item.name for item in NEW]
    assert index.live.name.startswith("arch_ffffffffffffffff_")
    assert index.encoder == OTHER_ENCODER
    assert before not in index.live.milvus.client.list_collections()


@pytest.mark.slow
def test_what_was_published_is_there_after_opening_again(config):
    with ArchitectureIndex(config) as index:
        load(index, NEW)
    with ArchitectureIndex(config, encoder=ENCODER) as index:
        assert index.count() == 5
        assert (index.encoder, index.dim) == (ENCODER, DIM)
        assert names(index) == [item.name for item in NEW]


@pytest.mark.slow
def test_vectors_of_another_encoder_are_refused(config):
    with ArchitectureIndex(config) as index:
        load(index, OLD)
    with pytest.raises(IndexMismatchError, match=r"fff.* the index holds those of eee"):
        ArchitectureIndex(config, encoder=OTHER_ENCODER)
    with ArchitectureIndex(config) as index:  # nothing was left open
        assert index.count() == 3


def test_an_index_without_a_published_collection_says_so(index):
    for ask in (index.count, lambda: index.search(EAST, 1), lambda: index.upsert(OLD)):
        with pytest.raises(IndexUnavailableError, match="embed a corpus first"):
            ask()


@pytest.mark.slow
def test_any_number_of_rows_is_loaded_in_batches(tmp_path):
    config = IndexConfig(uri=str(tmp_path / "index.db"), batch_rows=2)
    with ArchitectureIndex(config) as index, index.build(ENCODER, DIM) as build:
        batches = []
        build.load((item for item in NEW), batches.append)
        build.load([])
        assert (batches, build.publish()) == ([2, 2, 1], 5)
        assert names(index) == [item.name for item in NEW]


@pytest.mark.slow
def test_a_build_that_was_not_published_leaves_nothing(index):
    with index.build(ENCODER, DIM) as build:
        build.upsert(NEW)
    assert build.staging.name not in build.staging.milvus.client.list_collections()


@pytest.mark.slow
@on_both
def test_a_named_build_goes_on_where_it_stopped(config):
    with ArchitectureIndex(config) as index, index.build(ENCODER, DIM, job="corpus1") as build:
        build.upsert(NEW[:3])
    with ArchitectureIndex(config) as index, index.build(ENCODER, DIM, job="corpus1") as build:
        assert build.rows.holds([item.id for item in NEW]) == [True] * 3 + [False] * 2
        build.upsert(NEW[2:])
        assert build.publish() == 5
        assert names(index) == [item.name for item in NEW]


@pytest.mark.slow
def test_running_the_same_job_twice_changes_nothing(index):
    for _ in range(2):
        assert load(index, NEW, job="corpus2") == 5
        assert names(index) == [item.name for item in NEW]


@pytest.mark.slow
def test_a_job_of_another_shape_is_refused(index):
    with index.build(ENCODER, DIM, job="corpus3"):
        pass
    with pytest.raises(IndexMismatchError, match=r"with 8 dimensions, now came .* with 9"):
        index.build(ENCODER, DIM + 1, job="corpus3")


@pytest.mark.slow
@on_both
def test_a_lost_row_stops_the_publication(index):
    load(index, OLD)
    with index.build(ENCODER, DIM) as build:
        build.upsert(NEW)
        build.staging.delete([NEW[1].id])
        with pytest.raises(IndexVerificationError, match=f"1 of 5 .*{NEW[1].id}"):
            build.publish()
    assert names(index) == [item.name for item in OLD]


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 4], ids=["among those read whole", "beyond them"])
def test_of_many_rows_a_lost_one_is_missed_though_few_are_read_whole(index, monkeypatch, lost):
    monkeypatch.setattr(bulk, "VERIFIED_ROWS", 2)
    gone = sorted(item.id for item in NEW)[lost]
    with index.build(ENCODER, DIM) as build:
        build.upsert(NEW)
        build.staging.delete([gone])
        with pytest.raises(IndexVerificationError, match=f"1 of 5 .*{gone}"):
            build.publish()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        replace(NEW[2], embedding=np.nextafter(NEW[2].embedding, np.float32(9))),
        replace(NEW[2], flops=21),
    ],
    ids=["vector", "field"],
)
def test_a_changed_row_stops_the_publication(index, changed):
    load(index, OLD)
    with index.build(ENCODER, DIM) as build:
        build.upsert(NEW)
        build.staging.upsert([changed])
        with pytest.raises(IndexVerificationError, match=r"new 2.* reads back damaged"):
            build.publish()
    assert names(index) == [item.name for item in OLD]


@pytest.mark.slow
def test_a_row_that_nobody_wrote_stops_the_publication(index):
    with index.build(ENCODER, DIM) as build:
        build.upsert(NEW)
        build.staging.upsert(OLD[:1])
        with pytest.raises(IndexVerificationError, match=r"old 0.* never acknowledged"):
            build.publish()


@pytest.mark.slow
def test_a_bad_row_is_refused_and_the_build_goes_on(index):
    with index.build(ENCODER, DIM) as build:
        with pytest.raises(InvalidInputError, match=r"rows\[1\].embedding: wanted float32"):
            build.upsert([NEW[0], replace(NEW[1], embedding=np.ones(3, dtype=np.float32))])
        build.upsert(NEW)
        assert build.publish() == 5


@pytest.mark.slow
def test_many_pages_are_verified(index, monkeypatch):
    monkeypatch.setattr("nar.index.collection.PAGE_ROWS", 7)
    many = [row(f"row {number}", 1, number) for number in range(300)]
    assert load(index, many) == 300
    pages = list(index.live.pages())
    assert len(pages) == 43
    assert sorted(stored.row.id for page in pages for stored in page) == sorted(r.id for r in many)


@pytest.mark.slow
def test_hnsw_finds_nearly_what_exact_search_finds(tmp_path):
    rng = np.random.default_rng(0)
    rows = [row(f"row {number}", *rng.normal(size=DIM)) for number in range(1_000)]
    ids = {}
    for kind in ("FLAT", "HNSW"):
        config = IndexConfig(uri=str(tmp_path / f"{kind}.db"), kind=kind)
        with ArchitectureIndex(config) as index:
            load(index, rows)
            answers = index.search(np.ones((1, DIM)), 50)
            ids[kind] = {hit.id for hit in answers[0]}
    assert len(ids["FLAT"] & ids["HNSW"]) >= 48


@pytest.mark.slow
@on_both
def test_a_collection_of_others_is_left_alone(index, config):
    with index.build(ENCODER, DIM) as build:
        client = build.staging.milvus.client
    client.create_collection("stranger", dimension=DIM)
    client.create_alias("stranger", config.alias)
    with pytest.raises(IndexUnavailableError, match="'stranger' was not made by NAR"):
        index.count()
    client.drop_alias(config.alias)
    client.drop_collection("stranger")


@pytest.mark.slow
@on_both
def test_an_index_of_an_older_schema_names_the_way_out(config, monkeypatch):
    with ArchitectureIndex(config) as index:
        load(index, OLD, job="corpus4")
        old = index.live.name
    newer = SCHEMA_VERSION + 1
    monkeypatch.setattr("nar.index.collection.SCHEMA_VERSION", newer)
    monkeypatch.setattr("nar.index.publishing.SCHEMA_VERSION", newer)
    message = rf"version {newer}, .* has version {SCHEMA_VERSION}; build it again"
    with pytest.raises(IndexMismatchError, match=message):
        ArchitectureIndex(config, encoder=ENCODER)
    with ArchitectureIndex(config) as index:
        with pytest.raises(IndexMismatchError, match="`nar index build`"):
            index.count()
        assert load(index, NEW, job="corpus4") == 5
        assert names(index) == [item.name for item in NEW]
        assert old not in index.live.milvus.client.list_collections()


@pytest.mark.slow
def test_an_index_that_states_no_version_has_the_first(config, monkeypatch):
    monkeypatch.setattr("nar.index.collection._SCHEMA", "unheard.of")
    with ArchitectureIndex(config) as index:
        load(index, OLD)
    monkeypatch.undo()
    with pytest.raises(IndexMismatchError, match="has version 1; build it again"):
        ArchitectureIndex(config, encoder=ENCODER)


@pytest.mark.parametrize(("encoder", "job"), [("abc", None), (ENCODER, "x' or 1"), (ENCODER, "")])
def test_names_of_builds_are_ours(index, encoder, job):
    with pytest.raises(InvalidInputError):
        index.build(encoder, DIM, job=job)


@pytest.mark.milvus_server
def test_another_process_follows_the_switch(milvus_uri):
    config = IndexConfig(uri=milvus_uri, alias="followed")
    with ArchitectureIndex(config) as writer:
        load(writer, OLD)
        with (
            ArchitectureIndex(config) as reader,
            ArchitectureIndex(config, encoder=ENCODER) as faithful,
        ):
            load(writer, NEW)
            assert names(reader) == names(faithful) == [item.name for item in NEW]
            load(writer, OLD, encoder=OTHER_ENCODER)
            assert names(reader) == [item.name for item in OLD]
            with pytest.raises(IndexMismatchError):
                faithful.count()
