"""A misspelt filter is told by whoever answers: an index in memory, a Milvus, a server."""

import pytest
from tiny_index import KNOWN

from nar.answers.conditions import MemoryValues, check_values
from nar.answers.query import Query
from nar.base.errors import CorpusError, InvalidInputError
from nar.choices import IndexChoice
from nar.cli import search_command
from nar.cli.search_command import ask
from nar.corpus import shipped_corpus
from nar.index.exact import ExactIndex
from nar.index.filters import Filter, Range

HELD = [
    Filter(),
    Filter(families=("mixer",), sources=("timm", "darts"), parameters=Range(maximum=9)),
    Filter(tiers=("named",), none_of=(Filter(blocks=("attention",)),)),
    # Lists of others may name what nothing has, and so may fingerprints.
    Filter(topologies=("a" * 64,), all_of=(Filter(names=("timm:of_tomorrow",)),)),
]
# Of an index of five rows all values are told.
MISSED = {
    "--family: the index has no 'mixr'; it has attend, cell, mixer, plain, residual": Filter(
        families=("mixer", "mixr")
    ),
    "--source: the index has no 'tim'; it has darts, timm, transformers": Filter(
        none_of=(Filter(sources=("tim",)),)
    ),
    "--tier: the index has no 'swept'; it has named": Filter(tiers=("swept",)),
    "--block: the index has no 'rnn'; it has attention, cnn, other": Filter(blocks=("rnn",)),
}


@pytest.fixture(scope="module", params=["memory", "milvus", "server"])
def values(request, index, client):
    if request.param == "memory":
        rows = [index.get([name])[name] for name in KNOWN]
        return MemoryValues(ExactIndex(rows, dim=index.dim))
    return (
        search_command.of_server(client)
        if request.param == "server"
        else search_command.of_pages(index)
    )


@pytest.mark.parametrize("wanted", HELD)
def test_what_exists_may_be_asked_for(values, wanted):
    check_values(values, wanted)


@pytest.mark.parametrize(("said", "wanted"), MISSED.items())
def test_what_nothing_has_is_told_with_what_there_is(values, said, wanted):
    with pytest.raises(InvalidInputError) as caught:
        check_values(values, wanted)
    assert said in str(caught.value)


@pytest.mark.slow
def test_of_many_rows_the_shipped_values_are_tried(index, monkeypatch):
    monkeypatch.setattr("nar.answers.conditions._SAMPLE", 2)
    with pytest.raises(InvalidInputError) as caught:
        check_values(search_command.of_pages(index), Filter(sources=("torchvison", "tim")))
    # The corpus has torchvision, which looks like it; the index has not.
    assert "no 'torchvison'; nothing in it looks like that" in str(caught.value)
    with pytest.raises(InvalidInputError) as caught:
        check_values(search_command.of_pages(index), Filter(sources=("transformer",)))
    assert "no 'transformer'; it has transformers" in str(caught.value)


def test_without_a_corpus_the_first_rows_alone_are_looked_at(index, monkeypatch):
    def missing():
        raise CorpusError("none")

    monkeypatch.setattr(search_command, "shipped_corpus", missing)
    monkeypatch.setattr("nar.answers.conditions._SAMPLE", 2)
    with pytest.raises(InvalidInputError, match="the index has no 'tim'"):
        check_values(search_command.of_pages(index), Filter(sources=("tim",)))
    assert shipped_corpus().is_dir()


@pytest.mark.slow
def test_an_own_index_and_a_server_refuse_what_they_lack(workspace, server):
    choice = IndexChoice(workspace.root, None, None)
    query = Query("timm:plain", 1, Filter(families=("plane",)))
    for address in (None, server.target):
        with pytest.raises(InvalidInputError, match="the index has no 'plane'; it has attend"):
            ask([query], choice, address)
        [answer] = ask([Query("timm:plain", 1, Filter(tiers=("named",)))], choice, address)
        assert [hit.tier for hit in answer.hits] == ["named"]
