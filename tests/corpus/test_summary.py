"""A corpus in numbers: what sets of Python would count, and what they would take."""

import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest
from corpora import corpus, item
from graphs import bert, resnet
from hypothesis import given
from hypothesis import strategies as st

from nar.base.errors import CorpusError
from nar.corpus import Corpus, shipped_corpus
from nar.corpus.manifest import Manifest
from nar.corpus.summary import PERCENTILES, summarise

DESIGNS = {"deep": resnet([2]), "shallow": resnet([1]), "bert": bert(1)}
ROWS = st.tuples(
    st.sampled_from(["timm", "tv", "hf"]), st.sampled_from(list(DESIGNS)), st.sampled_from("ab")
)


def grouped(cards, key):
    groups = {}
    for card in cards:
        groups.setdefault(key(card), []).append(card)
    return groups


@pytest.mark.slow
@given(st.lists(ROWS, max_size=12))
def test_groups_and_copies_are_what_sets_count(tmp_path_factory, rows):
    directory = tmp_path_factory.mktemp("corpus")
    corpus(
        directory,
        [
            item(f"{source}:{number}", DESIGNS[design], family=family)
            for number, (source, design, family) in enumerate(rows)
        ],
    )
    cards = list(Corpus(directory).cards())
    counted = summarise(directory)

    families = grouped(cards, lambda card: card.labels.family)
    assert {
        group.name: (group.raw, group.exact, group.topology, set(group.sources))
        for group in counted.families
    } == {
        name: (
            len(mine),
            len({card.exact for card in mine}),
            len({card.topology for card in mine}),
            {card.labels.source for card in mine},
        )
        for name, mine in families.items()
    }
    networks = grouped(cards, lambda card: card.exact).values()
    exact = counted.copies[0]
    assert exact.distinct == len(networks)
    assert exact.by_size == Counter(map(len, networks))
    assert exact.across_sources == sum(
        len({card.labels.source for card in group}) > 1 for group in networks
    )
    largest = sorted((group for group in networks if len(group) > 1), key=lambda group: -len(group))
    assert exact.largest == tuple((len(group), group[0].labels.name) for group in largest)


@pytest.mark.slow
def test_sizes_are_exact():
    counted = {size.name: size for size in summarise(shipped_corpus()).sizes}
    nodes = sorted(card.nodes for card in Corpus(shipped_corpus()).cards())
    assert counted["nodes"].total == sum(nodes)
    assert counted["nodes"].percentiles[PERCENTILES.index(0)] == nodes[0]
    assert counted["nodes"].percentiles[PERCENTILES.index(100)] == nodes[-1]


def test_a_corpus_of_nothing_has_sizes_of_nothing(tmp_path):
    counted = summarise(corpus(tmp_path / "corpus", []))
    assert counted.families == ()
    assert [size.total for size in counted.sizes] == [0, 0, 0, 0]
    assert [copies.distinct for copies in counted.copies] == [0, 0]


def test_a_damaged_shard_is_named(tmp_path):
    directory = corpus(tmp_path / "corpus")
    path = directory / "shard-1.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorpusError, match=r"shard-1\.parquet is damaged"):
        summarise(directory)


@pytest.mark.slow
def test_an_architecture_takes_a_few_numbers_of_memory(tmp_path):
    """Cards of all of them would take ten times as much."""
    first = item("timm:0", resnet([1]))
    items = [
        replace(first, labels=replace(first.labels, name=f"timm:{row}")) for row in range(2_000)
    ]
    directory = corpus(tmp_path / "corpus", items)
    manifest = Manifest.read(directory)
    few, many = (
        peak(directory, manifest.model_copy(update={"shards": manifest.shards[1:] * times}))
        for times in (2, 12)
    )
    assert many - few < 400 * 10 * len(items)


def peak(directory, manifest):
    """Bytes that counting takes at most."""
    manifest.write(directory)
    tracemalloc.start()
    summarise(directory)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most
