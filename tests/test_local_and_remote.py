"""Retriever, Client and AsyncClient: one method, one record; and what a search costs a server."""

import json
from contextlib import contextmanager

import pytest
from asking import assert_alike, sample
from both_clients import CLIENTS
from graphs import graph_of
from live_server import live_server
from test_answer import Known
from tiny_index import known, tiny_embedder, tiny_index
from typer.testing import CliRunner

from benchmark.editing.parts import run
from nar.answers.query import PARTS, Answer, Query
from nar.answers.retrieve import Retriever
from nar.base.errors import InvalidQueryError, UnknownArchitectureError
from nar.cli.app import app
from nar.graphs.assumed import Assumed, Count, Unread
from nar.index.filters import Filter

ALL = frozenset(PARTS)
PART = run(known("timm:plain"), begin=0.4, end=1)


class Counting:
    """An embedder that counts the graphs that it embeds."""

    def __init__(self):
        self._embedder = tiny_embedder()
        self.graphs = 0

    def __getattr__(self, name):
        return getattr(self._embedder, name)

    def embed(self, graphs, **settings):
        self.graphs += len(graphs)
        return self._embedder.embed(graphs, **settings)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with tiny_index(tmp_path_factory.mktemp("index"), tiny_embedder()) as opened:
        yield opened


@pytest.fixture(scope="module")
def embedder():
    return Counting()


@pytest.fixture(scope="module")
def server(embedder, index):
    with live_server(embedder, index, graphs=Known(), web_port=0) as live:
        yield live


@pytest.fixture(scope="module", params=["local", *CLIENTS])
def answering(request, server, embedder, index):
    """What answers: the library, or a client of either kind."""
    if request.param == "local":
        yield Retriever(embedder, index, graphs=Known(), max_nodes=100_000)
        return
    with CLIENTS[request.param](server.target) as client:
        yield client


QUERIES = [
    Query(PART, 3, parts=ALL),
    Query("timm:plain", 2, Filter(sources=("timm",)), "copy", frozenset({"family", "part_of"})),
    Query("timm:mixer", parts_if_new=ALL),
    Query(known("timm:residual"), 1, parts_if_new=frozenset({"bodies"})),
    Query(
        graph_of("input; gelu 0; conv 1"),
        1,
        assumed=Assumed(("x=1x3x32x32",), 0.9, None, False),
        unread=Unread((Count("my::op", 1),), operators=3),
    ),
]


@pytest.mark.slow
def test_every_query_is_answered_with_its_own_settings(answering, index):
    told = answering.answers(QUERIES)
    expected = Retriever(tiny_embedder(), index, graphs=Known()).answers(QUERIES)
    assert_alike(told, expected)
    for one, other in zip(told, expected, strict=True):
        for part in ("part_of", "bodies", "shared", "compared", "assumed", "unread"):
            assert getattr(one, part) == getattr(other, part)
    assert [answer.assumed for answer in told] == [query.assumed for query in QUERIES]
    assert [answer.unread for answer in told] == [query.unread for query in QUERIES]
    assert [whole.name for whole in told[0].part_of] == ["timm:plain"]


@pytest.mark.slow
def test_a_query_at_fault_is_told_by_its_place(answering):
    queries = [Query("timm:plain", 1), Query("timm:nobody", parts=ALL), Query("timm:plain", 20_000)]
    first, unknown, refused = answering.search_all(queries)
    assert isinstance(first, Answer)
    assert isinstance(unknown, UnknownArchitectureError)
    assert isinstance(refused, InvalidQueryError)
    with pytest.raises(UnknownArchitectureError, match="timm:nobody"):
        answering.answers(queries)


@pytest.mark.slow
def test_questions_about_one_graph_embed_it_once(answering, embedder):
    before = embedder.graphs
    answering.answers([Query(PART, 1, by=by, parts=ALL) for by in ("design", "copy", "trunk")])
    assert embedder.graphs == before + 1


@contextmanager
def calls_of(server, embedder):
    """How many calls of each method come, and how many graphs are embedded, in the body."""
    counted = {}
    methods = ("Search", "Describe", "List", "Explain", "Embed", "Get")

    def calls():
        return {name: sample(server, "nar_rpc_requests_total", method=name) for name in methods}

    before, graphs = calls(), embedder.graphs
    yield counted
    counted.update({name: count - before[name] for name, count in calls().items()})
    counted["embedded"] = embedder.graphs - graphs


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--explain"], ["--by", "copy"]])
def test_the_command_asks_a_server_once(server, embedder, options):
    with calls_of(server, embedder) as counted:
        asked = ["search", "timm:resnet18", "--server", server.target, "--json", "-k", "2"]
        done = CliRunner().invoke(app, [*asked, *options])
    assert done.exit_code == 0, done.output
    assert counted == {
        "Search": 1, "Describe": 1, "List": 0, "Explain": 0, "Embed": 0, "Get": 0, "embedded": 1,
    }  # fmt: skip
    told = json.loads(done.stdout)
    assert len(told["hits"]) == 2
    assert told["evidence"]["family"]["of"] == told["evidence"]["compared"] == 5
    assert (len(told["explanations"]) > 0) is (options == ["--explain"])
