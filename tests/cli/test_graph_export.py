"""`nar export` and `nar diff --html`: what other tools read, and what may be sent to somebody."""

import json
from xml.etree import ElementTree

import networkx as nx
import pytest
from corpora import corpus
from graphs import graph_of, resnet
from rich.console import Group
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from nar.cli.app import app
from nar.views.graph_export import as_dot, as_graphml, as_json, as_svg, motif_graph, operator_graph
from nar.views.html import html_of

SQUARE = "input; conv 0; mul 1 1; conv 2"
HOSTILE = '<script>alert("1")</script>'


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    root = tmp_path_factory.mktemp("work")
    corpus(root / "corpus")
    return root


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_operators_keep_their_operands_in_order():
    exported = operator_graph("square", graph_of(SQUARE))
    labels = [label for _, label in exported.nodes(data="label")]
    assert labels == ["input", "conv", "mul", "conv"]
    assert sorted(exported.edges(data="operand")) == [(0, 1, 0), (1, 2, 0), (1, 2, 1), (2, 3, 0)]


def test_equal_motifs_have_one_code():
    exported = motif_graph("deep", resnet([3]))
    codes = [code for _, code in exported.nodes(data="code")]
    assert len(codes) > len(set(codes))
    assert nx.is_weakly_connected(exported)


def test_json_and_graphml_read_back():
    exported = operator_graph("square", graph_of(SQUARE))
    read = nx.node_link_graph(json.loads(as_json(exported)), edges="edges")
    assert nx.utils.graphs_equal(read, exported)
    read = nx.parse_graphml(as_graphml(exported), node_type=int, force_multigraph=True)
    assert dict(read.nodes(data=True)) == dict(exported.nodes(data=True))
    assert sorted(read.edges(data="operand")) == sorted(exported.edges(data="operand"))


def test_a_picture_is_whole_and_says_what_it_is_told_only():
    root = ElementTree.fromstring(as_svg(operator_graph(HOSTILE, resnet([2]))))
    names = [each.tag.rpartition("}")[2] for each in root.iter()]
    assert (names.count("rect"), names.count("script")) == (resnet([2]).nodes, 0)
    assert '\\"1\\"' in as_dot(operator_graph(HOSTILE, graph_of(SQUARE)))


@pytest.mark.parametrize("suffix", ["dot", "graphml", "json", "svg"])
@pytest.mark.parametrize("extra", [[], ["--operators"]])
def test_the_suffix_says_the_format(work, tmp_path, suffix, extra):
    path = tmp_path / f"drawn.{suffix}"
    done = run("export", "timm:a", "-o", path, "--work", work, *extra)
    assert done.exit_code == 0, done.output
    assert path.stat().st_size > 200


@pytest.mark.parametrize("name", ["drawn.png", "absent/drawn.svg"])
def test_a_file_that_cannot_be_written_is_an_error(work, tmp_path, name):
    assert run("export", "timm:a", "-o", tmp_path / name, "--work", work).exit_code == 1


def test_a_diff_is_one_page_that_fetches_nothing(work, tmp_path):
    path = tmp_path / "diff.html"
    done = run("diff", "timm:a", "hf:bert", "--work", work, "--html", path)
    assert done.exit_code == 0, done.output
    text = path.read_text()
    assert text.count("<svg") == 2
    assert "They are different designs" in text
    for reference in ("<script", "src=", "href=", "url(", "@import"):
        assert reference not in text


def test_tables_and_texts_become_html():
    table = Table("name", title="T")
    table.add_row(HOSTILE, style="yellow")
    text = html_of(Group(table, Text("x"), "plain"))
    assert "<caption>T</caption>" in text
    assert "<script>" not in text
    assert '<tr class="yellow">' in text
    assert text.endswith('<div class="line">plain</div>')
