"""Fixtures that several suites share, and how tests are told apart and spread over processes."""

import os

# A process of pytest-xdist calls itself a terminal of 80 columns, which none of them is. It has to
# be taken back before the console of NAR is made.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)

import pytest
from atlases import packed, twenty_networks
from backends import BACKENDS, Backend, Exact, Fronted, Loop, Published
from both_clients import CLIENTS
from hypothesis import settings
from milvus_server import milvus_server
from s3_server import s3_server
from xdist.scheduler import LoadScopeScheduling

from nar.index.settings import IndexConfig

# No test is timed: how long an example takes is up to what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


# A fixture that a test takes -> the marker by which `make quick` leaves the test out.
NEEDS = {
    "milvus_uri": "server",
    "s3_uri": "server",
    "ray_cluster": "ray",
    "browser": "browser",
}
# What one process runs, for its tests share what is dear to start or to read; in the order in which
# it is begun, so that what takes minutes is not begun last. A test is of the first that it lies in.
TOGETHER = (
    "tests/cluster/test_embed.py",
    "tests/index/",
    "tests/cluster/test_pretrain.py",
    "tests/cluster/",
    "tests/campaigns/",
    "tests/zoo/",
    "tests/benchmark/",
    "tests/web/",
)


def together(nodeid):
    """What a test is run together with: one of `TOGETHER`, or its file."""
    # One Milvus server is enough.
    if "[server" in nodeid and not nodeid.startswith("tests/cluster/"):
        return "tests/index/"
    whole = (start for start in TOGETHER if nodeid.startswith(start))
    return next(whole, nodeid.partition("::")[0])


def pytest_collection_modifyitems(items):
    """Mark what a test needs, and begin with what takes longest."""
    for item in items:
        for fixture in NEEDS.keys() & getattr(item, "fixturenames", ()):
            item.add_marker(NEEDS[fixture])
        if "[server" in item.name or "[s3" in item.name or item.get_closest_marker("milvus_server"):
            item.add_marker("server")
    place = {start: number for number, start in enumerate(TOGETHER)}
    items.sort(key=lambda item: place.get(together(item.nodeid), len(place)))


class TogetherScheduling(LoadScopeScheduling):
    """Spreads files over processes; what needs one Milvus server, and some folders, stay whole."""

    def _split_scope(self, nodeid):
        return together(nodeid)


def pytest_xdist_make_scheduler(config, log):
    """Spread the tests over processes so."""
    return TogetherScheduling(config, log)


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
    with kind(config, examples=10 if request.param == "server" else 60) as published:
        yield published
