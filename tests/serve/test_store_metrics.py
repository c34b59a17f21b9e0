"""The metrics of the store, at the metrics port of a server whose index a reader follows."""

import time

import pytest
from asking import sample
from live_server import live_server
from tiny_index import tiny_index
from waiting import wait_for

from nar.config import IndexConfig
from nar.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.reader import Reader


def test_an_index_that_goes_away_is_seen(embedder, tmp_path):
    with tiny_index(tmp_path, embedder):
        config = IndexConfig(uri=str(tmp_path / "index.db"), follow_s=0.05)
    index = ArchitectureIndex(config)
    with Reader(lambda _: index, config) as reader, live_server(embedder, reader) as server:
        wait_for(lambda: sample(server, "nar_index_agreed_timestamp_seconds") > time.time() - 60)
        assert sample(server, "nar_store_errors_total") == 0
        index.live.drop()
        with pytest.raises(IndexUnavailableError):
            reader.count()
        assert sample(server, "nar_store_errors_total", kind="refused") > 0
        assert sample(server, "nar_store_errors_total", kind="unreachable") == 0
