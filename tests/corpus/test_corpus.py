"""The corpus reads back what was written, and finds one name among many."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from corpora import corpus, item, rows
from graphs import graph_of, random_graphs, resnet
from hypothesis import given, settings
from hypothesis import strategies as st

from nar.base.errors import CorpusError, InvalidGraphError, UnknownArchitectureError
from nar.corpus import Corpus, read_cards, read_corpus, read_named, read_shard, write_shard
from nar.graphs.architecture import Architecture, Labels, architecture
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("corpus"))


def test_what_was_written_reads_back_identically(held):
    assert read_corpus(held) == rows()


def test_what_is_read_has_the_types_of_a_captured_graph(held):
    graph = read_corpus(held)[0].graph
    assert (graph.op_ids.dtype, graph.attributes.dtype) == (np.uint16, np.int16)
    assert graph.edge_index.dtype == np.int32
    assert graph.edge_index.flags.c_contiguous


@pytest.mark.slow
@settings(max_examples=40)
@given(graphs=st.lists(random_graphs(), max_size=4), seed=st.integers(0, 9))
def test_any_canonical_graphs_read_back(tmp_path_factory, graphs, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("any") / "x.parquet"
    items = [item(f"x:{number}", with_attributes(each, rng)) for number, each in enumerate(graphs)]
    write_shard(path, items)
    assert read_shard(path) == items


def with_attributes(graph, rng):
    values = rng.integers(-(2**15), 2**15, size=graph.attributes.shape).astype(np.int16)
    hashed = np.where(graph.op_ids % 2, graph.op_ids, 65_535).astype(np.uint16)
    return replace(graph, op_ids=hashed, attributes=values, parameters=2**40, flops=2**60)


def test_an_empty_shard_reads_back(tmp_path):
    write_shard(tmp_path / "x.parquet", [])
    assert read_shard(tmp_path / "x.parquet") == []


def test_a_graph_without_edges_reads_back(tmp_path):
    items = [item("x:one", graph_of("input"))]
    write_shard(tmp_path / "x.parquet", items)
    assert read_shard(tmp_path / "x.parquet") == items


def test_a_graph_out_of_canonical_order_is_refused(tmp_path):
    graph = resnet([1])
    turned = replace(graph, edge_index=np.ascontiguousarray(graph.edge_index[:, ::-1]))
    labels = Labels("x:a", "x", "x 1", "f", "t")
    unordered = Architecture(labels, "cnn", turned, *["00" * 32] * 3)
    with pytest.raises(InvalidGraphError, match="canonical order"):
        write_shard(tmp_path / "x.parquet", [unordered])


def test_a_graph_whose_edges_lead_nowhere_is_refused(tmp_path):
    graph = resnet([1])
    shifted = replace(graph, edge_index=graph.edge_index + 1)
    labels = Labels("x:a", "x", "x 1", "f", "t")
    broken = Architecture(labels, "cnn", shifted, *["00" * 32] * 3)
    with pytest.raises(InvalidGraphError, match="wanted readers 0 to"):
        write_shard(tmp_path / "x.parquet", [broken])


def test_the_same_rows_give_the_same_bytes(tmp_path):
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    assert write_shard(one, rows()).sha256 == write_shard(other, rows()).sha256
    assert one.read_bytes() == other.read_bytes()


def test_a_shard_of_one_source_names_it(tmp_path):
    assert write_shard(tmp_path / "x.parquet", rows()[:2]).source == "timm"
    assert write_shard(tmp_path / "x.parquet", rows()).source == ""


def test_every_column_says_what_it_holds(tmp_path):
    write_shard(tmp_path / "x.parquet", rows())
    for field in pq.read_schema(tmp_path / "x.parquet"):
        assert field.metadata[b"description"], field.name


@pytest.mark.slow
def test_repeated_structure_takes_little(tmp_path):
    nodes = 0
    items = []
    for depth in range(1, 120):
        items.append(item(f"x:{depth:03d}", resnet([depth % 7 + 1, depth % 5 + 1, 3])))
        nodes += items[-1].graph.nodes
    write_shard(tmp_path / "x.parquet", items)
    group = pq.read_metadata(tmp_path / "x.parquet").row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    graph = sum(column.total_compressed_size for column in columns[-4:])
    assert nodes > 10_000
    assert graph < 0.3 * nodes


def test_cards_say_all_but_the_graph(held):
    cards = list(Corpus(held).cards())
    assert [card.labels for card in cards] == [each.labels for each in rows()]
    assert [card.exact for card in cards] == [each.exact for each in rows()]
    assert [card.nodes for card in cards] == [each.graph.nodes for each in rows()]
    assert read_cards(held / "shard-0.parquet") == cards[:2]
    assert cards[2].paper_family.lower() == "bert"


def test_a_name_is_found_with_those_of_its_design(held):
    entry = Corpus(held).find("timm:a")
    assert entry.architecture == rows()[0]
    assert [card.labels.name for card in entry.same] == ["timm:b"]
    assert entry.card.labels == rows()[0].labels


def test_a_name_is_found_without_reading_another_graph(held, monkeypatch):
    read = []
    monkeypatch.setattr(
        "nar.corpus.shards.graphs_of", lambda table: read.append(len(table)) or [resnet([1])]
    )
    Corpus(held).find("smp:unet/swin")
    assert read == [1]


def test_several_names_are_read_in_their_order_and_what_is_absent_is_left_out(held):
    wanted = ["smp:unet/swin", "timm:z", "timm:a"]
    named = read_named(held, wanted, {"smp", "timm"})
    assert list(named) == ["smp:unet/swin", "timm:a"]
    assert named["timm:a"] == rows()[0]


def test_backbones_are_read_without_a_graph(held, monkeypatch):
    monkeypatch.setattr("nar.corpus.shards.graphs_of", lambda _: pytest.fail("a graph was read"))
    backbones = Corpus(held).backbones(["smp:unet/swin", "timm:z", "timm:a"], {"smp", "timm"})
    assert backbones == {"smp:unet/swin": "swin", "timm:a": ""}


def test_some_columns_of_all_cards_are_read_alone(held):
    columns = ("name", "inference")
    table = Corpus(held).columns(columns)
    assert table.column_names == list(columns)
    assert table.equals(Corpus(held).columns().select(columns))


def test_shards_of_other_sources_are_not_read(tmp_path):
    directory = corpus(tmp_path)
    (directory / "shard-0.parquet").unlink()  # timm alone
    assert list(read_named(directory, ["hf:bert"], {"hf"})) == ["hf:bert"]
    with pytest.raises(CorpusError, match="shard-0"):
        read_named(directory, ["hf:bert"], {"timm"})


def test_a_misspelt_name_gets_the_nearest(held):
    with pytest.raises(UnknownArchitectureError, match=r"did you mean hf:bert\?"):
        Corpus(held).find("hf:brt")


@pytest.mark.slow
def test_a_large_shard_reads_back_in_moments(tmp_path):
    graph = canonical(resnet([3, 4, 6, 3]))
    labels = Labels("x:0", "x", "x 1", "resnet", "t")
    one = architecture(labels, graph)
    items = [replace(one, labels=replace(labels, name=f"x:{number}")) for number in range(2_000)]
    write_shard(tmp_path / "x.parquet", items)
    back = read_shard(tmp_path / "x.parquet")
    assert len(back) == 2_000
    assert isinstance(back[-1].graph, ComputationalGraph)
    assert back[-1] == items[-1]
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
