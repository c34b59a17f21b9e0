"""The index that a Milvus server builds of a bulk load, when all rows are there."""

from dataclasses import replace

import numpy as np
import pytest
from backends import ENCODER
from oracle import DIM, row
from pymilvus import MilvusClient, MilvusException

from nar.index.architecture_index import ArchitectureIndex
from nar.index.finishing import sealed_segments
from nar.index.settings import IndexConfig

ROWS = [row(f"row {number}", 1, number) for number in range(5)]


@pytest.mark.milvus_server
def test_a_server_searches_by_its_index_as_soon_as_it_is_published(milvus_uri):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(10_000, 256)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [
        replace(row(f"row {number}", 1), embedding=vector) for number, vector in enumerate(vectors)
    ]
    config = IndexConfig(uri=milvus_uri, kind="HNSW", alias="published_hnsw")
    with ArchitectureIndex(config) as index, index.build(ENCODER, 256) as build:
        for part in range(0, len(rows), 2_500):
            build.load(rows[part : part + 2_500])
            build.staging.flush()  # after which Milvus merges by itself, too
        assert build.staging.kind() == "FLAT"
        build.publish()
        assert index.live.kind() == "HNSW"
        assert len(sealed_segments(index.live)) == 1
        assert index.live.unindexed() == 0
        asked = vectors[:200] + rng.normal(size=(200, 256), scale=0.02).astype(np.float32)
        nearest = np.argsort(-asked @ vectors.T)[:, :10]
        answers = index.search(asked, 10)
    found = [
        len({f"row {place}" for place in places} & {hit.name for hit in hits})
        for places, hits in zip(nearest, answers, strict=True)
    ]
    assert np.mean(found) >= 9


@pytest.mark.milvus_server
def test_segments_that_a_server_never_merges_are_published_as_they_are(
    milvus_uri, monkeypatch, caplog
):
    monkeypatch.setattr("nar.index.finishing._merge", lambda *_: set())
    monkeypatch.setattr("nar.index.finishing.MERGED_S", 0.0)
    # Else it may be merging them by itself.
    monkeypatch.setattr("nar.index.finishing.sealed_segments", lambda _: {1, 2})
    config = IndexConfig(uri=milvus_uri, kind="HNSW", alias="left_out")
    with ArchitectureIndex(config) as index:
        with index.build(ENCODER, DIM) as build:
            build.load(ROWS)
            assert build.publish() == len(ROWS)
        assert index.live.kind() == "HNSW"
        assert index.count() == len(ROWS)
    assert "Milvus leaves 2 segments" in caplog.text


@pytest.mark.milvus_server
def test_a_segment_that_is_dropped_while_they_are_counted_is_no_error(milvus_uri, monkeypatch):
    told, refusals = MilvusClient.list_persistent_segments, iter([1, 2])

    def dropping(*what, **how):
        if next(refusals, None):
            raise MilvusException(code=600, message="segment not found[segment=1]")
        return told(*what, **how)

    monkeypatch.setattr(MilvusClient, "list_persistent_segments", dropping)
    config = IndexConfig(uri=milvus_uri, kind="HNSW", alias="dropped")
    with ArchitectureIndex(config) as index, index.build(ENCODER, DIM) as build:
        build.load(ROWS)
        assert build.publish() == len(ROWS)
    assert next(refusals, None) is None


def cut_off(*_):
    raise KeyboardInterrupt


def without_index(collection, _):
    collection.milvus.client.drop_index(collection.name, "embedding")
    cut_off()


@pytest.mark.milvus_server
def test_a_build_that_was_cut_off_at_its_index_goes_on(milvus_uri, monkeypatch):
    config = IndexConfig(uri=milvus_uri, kind="HNSW", alias="cut_off")
    places = (
        ("nar.index.finishing._merge_all", cut_off, 0),
        ("nar.index.finishing._replace_index", without_index, 5),
        ("nar.index.bulk.verify", cut_off, 0),
    )
    with ArchitectureIndex(config) as index:
        for place, cut, kept in places:
            with index.build(ENCODER, DIM, job="cut") as build, monkeypatch.context() as patched:
                assert len(build.rows) == kept
                build.upsert(ROWS)
                patched.setattr(place, cut)
                with pytest.raises(KeyboardInterrupt):
                    build.publish()
        with index.build(ENCODER, DIM, job="cut") as build:
            assert len(build.rows) == 5
            assert build.publish() == 5
        assert index.live.kind() == "HNSW"
        hits = index.search(np.eye(1, DIM, dtype=np.float32), 100)[0]
        assert sorted(hit.name for hit in hits) == [item.name for item in ROWS]
