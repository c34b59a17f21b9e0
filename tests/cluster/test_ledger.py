"""The ledger: what is finished stays finished, and another job's ledger is refused."""

import pytest

from cluster.ledger import Ledger, Record, digest
from nar.errors import ConfigError


class Rows(Record):
    rows: int


@pytest.fixture
def ledger(tmp_path) -> Ledger[Rows]:
    ledger = Ledger(tmp_path / "ledger", Rows)
    ledger.begin("job a", way_out="start again")
    return ledger


def test_a_part_is_unknown_until_it_is_added(ledger):
    assert ledger.find("shard-0") is None
    ledger.add("shard-0", Rows(rows=3))
    assert ledger.find("shard-0") == Rows(rows=3)


def test_the_same_job_goes_on(ledger):
    ledger.add("shard-0", Rows(rows=3))
    ledger.begin("job a", way_out="start again")
    assert ledger.find("shard-0") == Rows(rows=3)


def test_another_job_is_refused_with_the_way_out(ledger):
    with pytest.raises(ConfigError, match="another job; start again"):
        ledger.begin("job b", way_out="start again")


def test_a_cleared_ledger_takes_any_job(ledger):
    ledger.add("shard-0", Rows(rows=3))
    ledger.clear()
    ledger.begin("job b", way_out="start again")
    assert ledger.job() == "job b"
    assert ledger.find("shard-0") is None


@pytest.mark.parametrize("text", ["", "{", '{"rows": "many"}', '{"rows": 1, "more": 2}'])
def test_a_damaged_record_counts_as_unfinished(ledger, tmp_path, text):
    (tmp_path / "ledger" / "shard-0.json").write_text(text)
    assert ledger.find("shard-0") is None


def test_digest_sees_where_texts_end():
    assert digest("ab", "c") != digest("a", "bc")
