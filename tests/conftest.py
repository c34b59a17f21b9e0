"""Fixtures that several suites share, and how tests are told apart and spread over processes."""

import os

# A process of pytest-xdist calls itself a terminal of 80 columns, which none of them is. It has to
# be taken back before the console of NAR is made.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)
# There are more processes of tests than cores, and each starts others: threads that wait for each
# other within one product would keep the cores busy.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import re
import signal

import pytest
from atlases import packed, twenty_networks
from backends import BACKENDS, Backend, Exact, Fronted, Loop, Published
from both_clients import CLIENTS
from hypothesis import settings
from milvus_server import milvus_server
from nodes import RAY_SETTINGS
from s3_server import s3_server
from xdist.scheduler import LoadScopeScheduling

from nar.index.settings import IndexConfig

os.environ.update(RAY_SETTINGS)
# A shell that runs the tests in the background has them ignore Ctrl-C, and with them the programs
# that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
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
# it is begun, so that what takes minutes is not begun last. A test is of the longest start of its
# name; what needs the Milvus server is of the first, or would start a second one: 25 s, and what it
# takes until the end.
TOGETHER = (
    (
        "tests/index/test_finishing.py",
        "tests/index/test_bulk.py::test_another_process_follows_the_switch",
        "tests/cluster/test_shared_storage.py::test_workers_write_into_a_server",
        "tests/cluster/test_shared_storage.py::test_a_worker_says_what_keeps_it",
        "tests/serve/test_durable_writes.py::test_another_server",
        "tests/serve/test_scopes.py::test_two_aliases_with_two_servers",
        "tests/serve/test_serve_command.py::test_an_atlas_is_stored_in_a_milvus_server",
    ),
    ("tests/cluster/",),
    ("tests/cluster/test_extract.py", "tests/cluster/test_pretrain.py"),
    ("tests/cluster/test_embed.py",),
    ("tests/benchmark/",),
    ("tests/campaigns/",),
    ("tests/index/",),
    ("tests/zoo/",),
    ("tests/web/",),
)
SCOPE_OF = {start: scope[0] for scope in TOGETHER for start in scope}
PLACES = {scope[0]: number for number, scope in enumerate(TOGETHER)}
OF_SERVER = TOGETHER[0][0]
IS_OF_SERVER = re.compile(r"[\[-]server[\]-]")


def together(nodeid):
    """What a test is run together with: the first of one of `TOGETHER`, or its file."""
    if IS_OF_SERVER.search(nodeid):
        return OF_SERVER
    starts = [start for start in SCOPE_OF if nodeid.startswith(start)]
    return SCOPE_OF[max(starts, key=len)] if starts else nodeid.partition("::")[0]


def pytest_collection_modifyitems(items):
    """Mark what a test needs, and begin with what takes longest."""
    for item in items:
        for fixture in NEEDS.keys() & getattr(item, "fixturenames", ()):
            item.add_marker(NEEDS[fixture])
        if "[server" in item.name or "[s3" in item.name or item.get_closest_marker("milvus_server"):
            item.add_marker("server")
    items.sort(key=turn)


def turn(item):
    """When a test is begun; of the Milvus server's tests, what needs Ray is last."""
    scope = together(item.nodeid)
    needs_both = scope == OF_SERVER and "ray_cluster" in getattr(item, "fixturenames", ())
    return PLACES.get(scope, len(PLACES)), needs_both


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Import everything without garbage collection, and leave it out from then on.

    It stays until the end. Looking through it takes half a second: seven times meanwhile, and five
    times at the end, when pytest collects by itself.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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
    with milvus_server(tmp_path_factory.mktemp("milvus"), is_eager=True) as uri:
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
