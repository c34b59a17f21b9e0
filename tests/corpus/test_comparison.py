"""Two corpora beside each other, on drawn graphs whose changes are known."""

import json
from dataclasses import replace

import pytest
from corpora import corpus, item
from graphs import bert, graph_of, resnet
from typer.testing import CliRunner

from nar.base.errors import CorpusError
from nar.cli.app import app
from nar.corpus.comparison import ChangedModel, compare

THEN = [
    item("a:same", resnet([1])),
    item("a:changed", graph_of("input; conv 0; relu 1; linear 2")),
    item("a:rewired", graph_of("input; conv 0; conv 1; add 1 2")),
    item("a:gone", bert(1)),
]
NOW = [
    item("b:new", bert(2)),
    item("a:rewired", graph_of("input; conv 0; conv 1; add 0 2")),
    item("a:changed", graph_of("input; conv 0; gelu 1; gelu 2; linear 3"), family="other"),
    item("a:same", resnet([1])),
]


@pytest.fixture
def both(tmp_path):
    return corpus(tmp_path / "then", THEN), corpus(tmp_path / "now", NOW)


def test_says_what_became_of_each_model(both):
    compared = compare(*both)
    assert (compared.before, compared.after, compared.equal) == (4, 4, 1)
    assert compared.changed == (
        ChangedModel("a:changed", ("gelu",), ("relu",), same_design=False),
        ChangedModel("a:rewired", (), (), same_design=False),
    )
    assert (compared.gone, compared.new) == (("a:gone",), ("b:new",))
    assert compared.relabelled == ("a:changed",)


def test_a_corpus_equals_itself(both):
    compared = compare(both[0], both[0])
    assert (compared.equal, compared.changed, compared.gone, compared.new) == (4, (), (), ())


def test_a_new_version_of_a_library_is_no_new_label(tmp_path):
    newer = replace(THEN[0], labels=replace(THEN[0].labels, library="a 2.0"))
    now = corpus(tmp_path / "now", [newer, *THEN[1:]])
    assert not compare(corpus(tmp_path / "then", THEN), now).relabelled


def test_as_a_user_types_it(both):
    older, newer = both
    arguments = ["corpus", "compare", str(older), "--corpus", str(newer)]
    shown = CliRunner(env={"COLUMNS": "140"}).invoke(app, arguments)
    assert "4 architectures before, 4 now; 3 in both: 1 of the same exact" in shown.stdout
    assert "1 no longer there: a:gone" in shown.stdout
    told = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert told["new"] == ["b:new"]
    assert told["changed"][0]["gained"] == ["gelu"]


def test_a_corpus_that_is_missing_is_an_error(both, tmp_path):
    with pytest.raises(CorpusError):
        compare(tmp_path / "nowhere", both[1])
