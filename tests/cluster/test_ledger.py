"""The ledger: what is finished stays finished, and what is damaged was never begun."""

import pytest

from cluster.ledger import Ledger, Record, digest, file_digest


class Rows(Record):
    rows: int


@pytest.fixture
def ledger(tmp_path) -> Ledger[Rows]:
    return Ledger(tmp_path / "ledger", Rows)


def test_a_part_is_unknown_until_it_is_added(ledger):
    assert ledger.find("shard-0") is None
    ledger.add("shard-0", Rows(rows=3))
    assert ledger.find("shard-0") == Rows(rows=3)


def test_parts_come_in_the_order_of_their_names(ledger):
    for part in ("shard-1", "shard-0"):
        ledger.add(part, Rows(rows=3))
    assert ledger.parts() == ["shard-0", "shard-1"]


def test_a_part_that_is_removed_is_unknown_again(ledger):
    ledger.add("shard-0", Rows(rows=3))
    ledger.remove("shard-0")
    ledger.remove("shard-0")
    assert ledger.find("shard-0") is None
    assert ledger.parts() == []


@pytest.mark.parametrize("text", ["", "{", '{"rows": "many"}', '{"rows": 1, "more": 2}'])
def test_a_damaged_record_counts_as_unfinished(ledger, tmp_path, text):
    ledger.add("shard-0", Rows(rows=3))
    (tmp_path / "ledger" / "shard-0.json").write_text(text)
    assert ledger.find("shard-0") is None


def test_digest_sees_where_texts_end():
    assert digest("ab", "c") != digest("a", "bc")


def test_a_file_that_is_not_there_has_no_digest(tmp_path):
    (tmp_path / "empty").touch()
    assert file_digest(tmp_path / "absent") == ""
    assert len(file_digest(tmp_path / "empty")) == 64
