"""Fixtures that several suites share, and how tests are told apart and spread over processes."""

from pathlib import Path

import pytest
from atlases import packed, twenty_networks
from backends import BACKENDS, Backend, Exact, Fronted, Loop, Published
from both_clients import CLIENTS
from hypothesis import settings
from milvus_server import milvus_server
from s3_server import s3_server

from nar.index.settings import IndexConfig

# No test is timed: how long an example takes is up to what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


TESTS = Path(__file__).parent
# A fixture that a test takes -> the marker by which `make quick` leaves the test out.
NEEDS = {
    "milvus_uri": "server",
    "s3_uri": "server",
    "ray_cluster": "ray",
    "browser": "browser",
}
# Folders whose tests share what is dear to start or to read: one process runs each of them.
TOGETHER = {"cluster": "ray", "web": "browser", "index": "server", "benchmark": "data"}


# Before the scheduler reads which tests belong together.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what a test needs, and name the process that it shares with others."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for fixture in fixtures & set(NEEDS):
            item.add_marker(NEEDS[fixture])
        if "[server" in item.name or item.get_closest_marker("milvus_server"):
            item.add_marker("server")
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        group = TOGETHER.get(folder, str(item.path))
        if item.get_closest_marker("server"):
            group = TOGETHER["index"]
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def milvus_uri(tmp_path_factory):
    """URI of a Milvus server that lives as long as the tests."""
    with milvus_server(tmp_path_factory.mktemp("milvus")) as uri:
        yield uri


@pytest.fixture(scope="session")
def s3_uri():
    """URI of a path ``{}`` in the bucket of an S3 server that lives as long as the tests."""
    with s3_server() as uri:
        yield uri


@pytest.fixture(scope="session")
def small_work(tmp_path_factory):
    """A workspace of twenty networks and an encoder, as `twenty_networks` writes it; read only."""
    return twenty_networks(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="session")
def small_atlas(small_work, tmp_path_factory):
    """The atlas of that workspace; read only."""
    return packed(small_work, tmp_path_factory.mktemp("atlas"))


@pytest.fixture(scope="session", params=CLIENTS)
def open_client(request):
    """`Client`, and `AsyncClient` in its shape."""
    return CLIENTS[request.param]


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request, tmp_path_factory) -> Backend:
    """Every kind of index, empty at first: `Backend.fill` says what it holds."""
    if request.param in {"oracle", "exact"}:
        yield Loop() if request.param == "oracle" else Exact()
        return
    if request.param == "server":
        config = IndexConfig(uri=request.getfixturevalue("milvus_uri"), alias="conformance")
    else:
        config = IndexConfig(uri=str(tmp_path_factory.mktemp("lite") / "index.db"))
    # A server takes 0.2 s until readers see a write.
    kind = Fronted if request.param == "reader" else Published
    with kind(config, examples=10 if request.param == "server" else 200) as published:
        yield published
