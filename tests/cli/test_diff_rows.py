"""`nar diff` of rows that only an index, or a server, knows by name."""

import json

import pytest
from corpora import corpus
from graphs import graph_of
from live_server import live_server
from tiny_index import tiny_embedder
from typer.testing import CliRunner

from nar.cli.app import app
from nar.corpus import CorpusGraphs
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import index_row
from nar.index.settings import IndexConfig

OWN = {
    "vision/plain@v1": "input; conv 0; batch_norm 1; relu 2; conv 3; batch_norm 4; relu 5",
    "vision/plain@v2": "input; conv 0; batch_norm 1; relu 2; conv 3; batch_norm 4; add 5 0; relu 6",
    "vision/copy": "input; conv 0; batch_norm 1; relu 2; conv 3; batch_norm 4; relu 5",
}
ITEMS = [
    architecture(Labels(name, "own", "own 1", "seg", "t"), canonical(graph_of(text)))
    for name, text in OWN.items()
]


@pytest.fixture(scope="module")
def embedder():
    return tiny_embedder()


@pytest.fixture
def index(embedder, tmp_path):
    with ArchitectureIndex(IndexConfig(uri=str(tmp_path / "mine.db"))) as opened:
        with opened.build(embedder.fingerprint, embedder.dim) as build:
            vectors = embedder.embed([item.graph for item in ITEMS])
            build.upsert([index_row(*pair) for pair in zip(ITEMS, vectors, strict=True)])
            build.publish()
        yield opened


def diff(*words):
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["diff", *words])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.slow
def test_two_rows_of_an_index_are_compared_by_what_it_has(index, tmp_path):
    index.close()
    mine = ("--uri", str(tmp_path / "mine.db"))
    code, text, _ = diff("vision/plain@v1", "vision/plain@v2", *mine)
    assert code == 0
    assert "They are different designs." in text
    assert "the index has no graph of vision/plain@v1 and vision/plain@v2" in " ".join(text.split())
    report = json.loads(diff("vision/plain@v1", "vision/copy", *mine, "--json")[1])
    assert (report["same_exact"], report["edits"]) == (True, None)
    assert report["second"]["name"] == "vision/copy"
    page = tmp_path / "diff.html"
    assert diff("vision/plain@v1", "vision/copy", *mine, "--html", str(page))[0] == 0
    assert "They are the same network." in page.read_text()


@pytest.mark.slow
def test_a_name_that_neither_knows_is_refused(index, tmp_path):
    index.close()
    code, _, said = diff("vision/plain@v1", "vision/none", "--uri", str(tmp_path / "mine.db"))
    assert code == 1
    assert "vision/none is not in the index at" in " ".join(said.split())
    code, _, said = diff("vision/plain@v1", "vision/none", "--uri", str(tmp_path / "no.db"))
    assert code == 1
    assert "neither a known architecture nor a file" in " ".join(said.split())


@pytest.mark.slow
def test_a_server_with_graphs_compares_operators(index, embedder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(
        "import torch\n\n\ndef factory():\n    return torch.nn.Tanh(), torch.zeros(1, 3)\n"
    )
    graphs = CorpusGraphs(corpus(tmp_path / "graphs", ITEMS[:2]))
    with live_server(embedder, index, graphs=graphs) as server:
        at = ("--server", server.target)
        code, text, _ = diff("vision/plain@v1", "vision/plain@v2", *at)
        assert code == 0
        assert "From vision/plain@v1 to vision/plain@v2: a shortcut more" in " ".join(text.split())
        told = diff("vision/plain@v1", "net.py:factory", *at, "--json")
        assert told[0] == 0, told
        there = json.loads(told[1])
        back = json.loads(diff("net.py:factory", "vision/plain@v1", *at, "--json")[1])
        assert [each["first"] for each in there["other_motifs"]] == [
            each["second"] for each in back["other_motifs"]
        ]
        assert there["first"]["name"] == back["second"]["name"] == "vision/plain@v1"
        lacking = json.loads(diff("vision/plain@v1", "vision/copy", *at, "--json")[1])
        assert "indexed without a graph" in lacking["why_not"]
        assert lacking["same_exact"] is True
        assert diff("vision/plain@v1", "vision/none", *at)[0] == 1
