"""Retriever: graphs, names, ids and vectors as queries, over a real index."""

from dataclasses import replace

import numpy as np
import pytest
from counting import KNOWN, CountOperators, graph, names, rows
from oracle import DIM

from nar.answers.novelty import Novelty
from nar.answers.query import Query
from nar.answers.retrieve import Retriever
from nar.base.errors import InvalidQueryError, UnknownArchitectureError
from nar.graphs.architecture import Labels, architecture
from nar.index.architecture_index import ArchitectureIndex
from nar.index.filters import Filter
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    uri = str(tmp_path_factory.mktemp("retrieve") / "index.db")
    with ArchitectureIndex(IndexConfig(uri=uri)) as index, index.build("e" * 64, DIM) as build:
        build.upsert(rows(KNOWN))
        build.publish()
        yield index


@pytest.fixture
def retriever(index):
    return Retriever(CountOperators(), index)


def scores(hits):
    return [hit.score for hit in hits]


@pytest.mark.slow
def test_a_new_graph_finds_relatives_and_is_new(retriever):
    answer = retriever.search(graph("input; linear 0; gelu 1"), top_k=2)
    assert names(answer.hits)[0] == "timm:mlp"
    assert len(answer.hits) == 2
    assert answer.same_network == answer.same_design == ()


@pytest.mark.slow
def test_a_known_graph_is_named(retriever):
    answer = retriever.search(graph(KNOWN["timm:plain"][2], 100))
    assert names(answer.same_network) == ["timm:plain", "torchvision:plain"]
    assert names(answer.same_design) == ["timm:wide"]
    assert [hit.score for hit in answer.same_network] == [1.0, 1.0]
    assert len(answer.hits) == 5


@pytest.mark.slow
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
        assert len(retriever.answer(Query("timm:mlp", top_k)).hits) == top_k
    assert len(retriever.answer(Query("timm:mlp", 16_384)).hits) == 4


def test_networks_are_counted_and_their_copies_are_hits(index):
    counting = Counting(index)
    retriever = Retriever(CountOperators(), counting)
    for top_k in (1, 2, 3):
        hits = retriever.search("timm:mlp", top_k=top_k).hits
        assert len({hit.exact for hit in hits}) == top_k
        # The two of one network come together or not at all.
        assert ("timm:plain" in names(hits)) == ("torchvision:plain" in names(hits))


def test_a_search_is_wider_where_copies_fill_it(index, monkeypatch):
    monkeypatch.setattr("nar.answers.retrieve._COPIES", 1)
    counting = Counting(index)
    wanted = Filter(names=("timm:plain", "torchvision:plain", "timm:residual"))
    asked = Query(graph(KNOWN["timm:plain"][2]), 2, wanted, counted="networks")
    hits = Retriever(CountOperators(), counting).answer(asked).hits
    assert len({hit.exact for hit in hits}) == 2
    assert counting.calls == [[2], [20]]
    bounded = Retriever(CountOperators(), index, max_hits=2)
    assert set(names(bounded.answer(asked).hits)) == {"timm:plain", "torchvision:plain"}


def test_a_vector_has_hits_and_no_fingerprint(retriever):
    answer = retriever.search(np.eye(1, DIM, 4, dtype=np.float32)[0], top_k=1)
    assert names(answer.hits) == ["timm:mlp"]
    assert answer.same_network == answer.same_design == ()


@pytest.mark.parametrize("scale", [1e-45, 1e-40, 1e38])
def test_the_length_of_a_vector_does_not_matter(retriever, monkeypatch, scale):
    weights = np.linspace(0.1, 3, DIM, dtype=np.float32)
    monkeypatch.setattr(retriever.embedder, "weights", lambda by: weights)
    vectors = (np.full(DIM, each, dtype=np.float32) for each in (scale, 1))
    came, wanted = (retriever.answer(Query(vector)) for vector in vectors)
    assert names(came.hits) == names(wanted.hits)
    assert scores(came.hits) == pytest.approx(scores(wanted.hits), abs=1e-6)


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
        alone = retriever.answer(query)
        assert names(answer.hits) == names(alone.hits)
        assert scores(answer.hits) == pytest.approx(scores(alone.hits))
        assert answer.same_network == alone.same_network
        assert answer.same_at_inference == alone.same_at_inference
        assert answer.same_design == alone.same_design
    assert retriever.search_all([]) == []


def test_an_unknown_name_is_an_error(retriever):
    with pytest.raises(UnknownArchitectureError, match="'timm:nothing' is indexed"):
        retriever.search("timm:nothing")


@pytest.mark.parametrize(
    ("target", "top_k", "field"),
    [
        (np.full(DIM, np.nan, dtype=np.float32), 1, "target[0]"),
        (np.zeros(DIM, dtype=np.float32), 1, "target"),
        (np.ones((1, DIM), dtype=np.float32), 1, "target"),
        (np.ones(DIM + 1, dtype=np.float32), 1, "target"),
        ("timm:mlp", 0, "top_k"),
        ("timm:mlp", 16_385, "top_k"),
    ],
)
def test_bad_queries_are_refused(retriever, target, top_k, field):
    with pytest.raises(InvalidQueryError) as caught:
        retriever.search(target, top_k=top_k)
    assert caught.value.field == field


def test_a_query_at_fault_leaves_the_others_alone(retriever):
    queries = [
        Query("timm:nobody"),
        Query("timm:mlp", top_k=2),
        Query(graph("input; linear 0"), top_k=0),
        Query(np.zeros(DIM, dtype=np.float32)),
        Query(graph("input; linear 0"), top_k=3),
    ]
    unknown, by_name, no_hits, no_direction, by_graph = retriever.search_all(queries)
    assert isinstance(unknown, UnknownArchitectureError)
    assert (no_hits.field, no_direction.field) == ("top_k", "target")
    assert by_name == retriever.answer(queries[1])
    assert names(by_graph.hits) == names(retriever.answer(queries[4]).hits)
    assert retriever.embedder.batches == [1, 1]


def test_a_captured_architecture_is_not_fingerprinted_again(retriever):
    drawn = graph(KNOWN["timm:plain"][2], 100)
    item = architecture(Labels("file:x", "file", "lib 1", "f", "t"), drawn)
    assert retriever.search(item) == retriever.search(drawn)
    renamed = replace(item, exact="0" * 64)
    assert retriever.search(renamed).same_network == ()
    assert len(retriever.search(renamed).same_design) == 3


class Counting:
    """An index that counts the searches it is asked for."""

    def __init__(self, index):
        self.calls = []
        self.get, self.find_by_fingerprint = index.get, index.find_by_fingerprint
        self.dim = index.dim
        self._search_all = index.search_all

    def search_all(self, searches):
        self.calls.append([each.top_k for each in searches])
        return self._search_all(searches)


DISTANCES = Novelty(np.array([0.0, 0.01, 0.05, 0.2], dtype=np.float32))
NEW = "input; linear 0; gelu 1"


def test_novelty_comes_out_of_the_same_search(index):
    counting = Counting(index)
    retriever = Retriever(CountOperators(), counting, DISTANCES)
    queries = [Query(graph(NEW)), Query("timm:mlp"), Query(np.ones(DIM, dtype=np.float32))]
    new, known, vector = retriever.search_all(queries)
    assert counting.calls == [[11, 11, 11]]
    assert new.novelty == DISTANCES.percentile(new.hits[0].score) > 0
    assert vector.novelty == DISTANCES.percentile(vector.hits[0].score)
    # It is the only one of its design: its nearest relative tells, and that is not itself.
    assert known.novelty == DISTANCES.percentile(known.hits[0].score)
    assert retriever.search("timm:plain").novelty == 0


def test_a_filter_does_not_change_how_new_a_design_is(index):
    counting = Counting(index)
    retriever = Retriever(CountOperators(), counting, DISTANCES)
    wanted = Filter(families=("resnet",))
    answer = retriever.answer(Query(graph(NEW), filter=wanted))
    assert counting.calls == [[10, 1]]
    assert answer.novelty == retriever.search(graph(NEW)).novelty
    assert answer.novelty != DISTANCES.percentile(answer.hits[0].score)
    counting.calls.clear()
    known = Query(graph(KNOWN["timm:plain"][2], 100), filter=wanted)
    assert retriever.answer(known).novelty == 0
    assert counting.calls == [[10]]


def test_what_is_asked_for_decides_who_is_near(retriever):
    asked = graph("input; conv 0; relu 1; linear 2; relu 3; linear 4")
    by_trunk, by_family = (
        retriever.answer(Query(asked, top_k=1, by=by)).hits[0] for by in ("trunk", "family")
    )
    assert (by_trunk.name, by_family.family) == ("timm:mlp", "resnet")


@pytest.mark.parametrize("by", ["design", "family", "trunk", "copy"])
def test_a_copy_has_the_full_score_whatever_is_asked_for(index, by):
    class Halved(CountOperators):
        def weights(self, by):
            return np.linspace(0.1, 1, DIM, dtype=np.float32)

    known = graph(KNOWN["timm:mlp"][2], 9)
    answer = Retriever(Halved(), index).answer(Query(known, top_k=5, by=by))
    of_copy = {hit.name: hit.score for hit in answer.hits}["timm:mlp"]
    assert of_copy == pytest.approx(1, abs=1e-5)
    assert max(scores(answer.hits)) <= 1


@pytest.mark.parametrize("counted", ["hits", "networks"])
def test_by_origin_nothing_of_its_own_answers(retriever, counted):
    same = graph(KNOWN["timm:mlp"][2], 9)
    for target in ("timm:mlp", same):
        answer = retriever.answer(Query(target, top_k=2, by="origin", counted=counted))
        assert {hit.family for hit in answer.hits} == {"resnet"}
        assert len({hit.exact for hit in answer.hits}) <= 2
    assert names(answer.same_network) == ["timm:mlp"]  # what is the same is said all the same


def test_queries_of_one_call_may_ask_for_different_things(retriever):
    asked = graph("input; conv 0; relu 1; linear 2; relu 3; linear 4")
    queries = [Query(asked, top_k=2, by=by) for by in ("design", "trunk", "family", "trunk")]
    together = retriever.search_all(queries)
    assert together == [retriever.answer(query) for query in queries]


def test_who_has_nothing_of_what_is_asked_for_is_asked_by_design(retriever):
    plain = graph("input; conv 0; relu 1")
    by_trunk, by_design = (
        names(retriever.answer(Query(plain, top_k=3, by=by)).hits) for by in ("trunk", "design")
    )
    assert by_trunk == by_design


def test_novelty_does_not_depend_on_what_is_asked_for(index):
    novelty = Novelty(np.linspace(0, 1, 11, dtype=np.float32))
    retriever = Retriever(CountOperators(), index, novelty)
    asked = graph("input; conv 0; relu 1; linear 2")
    told = {retriever.answer(Query(asked, by=by)).novelty for by in ("design", "family", "trunk")}
    assert len(told) == 1


def test_the_novelty_of_a_design_is_told_as_the_encoder_weighs_it(index):
    class Unknowing(CountOperators):
        def weights(self, by):
            # The last number, where nothing indexed has anything, counts five times by design.
            return np.where(np.arange(DIM) == DIM - 1, 5, 1).astype(np.float32)

        def embed(self, graphs):
            counts = super().embed(graphs)
            counts[:, -1] = 0.5
            return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    novelty = Novelty(np.linspace(0, 1, 101, dtype=np.float32))
    asked = graph("input; conv 0; relu 1; linear 2")
    weighed = Retriever(Unknowing(), index, novelty).search(asked)

    class Plain(Unknowing):
        def weights(self, by):
            return np.ones(DIM, dtype=np.float32)

    plain = Retriever(Plain(), index, novelty).search(asked)
    assert names(weighed.hits) == names(plain.hits)
    assert weighed.novelty > plain.novelty


@pytest.mark.slow
def test_a_search_by_design_counts_what_the_benchmark_counts(index):
    twice = np.where(np.arange(DIM) < DIM // 2, 1, 2).astype(np.float32)

    class Twice(CountOperators):
        def weights(self, by):
            return twice

    known = rows(KNOWN)
    plain, weighed = (Retriever(kind(), index) for kind in (CountOperators, Twice))
    orders = set()
    for seed in range(20):
        asked = np.abs(np.random.default_rng(seed).normal(size=DIM)).astype(np.float32)
        hits = weighed.search(asked, top_k=len(known)).hits
        worth = {row.name: float(row.embedding @ (asked * twice)) for row in known}
        assert [worth[name] for name in names(hits)] == pytest.approx(
            sorted(worth.values(), reverse=True)
        )
        assert max(scores(hits)) <= 1
        orders.add(names(hits) == names(plain.search(asked, top_k=len(known)).hits))
    assert orders == {True, False}


def test_designs_that_know_nothing_of_what_counts_twice_keep_their_cosine(index):
    class Twice(CountOperators):
        def weights(self, by):
            return np.where(np.arange(DIM) < DIM - 1, 1, 2).astype(np.float32)

    asked = np.ones(DIM, dtype=np.float32)
    plain, weighed = (Retriever(kind(), index) for kind in (CountOperators, Twice))
    assert scores(weighed.search(asked).hits) == pytest.approx(scores(plain.search(asked).hits))
