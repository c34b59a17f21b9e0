"""Details in a corpus: columns that are there where they were recorded, and are read back."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora import corpus, rows

from nar.base.errors import CorpusError
from nar.corpus import Corpus, read_shard, write_shard
from nar.corpus.columns import DETAILS, details_columns, details_in
from nar.corpus.rewriting import pack, renew
from nar.graphs.details import NOT_READ, NUMBERS, Details

PATHS = ["", "layers.0.attn.q", "layers.0.attn", "layers.11.attn.q", "a#1", "v007", "x.123456789"]


def details(nodes, paths=PATHS):
    """Details of so many nodes: each third has no path, widths grow, one is attention."""
    numbers = np.full((nodes, len(NUMBERS)), NOT_READ, dtype=np.int32)
    numbers[:, 1] = 8 * (1 + np.arange(nodes) // 3)
    numbers[0, 2:] = (4, 2, 8, 1, 0)
    places = np.arange(nodes, dtype=np.int32) % len(paths)
    places[len(paths) :: 3] = NOT_READ
    return Details(numbers, tuple(paths), places, ("x float 1x3",), ("float 1x2",), ("cut item 1",))


def described():
    return [replace(item, details=details(item.nodes)) for item in rows()]


def test_a_shard_keeps_them_beside_rows_without_any(tmp_path):
    first, second, *_ = described()
    items = [first, replace(second, details=None)]
    write_shard(tmp_path / "a.parquet", items)
    back = read_shard(tmp_path / "a.parquet")
    assert [item.details for item in back] == [first.details, None]
    assert back == items
    assert first.details.of(0).mask == "causal"
    assert (first.details.of(0).heads, first.details.of(0).input_width) == (4, None)


def test_a_shard_without_them_has_no_column_and_reads(tmp_path):
    write_shard(tmp_path / "a.parquet", rows())
    assert not set(DETAILS) & set(pq.read_schema(tmp_path / "a.parquet").names)
    assert {item.details for item in read_shard(tmp_path / "a.parquet")} == {None}


def test_a_corpus_gives_them_where_they_are_asked_for(tmp_path):
    items = described()
    made = Corpus(corpus(tmp_path / "a", items))
    assert made.find("hf:bert").architecture.details == items[2].details
    assert {item.details for item in made.architectures()} == {None}
    whole = [item.details for _, shard in made.shards(with_details=True) for item in shard]
    assert whole == [item.details for item in items]


def test_packing_and_renewing_lose_none(tmp_path):
    source = corpus(tmp_path / "a", described())
    wanted = {item.labels.name: item.details for item in described()}
    pack(source, tmp_path / "packed")
    renew(source, tmp_path / "renewed")
    for made in ("packed", "renewed"):
        shards = Corpus(tmp_path / made).shards(with_details=True)
        assert {item.labels.name: item.details for _, shard in shards for item in shard} == wanted


@pytest.mark.parametrize("column", ["sizes", "node_sizes", "node_paths", "path_numbers"])
def test_columns_that_do_not_fit_together_are_told(column):
    [item] = described()[:1]
    columns = dict(zip(DETAILS, details_columns([item.details]), strict=True))
    whole = columns[column].to_pylist()[0]
    columns[column] = pa.array([whole[:-1]], columns[column].type)
    table = pa.table({"node_count": [item.nodes], **columns})
    with pytest.raises(CorpusError, match="details do not fit together"):
        details_in(table)
