"""Answers of a real index with every part: family, trunk, wholes, bodies, reasons."""

from dataclasses import fields

import pytest
from tiny_index import known, tiny_embedder, tiny_index

from benchmark.editing.parts import run
from nar.answers.answer import COMPARED, compared_hits
from nar.answers.query import PARTS, Answer, Query
from nar.answers.retrieve import Retriever
from nar.graphs.architecture import Labels, architecture
from nar.graphs.fingerprints import fingerprinted
from nar.index.filters import Filter

ALL = frozenset(PARTS)


class Known:
    """The graphs of the tiny index, and which were read."""

    def __init__(self, backbone=""):
        self.read_names = []
        self.backbone = backbone

    def graphs(self, names, sources):
        self.read_names += names
        labels = (Labels(name, name.partition(":")[0], "lib 1", "f", "t") for name in names)
        return {each.name: architecture(each, known(each.name)) for each in labels}

    def backbones(self, names, sources):
        return dict.fromkeys(names, self.backbone)


class Counting:
    """An embedder that counts its graphs."""

    def __init__(self):
        self._embedder = tiny_embedder()
        self.weights = self._embedder.weights
        self.graphs = 0

    def embed(self, graphs):
        self.graphs += len(graphs)
        return self._embedder.embed(graphs)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with tiny_index(tmp_path_factory.mktemp("index"), tiny_embedder()) as opened:
        yield opened


def answer(index, target, parts=ALL, graphs=None, **asked):
    return Retriever(tiny_embedder(), index, graphs=graphs or Known()).answer(
        Query(target, parts=frozenset(parts), **asked)
    )


@pytest.mark.slow
def test_a_part_names_its_whole(index):
    told = answer(index, run(known("timm:plain"), begin=0.4, end=1))
    assert [whole.name for whole in told.part_of] == ["timm:plain"]
    assert told.part_of[0].part.where == "the end"
    assert (told.trunk, told.compared) == (None, 5)
    assert told.shared[0].name == told.hits[0].name


@pytest.mark.slow
def test_without_graphs_the_family_is_said_all_the_same(index):
    graph = known("timm:mixer")
    told = Retriever(tiny_embedder(), index).answer(Query(graph, parts=ALL))
    assert (told.family.counts[0].family, told.part_of, told.bodies, told.shared) == (
        "mixer",
        (),
        (),
        (),
    )
    assert (told.family.of, told.compared) == (5, 0)


@pytest.mark.slow
def test_a_composed_model_has_a_family_and_a_trunk(index):
    told = answer(index, known("timm:plain"), graphs=Known("resnet"))
    assert told.trunk.family == "resnet"
    assert told.family.counts[0].family == "plain"


def test_parts_that_nobody_asks_for_are_not_made(index):
    told = answer(index, known("timm:plain"), parts=())
    assert told == Retriever(tiny_embedder(), index).answer(Query(known("timm:plain")))
    assert not any(getattr(told, each) for each in (*PARTS, "compared"))
    graphs = Known()
    some = answer(index, known("timm:plain"), {"family", "resemblance"}, graphs)
    assert (some.family.of, some.resemblance.name, graphs.read_names) == (5, "timm:plain", [])


def test_some_parts_may_be_wanted_of_new_designs_alone(index):
    new, old = run(known("timm:plain"), begin=0.4, end=1), known("timm:plain")
    for graph, is_new in ((new, True), (old, False)):
        query = Query(graph, parts=frozenset({"family"}), parts_if_new=frozenset({"bodies"}))
        told = Retriever(tiny_embedder(), index, graphs=Known()).answer(query)
        assert (told.bodies is not None, told.family is not None) == (is_new, True)


@pytest.mark.slow
def test_filters_and_the_number_of_hits_of_the_query_do_not_matter(index):
    graph = run(known("timm:plain"), begin=0.4, end=1)
    wide = answer(index, graph)
    narrow = answer(index, graph, top_k=1, filter=Filter(families=("mixer",)))
    assert [hit.family for hit in narrow.hits] == ["mixer"]
    for part in ("resemblance", "family", "trunk", "part_of", "bodies", "compared"):
        assert getattr(narrow, part) == getattr(wide, part)


def test_hits_are_read_once_but_for_copies_of_the_design(index):
    graphs = Known()
    told = answer(index, known("timm:plain"), {"part_of", "bodies"}, graphs)
    assert len(graphs.read_names) == len(set(graphs.read_names)) == told.compared == 4
    assert "timm:plain" not in graphs.read_names


@pytest.mark.parametrize("target", ["name", "row", "network", "graph"])
def test_every_target_that_has_a_graph_is_compared(index, target):
    graph = known("timm:plain")
    targets = {
        "name": "timm:plain",
        "row": index.get(["timm:plain"])["timm:plain"],
        "network": fingerprinted(graph),
        "graph": graph,
    }
    told = answer(index, targets[target])
    assert (told.compared, told.part_of) == (4, ())
    assert told.shared


def test_a_vector_has_no_graph(index):
    told = answer(index, index.get(["timm:plain"])["timm:plain"].embedding)
    assert (told.part_of, told.bodies, told.shared, told.compared) == (None,) * 4
    assert told.family.of == 5


def test_graphs_are_compared_as_far_as_there_is_room(index):
    graph = run(known("timm:plain"), begin=0.4, end=1)
    for room, compared in ((10**6, 5), (0, 0)):
        retriever = Retriever(tiny_embedder(), index, graphs=Known(), max_nodes=room)
        assert retriever.answer(Query(graph, parts=ALL)).compared == compared


def test_whatever_is_asked_of_one_graph_it_is_embedded_once(index):
    embedder = Counting()
    retriever = Retriever(embedder, index, graphs=Known())
    graph = known("timm:plain")
    told = retriever.answers([Query(graph, parts=ALL), Query(graph, 1, by="copy")])
    assert (len(told), embedder.graphs) == (2, 1)


@pytest.mark.slow
def test_queries_at_fault_leave_the_others_alone(index):
    retriever = Retriever(tiny_embedder(), index, graphs=Known())
    queries = [Query(name, parts=ALL) for name in ("timm:plain", "timm:nothing", "timm:mixer")]
    first, fault, last = retriever.search_all(queries)
    assert isinstance(first, Answer)
    assert "timm:nothing" in str(fault)
    assert last == retriever.answer(queries[2])


def test_every_part_is_a_field_of_the_answer():
    assert set(PARTS) < {field.name for field in fields(Answer)}


def test_equal_hits_of_both_searches_are_compared_once(index):
    told = answer(index, known("timm:plain"), parts=())
    assert compared_hits(told.hits, told.hits) == list(told.hits)
    assert len(compared_hits(told.hits, told.hits, 2)) == 2
    assert COMPARED == 20
