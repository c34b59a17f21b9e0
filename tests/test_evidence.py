"""Evidence of answers of a real index: family, trunk and wholes of a query."""

from dataclasses import replace

from tiny_index import known, tiny_embedder, tiny_index

from benchmark.editing.parts import run
from nar.answers.evidence import COMPARED, evidence_of, labelled, looked_at, questions
from nar.answers.retrieve import Retriever
from nar.graphs.fingerprints import fingerprinted


def answered(directory, graph):
    embedder = tiny_embedder()
    with tiny_index(directory, embedder) as index:
        retriever = Retriever(embedder, index)
        return {by: retriever.answer(query) for by, query in questions(graph).items()}


def at_hand(asked, answers):
    """Every hit that may be evidence, with its graph."""
    return {hit.name: fingerprinted(known(hit.name)) for hit in looked_at(asked, answers)}


def test_a_part_names_its_whole(tmp_path):
    part = run(known("timm:plain"), begin=0.4, end=1)
    asked, answers = fingerprinted(part), answered(tmp_path, part)
    told = evidence_of(asked, answers, at_hand(asked, answers), {})
    assert [whole.name for whole in told.wholes] == ["timm:plain"]
    assert told.wholes[0].part.where == "the end"
    assert told.trunk is None


def test_without_graphs_the_family_is_said_all_the_same(tmp_path):
    graph = known("timm:mixer")
    answers = answered(tmp_path, graph)
    told = evidence_of(fingerprinted(graph), answers, {}, {})
    assert (told.family.family, told.wholes) == ("mixer", ())
    assert told.family.of == len(answers["design"].hits) == 5


def test_a_composed_model_has_a_family_and_a_trunk(tmp_path):
    graph = known("timm:plain")
    answers = answered(tmp_path, graph)
    backbones = {hit.name: "resnet" for hit in labelled(answers)}
    told = evidence_of(fingerprinted(graph), answers, {}, backbones)
    assert told.trunk is not None
    assert told.trunk.family == "resnet"
    assert told.family.counts[0].family == "plain"


def test_filters_and_the_number_of_hits_of_the_query_do_not_matter():
    asked = questions("timm:resnet50")
    assert asked.keys() == {"design", "copy", "family", "trunk"}
    assert not any(list(query.filter.conditions()) for query in asked.values())
    assert asked["copy"].top_k == asked["design"].top_k == COMPARED


def test_every_hit_is_looked_at_once_but_for_copies_of_the_design(tmp_path):
    asked = fingerprinted(known("timm:plain"))
    answers = answered(tmp_path, asked.graph)
    names = [hit.name for hit in looked_at(asked, answers)]
    assert len(names) == len(set(names)) == 4
    assert "timm:plain" not in names
    assert "timm:plain" in {hit.name for hit in labelled(answers)}
    first = replace(answers["copy"], hits=())
    assert {hit.name for hit in looked_at(asked, {**answers, "copy": first})} == set(names)


def test_a_copy_of_the_design_would_add_no_evidence(tmp_path):
    asked = fingerprinted(known("timm:plain"))
    answers = answered(tmp_path, asked.graph)
    near = at_hand(asked, answers)
    assert evidence_of(asked, answers, near, {}) == evidence_of(
        asked, answers, {**near, "timm:plain": asked}, {}
    )
