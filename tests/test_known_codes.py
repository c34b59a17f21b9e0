"""Codes of known networks in a file, and hits by copy that are ranked once more by them."""

from dataclasses import replace

import numpy as np
import pytest

from nar.answers import known_codes
from nar.answers.known_codes import KnownCodes, ranked_again, write_known_codes
from nar.answers.pairs import COLUMNS, KINDS, PairScorer, read_scorer, write_scorer
from nar.base.errors import CorpusError
from nar.corpus import Corpus, shipped_corpus
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical
from nar.index.rows import Hit, architecture_id
from tests.graphs import bert, resnet

NETWORKS = {
    "bert": bert(4),
    "shallow bert": bert(2),
    "resnet": resnet([2, 2]),
    "shallow resnet": resnet([1, 1]),
}
# Containment of the query, of every kind of code.
CONTAINED = PairScorer(np.array([1.0] * KINDS + [0.0] * (len(COLUMNS) - KINDS), "f4"), 0.1)


class Known:
    """Graphs of the networks above; counts how many were asked for."""

    def __init__(self, items):
        self.items = items
        self.asked = []

    def graphs(self, names, sources):
        self.asked += names
        return {name: self.items[name] for name in names}

    def backbones(self, names, sources):
        return {}


@pytest.fixture(scope="module")
def items():
    return {
        name: architecture(Labels(name, "file", "", "unknown", "unknown"), canonical(graph))
        for name, graph in NETWORKS.items()
    }


@pytest.fixture(scope="module")
def stored(items, tmp_path_factory):
    path = tmp_path_factory.mktemp("codes") / "codes.npz"
    assert write_known_codes(path, [*items.values(), items["bert"]]) == len(items)
    return path


@pytest.mark.parametrize("rows", [2, 3, 5, 17, 100])
def test_equal_answers_stay_in_their_order(rows):
    scorer = PairScorer(np.linspace(-1, 1, len(COLUMNS)).astype("f4"), 0.1)
    pairs = np.tile(np.random.default_rng(0).random(len(COLUMNS)).astype("f4"), (rows, 1))
    order = scorer.order(np.full(rows, 0.91), scorer.scores(pairs))
    assert order.tolist() == list(range(rows))


def test_a_file_whose_parts_do_not_fit_is_damaged(stored, tmp_path):
    with np.load(stored) as kept:
        arrays = {name: kept[name] for name in kept.files}
    path = tmp_path / "codes.npz"
    np.savez(path, **{**arrays, "kinds": arrays["kinds"][:2]})
    with pytest.raises(CorpusError, match="do not fit"):
        KnownCodes(path)
    with pytest.raises(CorpusError, match="no network"):
        write_known_codes(path, [])


@pytest.fixture
def known(stored, monkeypatch):
    codes = KnownCodes(stored)
    monkeypatch.setattr(known_codes, "shipped_known_codes", lambda: codes)
    monkeypatch.setattr(known_codes, "shipped_scorer", lambda: CONTAINED)
    return codes


def hits_of(items, names):
    return [row_of(items[name], 0.9 - 0.001 * place) for place, name in enumerate(names)]


def row_of(item, score):
    labels = item.labels
    return Hit(
        architecture_id(labels.name), labels.name, labels.source, labels.library, labels.family,
        "", labels.task, labels.tier, item.graph.parameters, item.graph.flops, item.graph.nodes,
        item.topology, item.exact, item.inference, score,
    )  # fmt: skip


def test_what_is_kept_is_what_is_read(items, known):
    assert len(known) == len(items)
    for item in items.values():
        fetched = known.fetch([row_of(item, 0.5)])
        read = known.read([item.graph])
        assert np.array_equal(np.sort(fetched.codes), np.sort(read.codes))
        assert fetched.totals == pytest.approx(read.totals, rel=1e-5)
        assert fetched.sizes == pytest.approx(read.sizes)


def test_a_network_holds_more_of_its_shallow_relative_than_of_a_stranger(items, known):
    hits = hits_of(items, ["shallow resnet", "resnet", "bert"])
    ranked = ranked_again(items["shallow bert"].graph, hits, Known(items))
    assert ranked[0].name == "bert"
    assert [hit.score for hit in ranked] != sorted((hit.score for hit in ranked), reverse=True)
    assert {hit.name for hit in ranked} == {hit.name for hit in hits}


def test_what_is_not_in_the_file_is_read_from_its_graph(items, known, tmp_path, monkeypatch):
    path = tmp_path / "others.npz"
    write_known_codes(path, [items["resnet"], items["shallow resnet"]])
    others = KnownCodes(path)
    monkeypatch.setattr(known_codes, "shipped_known_codes", lambda: others)
    graphs = Known(items)
    hits = hits_of(items, ["shallow resnet", "resnet", "bert"])
    assert ranked_again(items["shallow bert"].graph, hits, graphs)[0].name == "bert"
    assert graphs.asked == ["bert"]
    # Where there is no room for its graph, the others are ranked without it.
    few = ranked_again(items["shallow bert"].graph, hits, Known(items), max_nodes=1)
    assert {hit.name for hit in few} == {hit.name for hit in hits}


@pytest.mark.slow
def test_every_network_of_the_corpus_that_ships_is_in_the_file_that_ships(items):
    shipped = known_codes.shipped_known_codes()
    corpus = Corpus(shipped_corpus())
    assert [card.labels.name for card in corpus.cards() if card.exact not in shipped] == []
    # What is stored of a network is what is read of its graph today.
    _, shard = next(iter(corpus.shards()))
    some = list(shard)[:5]
    entries = [replace(hits_of(items, ["bert"])[0], exact=item.exact) for item in some]
    stored, read = shipped.fetch(entries), shipped.read([item.graph for item in some])
    ends = zip(stored.start[:-1], stored.start[1:], strict=True)
    for place, (start, end) in enumerate(ends):
        own = read.codes[read.start[place] : read.start[place + 1]]
        assert sorted(stored.codes[start:end]) == sorted(own)


def test_without_files_or_with_one_hit_nothing_changes(items, known, monkeypatch):
    hits = hits_of(items, ["shallow resnet", "bert"])
    graph = items["shallow bert"].graph
    assert ranked_again(graph, hits[:1], Known(items)) == hits[:1]
    monkeypatch.setattr(known_codes, "shipped_scorer", lambda: None)
    assert ranked_again(graph, hits, Known(items)) == hits


def test_hits_behind_the_first_hundred_stay(items, known):
    [hit] = hits_of(items, ["resnet"])
    many = [replace(hit, name=f"{number}", score=0.9 - number / 1_000) for number in range(120)]
    last = replace(row_of(items["bert"], 0.1), name="bert")
    ranked = ranked_again(items["shallow bert"].graph, [*many, last], Known(items))
    assert ranked[-1].name == "bert"


def test_a_scorer_comes_back_and_damage_is_named(tmp_path):
    path = tmp_path / "scorer.json"
    write_scorer(path, CONTAINED)
    again = read_scorer(path)
    assert again.counts == CONTAINED.counts
    assert np.array_equal(again.weights, CONTAINED.weights)
    path.write_text('{"counts": 1}')
    with pytest.raises(CorpusError, match="no scorer of pairs"):
        read_scorer(path)
    with pytest.raises(CorpusError, match="no codes of networks"):
        KnownCodes(path)
