"""A corpus of older columns is read, and written in today's without being another one."""

from hashlib import sha256

import pyarrow.parquet as pq
import pytest
from corpora import corpus, rows

from nar.base.errors import CorpusError
from nar.corpus import SCHEMA, Corpus, read_corpus
from nar.corpus.manifest import Manifest
from nar.corpus.rewriting import renew

NO_VERSION = {key: value for key, value in SCHEMA.metadata.items() if b"normal_form" not in key}
OTHER_VERSION = {**SCHEMA.metadata, b"nar.corpus.normal_form": b"0"}


def without(table):
    """As it was before the column."""
    return table.drop_columns(["inference"]).replace_schema_metadata(NO_VERSION)


def of_other_rules(table):
    """As other rules of normal forms would have made it."""
    column = table.column("inference").take([0] * len(table))
    position = table.column_names.index("inference")
    changed = table.set_column(position, SCHEMA.field("inference"), column)
    return changed.replace_schema_metadata(OTHER_VERSION)


@pytest.fixture(params=[without, of_other_rules])
def older(request, tmp_path):
    """A corpus of which a column is missing or stale."""
    directory = corpus(tmp_path / "older", [rows()[0], rows()[2], rows()[1], rows()[3]])
    manifest = Manifest.read(directory)
    shards = []
    for entry in manifest.shards:
        path = directory / entry.file
        table = pq.read_table(path)
        pq.write_table(request.param(table), path)
        shards.append(entry.model_copy(update={"sha256": sha256(path.read_bytes()).hexdigest()}))
    manifest.model_copy(update={"shards": tuple(shards)}).write(directory)
    return directory


def test_what_an_older_corpus_lacks_is_made_from_its_graphs(older):
    items = {item.labels.name: item for item in rows()}
    assert {item.labels.name: item for item in read_corpus(older)} == items
    prints = {card.labels.name: card.inference for card in Corpus(older).cards()}
    assert prints == {name: item.inference for name, item in items.items()}
    entry = Corpus(older).find("timm:a")
    assert entry.card.inference == items["timm:a"].inference
    assert [card.inference for card in entry.same] == [items["timm:b"].inference]


def test_a_renewed_corpus_has_the_same_rows_and_the_same_identity(older, tmp_path):
    renewed = renew(older, tmp_path / "new")
    before = Manifest.read(older)
    assert renewed == Manifest.read(tmp_path / "new")
    assert renewed.digest == before.digest
    assert [each.file for each in renewed.shards] == [each.file for each in before.shards]
    assert [each.renewed for each in renewed.shards] == [each.sha256 for each in before.shards]
    assert read_corpus(tmp_path / "new") == read_corpus(older)
    again = renew(tmp_path / "new", tmp_path / "again")
    assert again == renewed


def test_a_corpus_of_todays_columns_stays_as_it_is(tmp_path):
    held = corpus(tmp_path / "held")
    assert renew(held, tmp_path / "new") == Manifest.read(held)
    for path in held.iterdir():
        assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()


def test_nothing_is_written_over(tmp_path):
    held = corpus(tmp_path / "held")
    with pytest.raises(CorpusError, match="is not empty; name another directory"):
        renew(held, held)
