"""The metrics of the store, at the metrics port of a server whose index a reader follows."""

import time
from threading import Event

import pytest
from asking import sample
from live_server import live_server
from prometheus_client import CollectorRegistry, generate_latest
from tiny_index import KNOWN, tiny_index
from waiting import wait_for

from nar.base.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.exact import ExactIndex
from nar.index.reader import Reader
from nar.index.rows import ERRORS
from nar.index.settings import IndexConfig
from nar.serve.telemetry import StoreMetrics


@pytest.mark.slow
def test_the_collection_that_is_served_is_seen_and_what_answers(embedder, index, tmp_path):
    rows = ExactIndex(list(index.get(list(KNOWN)).values()), dim=embedder.dim)
    opening = Event()

    def open_later(ending):
        assert opening.wait(300)
        return ArchitectureIndex(config)

    with live_server(embedder, index) as server:
        served = {"collection": index.live.name, "kind": "store"}
        assert sample(server, "nar_index_info", **served) == 1
    with tiny_index(tmp_path, embedder) as own:
        collection = own.live.name
    config = IndexConfig(uri=str(tmp_path / "index.db"), follow_s=0.05)
    with Reader(open_later, config, rows) as reader, live_server(embedder, reader) as server:
        assert sample(server, "nar_index_info", collection="", kind="files") == 1
        opening.set()
        served = {"collection": collection, "kind": "memory"}
        wait_for(lambda: sample(server, "nar_index_info", **served) == 1)
        assert sample(server, "nar_index_info") == 1


def test_a_state_that_is_not_known_does_not_hide_other_metrics():
    class Unknown:
        agreed_s, stale_since, errors = 0.0, None, dict.fromkeys(ERRORS, 0)

        @property
        def state(self):
            raise IndexUnavailableError("no index is published")

    registry = CollectorRegistry()
    registry.register(StoreMetrics(Unknown()))
    text = generate_latest(registry).decode()
    assert "nar_index_info{" not in text
    assert "nar_store_errors_total{" in text


@pytest.mark.slow
def test_an_index_that_goes_away_is_seen(embedder, tmp_path):
    with tiny_index(tmp_path, embedder):
        # One look and no other: an earlier look would find that nothing is published any more,
        # and no call would be refused.
        config = IndexConfig(uri=str(tmp_path / "index.db"), follow_s=60)
    index = ArchitectureIndex(config)
    with Reader(lambda _: index, config) as reader, live_server(embedder, reader) as server:
        wait_for(lambda: sample(server, "nar_index_agreed_timestamp_seconds") > time.time() - 60)
        assert sample(server, "nar_store_errors_total") == 0
        index.live.drop()
        with pytest.raises(IndexUnavailableError):
            reader.count()
        assert sample(server, "nar_store_errors_total", kind="refused") > 0
        assert sample(server, "nar_store_errors_total", kind="unreachable") == 0
