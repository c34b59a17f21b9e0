"""What a design was made from: who is left out, who comes first."""

from dataclasses import replace

import pytest

from nar.answers.answer import NoGraphs
from nar.answers.origin import OriginQuery, built_upon, oldest_first, origins
from nar.ask import search
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical
from nar.index.rows import Hit, architecture_id
from tests.graphs import bert, graph_of, resnet


def hit(name, family, score, topology="t", nodes=10):
    prints = (topology * 64, "e" * 64, "f" * 64)
    return Hit(
        architecture_id(name),
        name,
        "a",
        "a 1",
        family,
        "cnn",
        "",
        "named",
        1,
        1,
        nodes,
        *prints,
        score,
    )


def names(hits):
    return [each.name for each in hits]


class Known:
    """Has graphs by name."""

    def __init__(self, **graphs):
        self._items = {
            name: architecture(Labels(name, "a", "a 1", "x", "", "named", ""), graph)
            for name, graph in graphs.items()
        }
        self.asked = []

    def graphs(self, wanted, sources):
        self.asked.append((list(wanted), set(sources)))
        return {name: self._items[name] for name in wanted if name in self._items}


def test_its_own_family_and_design_are_left_out():
    hits = [hit("a", "resnext", 0.9), hit("b", "other", 0.8, "d"), hit("c", "resnet", 0.7)]
    own = OriginQuery(None, frozenset({"resnext"}), frozenset({"d" * 64}))
    assert names(origins(own, hits, NoGraphs())) == ["c"]


def test_a_family_that_others_were_built_upon_comes_a_little_earlier():
    near, likely = hit("a", "no_such_family", 0.75), hit("b", "resnet", 0.72)
    assert names(origins(OriginQuery(None), [near, likely], NoGraphs())) == ["b", "a"]
    far = replace(likely, score=0.5)
    assert names(origins(OriginQuery(None), [near, far], NoGraphs())) == ["a", "b"]
    assert origins(OriginQuery(None), [near, likely], NoGraphs())[0].score == 0.72  # cosines stay


def test_what_is_added_grows_ever_slower():
    added = [built_upon(children) for children in (0, 1, 2, 40)]
    assert added[0] == 0
    assert added == sorted(added)
    assert added[2] - added[1] < added[1] - added[0]


def test_the_older_of_equal_families_comes_first_and_then_the_first_name():
    hits = [hit("a", "unispeech", 0.8), hit("c", "wav2vec2", 0.8), hit("b", "wav2vec2", 0.8)]
    assert names(oldest_first([hit("z", "zebra", 0.9), *hits])) == ["z", "b", "c", "a"]


def test_parts_of_it_and_wholes_around_it_are_left_out():
    whole = canonical(bert(4))
    trunk = canonical(graph_of("input; linear 0; relu 1; linear 2; relu 3; linear 4"))
    head = canonical(
        graph_of("input; linear 0; relu 1; linear 2; relu 3; linear 4; softmax 5; linear 6")
    )
    known = Known(trunk=trunk, bert=whole)
    hits = [hit("trunk", "x", 0.9), hit("bert", "y", 0.8)]
    assert names(origins(OriginQuery(head), hits, known)) == ["bert"]
    assert names(origins(OriginQuery(trunk), [hit("head", "x", 0.9)], Known(head=head))) == []


def test_no_more_nodes_are_compared_than_there_is_room_for():
    known = Known(a=canonical(resnet([1, 1])), b=canonical(resnet([1, 1])))
    hits = [hit("a", "x", 0.9, nodes=60), hit("b", "y", 0.8, nodes=60)]
    own = OriginQuery(canonical(resnet([1, 1])))
    origins(own, hits, known, max_nodes=100)
    assert known.asked == [(["a"], {"a"})]


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_near_is_nothing(count):
    hits = [hit("a", "x", 0.9)][:count]
    assert len(origins(OriginQuery(None), hits, NoGraphs())) == count


@pytest.mark.slow
@pytest.mark.parametrize("name", ["timm:efficientnet_b0", "timm:resnet50"])
def test_a_large_family_of_its_own_is_searched_past(name):
    """Its hundred nearest rows are all of its own family: as many others are wanted."""
    found = search(name, top_k=10, by="origin")
    assert len(found.networks) == 10
    own = name.partition(":")[2].partition("_")[0].rstrip("0123456789")
    assert all(each.hit.family != own for each in found.networks)
