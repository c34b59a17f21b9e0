"""Two teams on one server: neither sees a row, a name, a count or an error of the other."""

import gzip
import json
import urllib.error
import urllib.request
from contextlib import ExitStack

import grpc
import pytest
from corpora import corpus, item
from google.protobuf.json_format import MessageToJson
from google.protobuf.struct_pb2 import Value
from google.rpc.code_pb2 import NOT_FOUND
from graphs import bert, graph_of, resnet
from live_server import live_server
from oracle import row
from tiny_index import tiny_embedder

from nar.answers.uses import corpus_uses
from nar.base.errors import ConfigError, InvalidQueryError, UnknownArchitectureError
from nar.base.own_labels import written
from nar.client.client import Client
from nar.client.remote import ServiceError
from nar.corpus import CorpusGraphs
from nar.index.architecture_index import ArchitectureIndex
from nar.index.filters import Filter, Range
from nar.index.rows import index_row
from nar.index.settings import IndexConfig
from nar.serve.doors import Tokens
from nar.serve.scopes import passes, read_scoped_tokens
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.web.pages import AtlasExtras, page_of
from nar.wire.graphs import encode_graph
from nar.wire.records import LabelChange
from nar.wire.settings import ServerConfig

# Every text that tells of team B has this word, and no text of team A.
SECRET = "bravo"
TOKENS = f"""
- {{token: alpha-token, rights: [read, write, remove], where: team = alpha, prefix: alpha/}}
- {{token: alpha-reader, where: team = alpha}}
- token: {SECRET}-token
  rights: [read, write, remove]
  where: team = {SECRET}
  prefix: {SECRET}/
- {{token: elsewhere, alias: another}}
"""


def zoo():
    """The same networks in both teams, and one more of team B; nearer to A's query than A's own."""
    both = {
        team: [
            item(f"{team}/one", resnet([1]), family=f"{team}net", own=written({"team": team})),
            item(f"{team}/two", bert(2), family=f"{team}net", own=written({"team": team})),
        ]
        for team in ("alpha", SECRET)
    }
    more = item(f"{SECRET}/more", resnet([2]), own=written({"team": SECRET, "stage": SECRET}))
    return [*both["alpha"], *both[SECRET], more]


@pytest.fixture(scope="module")
def embedder():
    return tiny_embedder()


@pytest.fixture(scope="module")
def site(embedder, tmp_path_factory):
    """A writable server with graphs, a page and the two teams, and its file of tokens."""
    directory, tokens = tmp_path_factory.mktemp("scopes"), tmp_path_factory.mktemp("t") / "tokens"
    tokens.write_text(TOKENS)
    items = zoo()
    corpus(directory / "corpus", items)
    vectors = embedder.embed([each.graph for each in items])
    names = tuple(each.labels.name for each in items)
    extras = AtlasExtras(uses=(corpus_uses(directory / "corpus"), names))
    graphs = CorpusGraphs(directory / "corpus")
    page = page_of(ServerConfig(), graphs, extras)
    with ArchitectureIndex(IndexConfig(uri=str(directory / "index.db"))) as index:
        with index.build(embedder.fingerprint, embedder.dim) as build:
            build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
            build.publish()
        settings = {"scoped_tokens_file": tokens, "token": "operator", "writable": True}
        with live_server(
            embedder, index, graphs=graphs, page=page, web_port=0, **settings
        ) as server:
            yield server, tokens


def stub_of(server, token):
    channel = grpc.insecure_channel(server.target)
    stub, metadata = (
        ArchitectureRetrievalServiceStub(channel),
        (("authorization", f"Bearer {token}"),),
    )
    return lambda method, request: getattr(stub, method)(request, metadata=metadata)


def graph(blocks):
    return encode_graph(resnet(blocks))


EVERY_PART = [value for name, value in wire.Part.items() if value]
OTHERS = [f"{SECRET}/one", f"{SECRET}/more", "nobody/none"]
ASKED = {
    "Search": [
        wire.SearchRequest(
            queries=[
                wire.Query(graph=graph([1]), top_k=9, parts=EVERY_PART),
                wire.Query(graph=graph([2]), top_k=9, parts=EVERY_PART, parts_if_new=EVERY_PART),
                wire.Query(architecture="alpha/one", top_k=9, parts=EVERY_PART),
                wire.Query(graph=graph([1]), filter=wire.Filter(where="not team = alpha")),
                wire.Query(graph=graph([1]), filter=wire.Filter(where="stage exists or nodes > 0")),
                wire.Query(architecture="nobody/none"),
            ]
        )
    ],
    "Embed": [wire.EmbedRequest(graphs=[graph([1])])],
    "Get": [wire.GetRequest(architectures=["alpha/one", "alpha/two"])],
    "List": [wire.ListRequest(), wire.ListRequest(filter=wire.Filter(where="not team = alpha"))],
    "Describe": [wire.DescribeRequest()],
    "Explain": [
        wire.ExplainRequest(graph=graph([2]), others=["alpha/one", "nobody/none"]),
        wire.ExplainRequest(architecture="alpha/one", others=["alpha/two"]),
    ],
    "Upsert": [
        wire.UpsertRequest(
            architectures=[
                wire.NewArchitecture(
                    name="alpha/new", graph=graph([3]), labels={"team": Value(string_value="alpha")}
                ),
                wire.NewArchitecture(name="alpha/no", graph=graph([3])),
            ]
        )
    ],
    "Label": [
        wire.LabelRequest(
            changes=[
                wire.LabelChange(
                    architecture="alpha/new", labels={"stage": Value(string_value="prod")}
                )
            ]
        )
    ],
    "Delete": [wire.DeleteRequest(architectures=["alpha/new", "nobody/none"])],
}


@pytest.mark.slow
def test_no_call_tells_of_the_other_team(site):
    server, _ = site
    ask = stub_of(server, "alpha-token")
    for method, requests in ASKED.items():
        for request in requests:
            assert SECRET not in MessageToJson(ask(method, request)), method
    streamed = ask("SearchStream", iter(ASKED["Search"]))
    assert all(SECRET not in MessageToJson(each) for each in streamed)
    methods = wire.DESCRIPTOR.services_by_name["ArchitectureRetrievalService"].methods_by_name
    assert {*ASKED, "SearchStream"} == {*methods}


@pytest.mark.milvus_server
def test_two_aliases_with_two_servers_share_nothing(milvus_uri, embedder):
    """The other way to keep teams apart, on one store: no token of one is known to the other."""
    teams, servers = {"alpha": zoo()[:2], SECRET: zoo()[2:]}, {}
    with ExitStack() as stack:
        for team, items in teams.items():
            config = IndexConfig(uri=milvus_uri, alias=f"scopes_{team}")
            index = stack.enter_context(ArchitectureIndex(config))
            vectors = embedder.embed([each.graph for each in items])
            with index.build(embedder.fingerprint, embedder.dim) as build:
                build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
                build.publish()
            settings = {"token": f"{team}-token", "writable": True}
            servers[team] = stack.enter_context(live_server(embedder, index, **settings))
        alpha, other = (stub_of(servers[team], f"{team}-token") for team in teams)
        other("Upsert", written_by(f"{SECRET}/new"))
        for method, requests in ASKED.items():
            for request in requests if method != "Explain" else ():
                assert SECRET not in MessageToJson(alpha(method, request)), method
        counts = [ask("Describe", wire.DescribeRequest()).index_rows for ask in (alpha, other)]
        # Two rows were written beside; one row of alpha was deleted again.
        assert counts == [3, 4]
        with pytest.raises(grpc.RpcError) as caught:
            stub_of(servers[SECRET], "alpha-token")("Describe", wire.DescribeRequest())
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def written_by(name):
    return wire.UpsertRequest(architectures=[wire.NewArchitecture(name=name, graph=graph([3]))])


@pytest.mark.slow
def test_counts_are_of_ones_own_rows(site):
    server, _ = site
    counted = {
        token: stub_of(server, token)("Describe", wire.DescribeRequest()).index_rows
        for token in ("alpha-token", f"{SECRET}-token", "operator")
    }
    assert counted == {"alpha-token": 2, f"{SECRET}-token": 3, "operator": 5}


@pytest.mark.slow
def test_what_is_of_others_is_unknown_as_what_is_of_nobody(site):
    """The answers differ in the name that was asked for, and in nothing else."""
    server, _ = site
    ask = stub_of(server, "alpha-token")
    requests = {
        "Get": wire.GetRequest(architectures=OTHERS),
        "Delete": wire.DeleteRequest(architectures=OTHERS),
        "Explain": wire.ExplainRequest(graph=graph([1]), others=OTHERS),
        "Search": wire.SearchRequest(queries=[wire.Query(architecture=each) for each in OTHERS]),
        "Label": wire.LabelRequest(
            changes=[wire.LabelChange(architecture=each, family="x") for each in OTHERS]
        ),
    }
    for method, request in requests.items():
        results = ask(method, request).results
        told = [
            result.status.message.replace(name, "NAME")
            for name, result in zip(OTHERS, results, strict=True)
        ]
        assert len(set(told)) == 1, method
        assert {result.status.code for result in results} == {NOT_FOUND}
    with pytest.raises(grpc.RpcError) as caught:
        ask("Explain", wire.ExplainRequest(architecture=OTHERS[0], others=["alpha/one"]))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert stub_of(server, "operator")("Describe", wire.DescribeRequest()).index_rows == 5


@pytest.mark.slow
def test_rows_are_written_within_the_scope_alone(site, embedder):
    server, _ = site
    network = graph_of("input; conv 0; relu 1")
    with Client(server.target, token="alpha-token") as client:

        def put(name, **labels):
            new = item(name, network, own=written(labels))
            [outcome] = client.upsert([new])
            return outcome

        for name in (f"{SECRET}/one", f"{SECRET}/free"):
            outcome = put(name, team="alpha")
            assert isinstance(outcome, InvalidQueryError)
            assert outcome.field == "architectures[0].name"
            assert "begins with 'alpha/'" in outcome.reason
        outcome = put("alpha/x", team=SECRET)
        assert (outcome.field, type(outcome)) == ("architectures[0].labels", InvalidQueryError)
        assert put("alpha/x", team="alpha", accuracy=0.5).labels["accuracy"] == 0.5
        assert client.label("alpha/x", {"accuracy": 0.9}).labels["accuracy"] == 0.9
        with pytest.raises(InvalidQueryError, match=r"changes\[0\].labels: wanted labels that"):
            client.label("alpha/x", {"team": SECRET})
        with pytest.raises(InvalidQueryError, match=r"changes\[0\].labels"):
            client.label("alpha/x", removed=["team"])
        [first, second] = client.label_many(
            [LabelChange("alpha/x", {"a": 1.0}), LabelChange("alpha/x", {"a": 2.0})]
        )
        assert isinstance(first, InvalidQueryError) != isinstance(second, InvalidQueryError)
        [gone] = client.delete(["alpha/x"])
        assert gone.name == "alpha/x"
        with pytest.raises(UnknownArchitectureError):
            client.label("alpha/x", {"a": 1.0})


def test_rights_are_those_of_the_token(site):
    server, _ = site
    with Client(server.target, token="alpha-reader") as client:
        assert client.describe().index_rows == 2
        assert not client.describe().index.is_writable
        for call in (lambda: client.upsert(zoo()[:1]), lambda: client.label("alpha/one", {"a": 1})):
            with pytest.raises(ServiceError, match="wanted a token that may write"):
                call()
        with pytest.raises(ServiceError, match="wanted a token that may remove for Delete"):
            client.delete(["alpha/one"])
    with (
        Client(server.target, token="elsewhere") as client,
        pytest.raises(ServiceError, match="UNAUTHENTICATED"),
    ):
        client.describe()


def fetched(url, token, body=None):
    sent = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, sent, headers)) as reply:
            content, code = reply.read(), reply.status
    except urllib.error.HTTPError as error:
        content, code = error.read(), error.code
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return code, content.decode()


@pytest.mark.slow
def test_no_page_tells_of_the_other_team(site):
    server, _ = site
    one = {"architecture": "alpha/one"}
    theirs = {"architecture": f"{SECRET}/one"}
    model = json.loads(fetched(f"http://{server.web_target}/page/model", "operator", one)[1])
    pages = {
        "names?text=one": None,
        f"names?text={SECRET[:4]}": None,
        "map": None,
        "offers": None,
        "model": one,
        "diff": {"first": one, "second": {"architecture": "alpha/two"}},
        "users": {"code": model["motifs"][0]["code"]},
    }
    for path, body in pages.items():
        url = f"http://{server.web_target}/page/{path}"
        assert SECRET in fetched(url, "operator", body)[1] or path not in ("map", "users"), path
        assert SECRET not in fetched(url, "alpha-token", body)[1].replace(path, ""), path
    url = f"http://{server.web_target}/page/model"
    shown = json.loads(fetched(url, "alpha-token", one)[1])
    assert {motif["users"] for motif in shown["motifs"]} == {None}
    assert fetched(url, "alpha-token", theirs)[0] == 404
    assert fetched(url, f"{SECRET}-token", theirs)[0] == 200
    listed = fetched(f"http://{server.web_target}/v1/list", "alpha-token", {})[1]
    assert "alpha/one" in listed
    assert SECRET not in listed


def test_metrics_are_for_those_who_see_all(site, tmp_path):
    server, _ = site
    with urllib.request.urlopen(server.metrics_url) as reply:
        # The port of operators names nobody's rows, models or labels.
        assert SECRET not in reply.read().decode()
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKENS)
    held = Tokens(ServerConfig(token="operator", scoped_tokens_file=tokens))
    assert held.scope("Bearer operator").is_whole
    assert not held.scope("Bearer alpha-token").is_whole
    assert held.scope("Bearer nobody") is None


def test_scopes_are_read_again_when_their_file_changes(site):
    server, tokens = site
    ask = stub_of(server, "later")
    with pytest.raises(grpc.RpcError):
        ask("Describe", wire.DescribeRequest())
    tokens.write_text(f"{TOKENS}- {{token: later, where: family = alphanet}}\n")
    assert ask("Describe", wire.DescribeRequest()).index_rows == 2
    tokens.write_text("- {token: later, whre: x}")
    assert ask("Describe", wire.DescribeRequest()).index_rows == 2
    tokens.write_text(TOKENS)
    with pytest.raises(grpc.RpcError):
        ask("Describe", wire.DescribeRequest())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {token: t, rights: [read, write], where: team = a}", "wants a prefix of its names"),
        ("- {token: t, where: 'team ='}", "at letter 7: wanted a value"),
        ("- {token: t, rights: []}", "token 1: rights: "),
        ("- {token: t, rights: [all]}", "token 1: rights.0: "),
        (
            "- {token: t}\n- {token: t, whre: x}",
            "token 2: whre: no such setting; did you mean where",
        ),
        ("- {token: 'secret word'}", "token 1: token: wanted a token of visible ASCII"),
        ("- secret-word", "token 1: "),
        ("secret-word", "wanted a list of tokens"),
        ("- {token: secret-word", "line 1: it is no YAML"),
    ],
)
def test_a_fault_of_the_file_is_named_and_no_token_is_shown(tmp_path, text, said):
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        read_scoped_tokens(path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        (Filter(), True),
        (Filter(families=("resnet",), nodes=Range(30, 30)), True),
        (Filter(nodes=Range(minimum=31)), False),
        (Filter(nodes=Range(maximum=29)), False),
        (Filter.where("team = a or nodes = 1"), True),
        (Filter.where("not team = a"), False),
        (Filter.where("team = b"), False),
    ],
)
def test_one_row_passes_a_filter_as_in_an_index(wanted, answer):
    assert passes(wanted, row("x", 1, own=written({"team": "a"}))) is answer
