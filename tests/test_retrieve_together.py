"""Several queries of one call: what they share is done once."""

import pytest
from counting import KNOWN, CountOperators, graph, rows
from oracle import DIM

from nar.answers.query import Query
from nar.answers.retrieve import Retriever
from nar.base.errors import UnknownArchitectureError
from nar.graphs.fingerprints import fingerprinted
from nar.index.exact import ExactIndex


@pytest.fixture
def retriever():
    return Retriever(CountOperators(), ExactIndex(rows(KNOWN), dim=DIM))


def test_a_graph_that_asks_twice_is_embedded_once(retriever):
    asked = fingerprinted(graph("input; linear 0"))
    few, many = retriever.answers([Query(asked, 2), Query(asked, 4)])
    assert retriever.embedder.batches == [1]
    assert few.hits == many.hits[:2]


def test_of_several_queries_the_first_that_is_at_fault_is_an_error(retriever):
    with pytest.raises(UnknownArchitectureError, match="'timm:nothing' is indexed"):
        retriever.answers([Query("timm:plain"), Query("timm:nothing")])
