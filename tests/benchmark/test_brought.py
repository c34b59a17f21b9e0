"""What people bring: known models in their wrappings, and designs written by hand."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import graph_of
from test_verdict import hits

from benchmark import by_hand as written
from benchmark.evidence.around import wrapped
from benchmark.evidence.by_hand import Design, Told
from benchmark.evidence.intervals import half_of, share
from benchmark.evidence.wrapped import PROTOCOL, Case, is_right
from nar.answers.query import Answer
from nar.answers.verdict import Resemblance
from nar.answers.wrapping import TakenOff, Wrapped
from nar.base.workspace import package_lines, package_yaml
from nar.corpus import Corpus, shipped_corpus
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import topology_fingerprint
from nar.graphs.ops import op_name

PLAIN = graph_of("input; conv 0; relu 1; mean 2; linear 3")


@pytest.fixture(scope="module")
def families():
    """Family of each model of the corpus, by name."""
    labels = [card.labels for card in Corpus(shipped_corpus()).cards()]
    return {each.name: each.family for each in labels}


@pytest.mark.parametrize(
    ("wrapping", "graph"),
    [
        ("result:softmax,topk", "input; conv 0; relu 1; mean 2; linear 3; softmax 4; topk 5"),
        ("input:sub,div", "input; sub 0; div 1; conv 2; relu 3; mean 4; linear 5"),
        ("output", "input; conv 0; relu 1; mean 2; linear 3; mean 2; linear 5"),
        (
            "input:neg result:argmax",
            "input; neg 0; conv 1; relu 2; mean 3; linear 4; argmax 5",
        ),
    ],
)
def test_a_wrapping_is_written_as_a_text(wrapping, graph):
    assert topology_fingerprint(wrapped(PLAIN, wrapping)) == topology_fingerprint(graph_of(graph))


def test_a_network_may_have_no_place_for_a_wrapping():
    assert wrapped(graph_of("embedding; linear 0"), "input:div") is None
    assert wrapped(PLAIN, "adapters:8:1.0") is None


def test_adapters_stand_on_a_share_of_the_layers():
    graph = replace(
        graph_of("input; linear 0; relu 1; linear 2; relu 3; linear 4"), parameters=10**8
    )
    adapted = wrapped(graph, "adapters:8:1.0")
    counts = Counter(op_name(int(each)) for each in adapted.op_ids)
    # The last layer gives the result, which nothing reads.
    assert (counts["linear"], counts["add"], counts["mul"]) == (3 + 2 * 2, 2, 2)
    assert adapted.parameters > graph.parameters


def known(**parts):
    return Answer((), **parts)


def test_known_is_what_is_inside_and_reads_as_known():
    own = architecture(Labels("lib:own", "lib", "lib 1", "fam", "t"), PLAIN)
    case = Case("lib:own", "fam", "result:softmax", own, own)
    [hit] = hits(("fam", 1.0))
    same = replace(hit, topology=own.topology)
    behind = Wrapped("network", (same,), (TakenOff("result", ("softmax",)),))
    assert is_right(case, known(wrapped=behind, novelty=0.0))
    assert is_right(case, known(same_design=(same,), novelty=0.0))
    assert not is_right(case, known(wrapped=behind, novelty=30.0))
    assert not is_right(case, known(wrapped=replace(behind, hits=(hit,)), novelty=0.0))
    assert not is_right(case, known(novelty=0.0))


def told(families, word, family, *first, known_as=()):
    answer = Answer(
        tuple(hits(*((each, 0.6) for each in first))),
        same_design=known_as,
        resemblance=Resemblance(word, "lib:0", family),
    )
    return Told(Design("net", "graph", families, None), answer)


@pytest.mark.parametrize(
    ("one", "is_right", "is_denied"),
    [
        (told(("gat", "gatv2"), "near", "gatv2", "gatv2"), True, False),
        (told(("gat",), "family", "gcn", "gcn", "gat"), False, False),
        (told(("gat",), "unlike", "gat", "gcn", "gat"), False, True),
        (told(("gat",), "unlike", "gcn", "gcn"), False, False),
        (told(("gat",), "near", "gcn", known_as=tuple(hits(("gat", 1.0)))), True, False),
        (told((), "near", "gcn", "gcn"), True, False),
        (told((), "unlike", "gcn", "gcn"), True, False),
        (told((), "variant", "gcn", "gcn"), False, False),
    ],
)
def test_a_verdict_is_right_where_an_expert_would_say_it(one, is_right, is_denied):
    assert (one.is_right, one.is_denied) == (is_right, is_denied)


def test_every_written_design_has_a_row_and_its_families_are_of_the_atlas(families):
    table = package_yaml("by_hand", "families.yaml", package="benchmark")
    files = {path.stem for path in Path(written.__file__).parent.glob("*.py")} - {"__init__"}
    assert table.keys() == files
    named = set(families.values())
    assert {family for row in table.values() for family in row["families"]} <= named
    # A design has no family only while the atlas has none of its name.
    assert not {name for name, row in table.items() if not row["families"]} & named
    halves = Counter(
        half_of("by hand", next(iter(row["families"]), name)) for name, row in table.items()
    )
    assert min(halves.values()) > len(table) / 3
    assert len({row["block"] for row in table.values()}) == 10


def test_enough_models_of_enough_families_are_wrapped(families):
    names = [
        line.split("\t")[0]
        for line in package_lines("evidence", "wrapped.txt", package="benchmark")
    ]
    families = {card.labels.name: card.labels.family for card in Corpus(shipped_corpus()).cards()}
    assert len(names) > 400
    assert len({families[name] for name in names}) > 200
    halves = Counter(half_of(PROTOCOL, families[name]) for name in names)
    assert min(halves.values()) > 150


def test_an_interval_is_drawn_over_families():
    one_family = share([("a", True)] * 9 + [("b", False)])
    assert (one_family.share, one_family.low, one_family.high) == (0.9, 0.0, 1.0)
    assert share([]).number == 0
