"""`nar serve` of an atlas, as processes of their own that share a home."""

import os
import socket
import subprocess
import sys
from contextlib import contextmanager

import grpc
import pytest
from milvus_server import free_port
from waiting import wait_for

from nar.client.client import Client
from nar.corpus import Corpus
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

# `nar` with another atlas than the shipped one.
NAR = """
import os, sys
from pathlib import Path
from nar.base.process import ENVIRONMENT
os.environ.update(ENVIRONMENT | os.environ)  # as the command does before it imports them
from nar.answers.atlas import Atlas
from nar.cli import serve_command
serve_command.shipped_atlas = lambda: Atlas(Path(sys.argv[1]), Path(sys.argv[2]))
from nar.cli.app import app
app(sys.argv[3:])
"""


@contextmanager
def serving(atlas, home, *options):
    """A server; its address, and what it logs."""
    port, log = free_port(), home / f"{len(list(home.iterdir()))}.log"
    line = [sys.executable, "-c", NAR, str(atlas.directory), str(atlas.corpus), "serve"]
    line += ["--port", str(port), "--metrics-port", "0", *options]
    environment = os.environ | {"XDG_CACHE_HOME": str(home / "cache")}
    with (
        log.open("w") as said,
        subprocess.Popen(line, stdout=said, stderr=said, cwd=home, env=environment) as process,
    ):
        try:
            wait_for(lambda: "serving on port" in log.read_text(), or_ended=process)
            yield f"127.0.0.1:{port}", log
        finally:
            process.terminate()


def index_of(target):
    with grpc.insecure_channel(target) as channel:
        return ArchitectureRetrievalServiceStub(channel).Describe(wire.DescribeRequest()).index


def name_in(atlas):
    return next(names[0] for _, names in Corpus(atlas.corpus).names())


@pytest.mark.slow
def test_a_port_that_is_taken_is_one_error_and_nothing_of_grpc(small_atlas, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        line = [sys.executable, "-c", NAR, str(small_atlas.directory), str(small_atlas.corpus)]
        line += ["serve", "--port", str(port), "--metrics-port", "0"]
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
        done = subprocess.run(line, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: the port may be taken;" in done.stderr
    assert ".cc:" not in done.stderr


@pytest.mark.slow
def test_an_index_of_a_graph_is_searched_where_it_is(small_atlas, tmp_path):
    with serving(small_atlas, tmp_path, "--kind", "HNSW") as (target, _), Client(target) as client:
        wait_for(lambda: index_of(target).collection != "")
        assert index_of(target).is_in_memory is False
        [first, *_] = client.search(name_in(small_atlas)).hits
        assert first.score == pytest.approx(1, abs=1e-5)


@pytest.mark.milvus_server
def test_an_atlas_is_stored_in_a_milvus_server_that_is_named(small_atlas, tmp_path, milvus_uri):
    with serving(small_atlas, tmp_path, "--uri", milvus_uri) as (target, _):
        wait_for(lambda: index_of(target).collection != "")
        assert index_of(target).is_in_memory
        assert index_of(target).visible_within_ms > 0


@pytest.mark.slow
def test_an_index_that_is_not_there_is_made_from_the_atlas_with_a_warning(small_atlas, tmp_path):
    uri = tmp_path / "typo.db"
    with serving(small_atlas, tmp_path, "--uri", str(uri)) as (target, log):
        wait_for(lambda: index_of(target).collection != "")
        made = f"WARNING there is no index at {uri}: it is made, with the atlas in it"
        assert made in log.read_text()
    with serving(small_atlas, tmp_path, "--uri", str(uri)) as (target, log):
        assert "WARNING" not in log.read_text()


@pytest.mark.slow
def test_a_second_server_of_one_home_answers_from_files_and_neither_warns(small_atlas, tmp_path):
    with (
        serving(small_atlas, tmp_path, "--kind", "FLAT") as (first, first_log),
        Client(first) as asking,
    ):
        wait_for(lambda: index_of(first).collection != "")
        assert index_of(first).is_in_memory is True
        [nearest, *_] = asking.search(name_in(small_atlas)).hits
        assert nearest.score == pytest.approx(1, abs=1e-5)
        with serving(small_atlas, tmp_path) as (second, log), Client(second) as client:
            wait_for(lambda: "INFO answering from files alone" in log.read_text())
            assert client.search(name_in(small_atlas)).hits
            assert (index_of(second).collection, index_of(second).is_in_memory) == ("", True)
    assert "WARNING" not in first_log.read_text() + log.read_text()
