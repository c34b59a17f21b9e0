"""Retriever: graphs, names, ids and vectors as queries, over a real index."""

import numpy as np
import pytest
from graphs import graph_of
from oracle import DIM

from nar.architecture import Labels, architecture
from nar.canonical import canonical
from nar.config import IndexConfig
from nar.errors import InvalidQueryError, UnknownArchitectureError
from nar.index.architecture_index import ArchitectureIndex, architecture_id, index_row
from nar.index.filters import Filter
from nar.ops import op_id
from nar.retrieve import Query, Retriever

OPERATORS = [op_id(name) for name in ("input", "conv", "relu", "add", "linear", "gelu")]
KNOWN = {
    "timm:plain": ("resnet", 100, "input; conv 0; relu 1; conv 2; relu 3"),
    "timm:wide": ("resnet", 400, "input; conv 0; relu 1; conv 2; relu 3"),
    "torchvision:plain": ("resnet", 100, "input; conv 0; relu 1; conv 2; relu 3"),
    "timm:residual": ("resnet", 100, "input; conv 0; relu 1; add 2 0"),
    "timm:mlp": ("mixer", 9, "input; linear 0; gelu 1; linear 2"),
}


def graph(text, parameters=0):
    drawn = graph_of(text)
    kernels = drawn.attributes.copy()
    kernels[:, 0] = parameters  # stands for a width that shows in the exact fingerprint
    return canonical(type(drawn)(drawn.op_ids, kernels, drawn.edge_index, parameters))


class CountOperators:
    """Embeds by counts of operators; remembers the sizes of its batches."""

    def __init__(self):
        self.batches = []

    def embed(self, graphs):
        self.batches.append(len(graphs))
        counts = np.zeros((len(graphs), DIM), dtype=np.float32)
        for place, one in enumerate(graphs):
            counts[place, : len(OPERATORS)] = [(one.op_ids == op).sum() for op in OPERATORS]
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    items = [
        architecture(Labels(name, name.split(":")[0], "lib 1", family, "t"), graph(text, width))
        for name, (family, width, text) in KNOWN.items()
    ]
    vectors = CountOperators().embed([item.graph for item in items])
    uri = str(tmp_path_factory.mktemp("retrieve") / "index.db")
    with ArchitectureIndex(IndexConfig(uri=uri)) as index, index.build("e" * 64, DIM) as build:
        build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
        build.publish()
        yield index


@pytest.fixture
def retriever(index):
    return Retriever(CountOperators(), index)


def names(hits):
    return [hit.name for hit in hits]


def scores(hits):
    return [hit.score for hit in hits]


def test_a_new_graph_finds_relatives_and_is_new(retriever):
    answer = retriever.search(graph("input; linear 0; gelu 1"), top_k=2)
    assert names(answer.hits)[0] == "timm:mlp"
    assert len(answer.hits) == 2
    assert answer.same_network == answer.same_design == ()


def test_a_known_graph_is_named(retriever):
    answer = retriever.search(graph(KNOWN["timm:plain"][2], 100))
    twins = sorted(["timm:plain", "torchvision:plain"], key=architecture_id)
    assert names(answer.same_network) == twins
    assert names(answer.same_design) == ["timm:wide"]
    assert [hit.score for hit in answer.same_network] == [1.0, 1.0]
    assert len(answer.hits) == 5


def test_filters_do_not_hide_that_a_graph_is_known(retriever):
    known = graph(KNOWN["timm:mlp"][2], 9)
    answer = retriever.search(known, wanted=Filter(families=("resnet",)))
    assert names(answer.same_network) == ["timm:mlp"]
    assert "timm:mlp" not in names(answer.hits)


@pytest.mark.parametrize("key", ["timm:plain", architecture_id("timm:plain")], ids=["name", "id"])
def test_a_known_name_is_not_its_own_relative(retriever, key):
    answer = retriever.search(key, top_k=4)
    assert set(names(answer.hits)) == KNOWN.keys() - {"timm:plain"}
    assert names(answer.same_network) == ["torchvision:plain"]
    assert names(answer.same_design) == ["timm:wide"]


def test_dropping_itself_still_leaves_top_k(retriever):
    for top_k in (1, 2, 3, 4):
        assert len(retriever.search("timm:mlp", top_k=top_k).hits) == top_k
    assert len(retriever.search("timm:mlp", top_k=16_384).hits) == 4


def test_a_vector_has_hits_and_no_fingerprint(retriever):
    answer = retriever.search(np.eye(1, DIM, 4, dtype=np.float32)[0], top_k=1)
    assert names(answer.hits) == ["timm:mlp"]
    assert answer.same_network == answer.same_design == ()


def test_queries_together_are_answered_as_alone(retriever):
    queries = [
        Query(graph(KNOWN["timm:residual"][2], 100), top_k=2),
        Query("timm:plain", top_k=2),
        Query(np.ones(DIM, dtype=np.float32), 3, Filter(sources=("timm",))),
        Query(graph("input; linear 0"), top_k=2),
        Query("torchvision:plain", top_k=2),
    ]
    together = retriever.search_all(queries)
    assert retriever.embedder.batches == [2]
    for answer, query in zip(together, queries, strict=True):
        [alone] = retriever.search_all([query])
        assert names(answer.hits) == names(alone.hits)
        assert scores(answer.hits) == pytest.approx(scores(alone.hits))
        assert answer.same_network == alone.same_network
        assert answer.same_design == alone.same_design
    assert retriever.search_all([]) == []


def test_an_unknown_name_is_an_error(retriever):
    with pytest.raises(UnknownArchitectureError, match="'timm:nothing' is indexed"):
        retriever.search("timm:nothing")


@pytest.mark.parametrize(
    ("target", "top_k", "field"),
    [
        (np.full(DIM, np.nan, dtype=np.float32), 1, "vectors[0][0]"),
        (np.zeros(DIM, dtype=np.float32), 1, "vectors[0]"),
        (np.ones((1, DIM), dtype=np.float32), 1, "queries[0].target"),
        (np.ones(DIM + 1, dtype=np.float32), 1, "vectors"),
        ("timm:mlp", 0, "top_k"),
        ("timm:mlp", 16_385, "top_k"),
    ],
)
def test_bad_queries_are_refused(retriever, target, top_k, field):
    with pytest.raises(InvalidQueryError) as caught:
        retriever.search(target, top_k=top_k)
    assert caught.value.field == field
