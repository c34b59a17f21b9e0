"""The corpus that ships is what these libraries and this code give, and as large as it says."""

from collections import defaultdict
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from kinds_of_networks import CAPTURED

from nar.corpus import read_shard, shipped_corpus
from nar.corpus.manifest import Manifest
from nar.graphs.details import NOT_READ, NUMBERS
from nar.graphs.normal_form import inference_fingerprint
from nar.graphs.ops import op_id
from nar.labels.lineage import twins
from nar.own import capture_architecture

ROOT = Path(__file__).parents[2]
SLICE = 3
MAX_NODES = 600
# What the paper's data set counts names of, and the most distinct graphs in any published one.
PAPER_ARCHITECTURES = 12_517
KNOWN_DESIGNS = 7_629


def test_it_is_larger_than_the_papers(manifest):
    assert manifest.totals.headline.exact > PAPER_ARCHITECTURES
    assert manifest.totals.headline.topology > KNOWN_DESIGNS


def test_every_failure_has_a_reason(manifest):
    assert [failure.name for failure in manifest.failures if not failure.reason.strip("- ")] == []


@pytest.mark.slow
def test_nine_of_ten_pairs_of_transformers_are_there(cards, manifest):
    def pairs(names):
        return sum("@" not in name for name in names if name.startswith("transformers:"))

    captured = pairs(cards["transformers"])
    failed = pairs(failure.name for failure in manifest.failures)
    assert captured >= 0.9 * (captured + failed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "of_rows"),
    [("transformers", "attention operators of transformers' rows"), ("timm", "of timm's")],
)
def test_heads_and_head_sizes_of_attention_are_known_as_the_page_says(source, of_rows):
    fields = [NUMBERS.index(name) for name in ("heads", "key_value_heads", "head_size")]
    known = []
    for path in sorted(shipped_corpus().glob(f"{source}-*.parquet")):
        for item in read_shard(path):
            is_attention = item.graph.op_ids == op_id("attention")
            numbers = item.details.numbers[is_attention][:, fields]
            known.extend((numbers != NOT_READ).all(axis=1).tolist())
    page = " ".join((ROOT / "results" / "corpus.md").read_text(encoding="utf-8").split())
    assert f"of {sum(known) / len(known):.3f} of the {len(known):,} {of_rows}" in page


@pytest.mark.slow
def test_published_designs_are_one_topology_in_several_libraries(cards):
    topology = {card.labels.name: card.topology for of in cards.values() for card in of.values()}
    agreeing = 0
    for group in twins():
        sources = defaultdict(set)
        for name in group.members:
            if name in topology:
                sources[topology[name]].add(name.partition(":")[0])
        agreeing += any(len(each) > 1 for each in sources.values())
    assert agreeing >= 60


def chosen(cards):
    """A few small architectures, the same ones every time; fewer where others are compared."""
    small = [card for card in cards if card.nodes <= MAX_NODES]
    compared = sum(card.labels.name in CAPTURED for card in cards)
    drawn = sorted(small, key=lambda card: sha256(card.labels.name.encode()).digest())
    return drawn[: max(SLICE - compared, 0)]


@pytest.mark.slow
@pytest.mark.parametrize("source", Manifest.read(shipped_corpus()).sources)
def test_a_slice_of_each_source_is_captured_as_it_was(source, cards, check_as_shipped):
    of_source = cards[source].values()
    assert len(of_source) >= SLICE
    for card in chosen(of_source):
        check_as_shipped(capture_architecture(card.labels.name).architecture)


@pytest.mark.slow
def test_its_inference_fingerprints_are_those_of_its_graphs():
    path = shipped_corpus() / "torchvision-000.parquet"
    stored = pq.read_table(path, columns=["inference"])  # reading cards would mend what is stale
    items = read_shard(path)
    prints = [inference_fingerprint(item.graph) for item in items]
    assert [each.hex() for each in stored.column("inference").to_pylist()] == prints
    assert [item.inference for item in items] == prints
