"""A shard that is not what was written is refused by name, whatever happened to it."""

from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora import corpus, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from nar.base.errors import CorpusError
from nar.corpus import (
    SCHEMA,
    SCHEMA_VERSION,
    read_corpus,
    read_shard,
    write_shard,
)
from nar.corpus.manifest import Manifest
from nar.graphs.ops import ATTRIBUTES


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("corpus"))


def damaged(directory, change):
    """The file of the second shard, with its bytes changed."""
    path = directory / "shard-1.parquet"
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    return path


def foreign(path, change):
    """A shard that Parquet finds whole, made from the rows with something changed."""
    write_shard(path, rows())
    pq.write_table(change(pq.read_table(path)), path)
    return path


def with_list(table, name, change):
    """The table with one number list of its first row changed."""
    lists = table.column(name).to_pylist()
    lists[0] = change(lists[0])
    position = table.column_names.index(name)
    column = pa.array(lists, table.schema.field(name).type)
    return table.set_column(position, table.schema.field(name), column)


@pytest.mark.slow
@settings(max_examples=150)
@given(fraction=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_seen(tmp_path_factory, held, fraction, bit):
    directory = tmp_path_factory.mktemp("flip")
    for path in held.iterdir():
        (directory / path.name).write_bytes(path.read_bytes())

    def flip(content):
        content[int(fraction * len(content))] ^= 1 << bit

    path = damaged(directory, flip)
    with pytest.raises(CorpusError, match=r"shard-1\.parquet is damaged"):
        read_corpus(directory)
    # Without the digest of the manifest: what passes then is no difference in the rows.
    with suppress(CorpusError):
        assert read_shard(path) == rows()[2:]


@pytest.mark.slow
@settings(max_examples=30)
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_truncated_shard_is_seen(tmp_path_factory, kept):
    path = tmp_path_factory.mktemp("cut") / "x.parquet"
    write_shard(path, rows())
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(CorpusError, match=r"x\.parquet cannot be read"):
        read_shard(path)


def test_a_missing_shard_is_named(tmp_path):
    (corpus(tmp_path) / "shard-0.parquet").unlink()
    with pytest.raises(CorpusError, match=r"shard-0\.parquet is missing"):
        read_corpus(tmp_path)


def test_what_is_no_shard_is_refused(tmp_path):
    (tmp_path / "x.parquet").write_text("not parquet")
    with pytest.raises(CorpusError, match=r"x\.parquet cannot be read"):
        read_shard(tmp_path / "x.parquet")


def test_a_directory_is_no_shard(tmp_path):
    (tmp_path / "x.parquet").mkdir()
    with pytest.raises(CorpusError, match=r"x\.parquet cannot be read"):
        read_shard(tmp_path / "x.parquet")


def test_another_schema_version_is_refused(tmp_path):
    metadata = {**SCHEMA.metadata, b"nar.corpus.schema": b"1"}
    path = foreign(tmp_path / "x.parquet", lambda table: table.replace_schema_metadata(metadata))
    with pytest.raises(CorpusError, match=f"schema version 1, wanted {SCHEMA_VERSION}"):
        read_shard(path)


def test_other_attributes_are_refused(tmp_path):
    metadata = {**SCHEMA.metadata, b"nar.corpus.attributes": b"kernel"}
    path = foreign(tmp_path / "x.parquet", lambda table: table.replace_schema_metadata(metadata))
    with pytest.raises(CorpusError, match="other node attributes"):
        read_shard(path)


@pytest.mark.parametrize("column", SCHEMA.names)
def test_a_missing_column_is_named(tmp_path, column):
    path = foreign(tmp_path / "x.parquet", lambda table: table.drop_columns([column]))
    with pytest.raises(CorpusError, match=f"no column {column}"):
        read_shard(path)


def test_a_column_of_another_type_is_named(tmp_path):
    def change(table):
        position = table.column_names.index("flops")
        return table.set_column(position, "flops", table.column("flops").cast(pa.int32()))

    with pytest.raises(CorpusError, match="column flops is int32, wanted int64"):
        read_shard(foreign(tmp_path / "x.parquet", change))


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("nodes", lambda numbers: numbers[:-1]),
        ("nodes", lambda numbers: [10_000, *numbers[1:]]),
        ("operands", lambda numbers: [*numbers, 0]),
        ("operands", lambda numbers: [numbers[0] + 1, *numbers[1:]]),
        ("distances", lambda numbers: numbers[1:]),
        ("distances", lambda numbers: [99, *numbers[1:]]),
        ("distances", lambda numbers: [-99, *numbers[1:]]),
        ("kinds", lambda numbers: numbers[:-1]),
        ("kinds", lambda numbers: numbers[: 1 + len(ATTRIBUTES)]),
        ("kinds", lambda numbers: [70_000, *numbers[1:]]),
        ("kinds", lambda numbers: [numbers[0], 70_000, *numbers[2:]]),
    ],
)
def test_lists_that_disagree_are_refused(tmp_path, column, change):
    path = foreign(tmp_path / "x.parquet", lambda table: with_list(table, column, change))
    with pytest.raises(CorpusError, match=r"x\.parquet cannot be read: its column \w+ does not"):
        read_shard(path)


def test_a_manifest_that_counts_other_rows_is_refused(tmp_path):
    manifest = Manifest.read(corpus(tmp_path))
    entry = manifest.shards[0].model_copy(update={"rows": 9})
    manifest.model_copy(update={"shards": (entry, manifest.shards[1])}).write(tmp_path)
    with pytest.raises(CorpusError, match="has 2 rows, its manifest says 9"):
        read_corpus(tmp_path)


def test_no_corpus_says_how_to_make_one(tmp_path):
    with pytest.raises(CorpusError, match=r"python -m cluster\.extract"):
        read_corpus(tmp_path)
