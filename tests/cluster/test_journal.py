"""The journal: whatever was written survives, whatever is damaged was never there."""

import os
import sqlite3
import tracemalloc
from contextlib import closing

import numpy as np
import pytest

from cluster.journal import (
    BatchRecord,
    BatchWriter,
    Journal,
    Result,
    RunRecord,
    SettledModel,
    captured,
    failed,
)
from cluster.ledger import Ledger
from nar.base.errors import CorpusError
from nar.corpus import read_shard, write_shard
from nar.corpus.manifest import Failure
from nar.graphs.architecture import Labels, architecture
from nar.graphs.assumed import Assumed, AssumedValue
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id
from nar.zoo.spec import CaptureSeconds, ZooCapture

RUN = RunRecord(seconds=1.5, workers=2, cores=4, labels="tables")


ASSUMED = Assumed(("x=1x3x8x8",), values=(AssumedValue("width", "64", "its name"),))


def chain(name: str, length: int = 3, identity: str = "id") -> Result:
    """A captured chain of activations."""
    graph = ComputationalGraph(
        np.full(length, op_id("relu"), dtype=np.uint16),
        np.zeros((length, len(ATTRIBUTES)), dtype=np.int16),
        np.array([range(length - 1), range(1, length)], dtype=np.int32),
        parameters=0,
        flops=0,
    )
    labels = Labels(name, "timm", "timm 1", "chain", "image-classification")
    row = architecture(labels, canonical(graph))
    capture = ZooCapture(row, {"aten::odd": 2}, CaptureSeconds(1.0, 2.0, 0.5), assumed=ASSUMED)
    return captured(capture, identity, 4.0)


def lost(name: str) -> Result:
    died = Failure(name=name, operator="-", reason="died", kind="died")
    return failed(died, "id", 9.0)


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(tmp_path)


def test_what_was_written_is_found_by_the_next_process(journal, tmp_path):
    one = chain("timm:one")
    journal.write([one, lost("timm:two")], RUN)
    again = Journal(tmp_path)
    assert again.find("timm:one", "id").record == one.record
    assert again.find("timm:one", "id").record.steps == {"build": 1, "forward": 2, "graph": 0.5}
    assert again.find("timm:one", "id").record.assumed == ASSUMED
    assert again.find("timm:two", "id").record.assumed is None
    assert again.find("timm:two", "id").record.failure.kind == "died"
    assert again.run_of(again.find("timm:one", "id").batch) == RUN


def test_another_identity_is_another_capture(journal):
    journal.write([chain("timm:one")], RUN)
    assert journal.find("timm:one", "other") is None


def test_rows_come_back_as_they_were(journal):
    one, two = chain("timm:one"), chain("timm:two", length=5)
    journal.write([two], RUN)
    journal.write([one], RUN)
    rows = journal.rows([journal.find("timm:one", "id"), journal.find("timm:two", "id")])
    assert {name: row.exact for name, row in rows.items()} == {
        "timm:one": one.row.exact,
        "timm:two": two.row.exact,
    }


@pytest.mark.slow
def test_publishing_reads_each_batch_once_where_results_come_in_about_the_order_of_names(
    journal, monkeypatch
):
    names = [f"timm:{number:03d}" for number in range(96)]
    # Workers end a few models out of turn.
    arrived = [names[number ^ 3] for number in range(96)]
    for start in range(0, 96, 8):
        journal.write([chain(name) for name in arrived[start : start + 8]], RUN)
    reads = []

    def read(path):
        reads.append(path.name)
        return read_shard(path)

    monkeypatch.setattr("cluster.journal.read_shard", read)
    for start in range(0, 96, 12):
        rows = journal.rows(journal.find(name, "id") for name in names[start : start + 12])
        assert sorted(rows) == names[start : start + 12]
    assert len(reads) == len(set(reads)) == 12


def test_the_last_word_on_a_model_holds(journal, tmp_path):
    journal.write([lost("timm:one")], RUN)
    journal.write([chain("timm:one")], RUN)
    for each in (journal, Journal(tmp_path)):
        assert each.find("timm:one", "id").record.failure is None


@pytest.mark.parametrize("damage", [None, b"{"])
def test_a_damaged_batch_was_never_written(journal, tmp_path, damage):
    journal.write([chain("timm:one")], RUN)
    journal.write([chain("timm:two")], RUN)
    file = tmp_path / "000000.parquet"
    file.unlink() if damage is None else file.write_bytes(damage)
    again = Journal(tmp_path)
    assert again.find("timm:one", "id") is None
    assert again.find("timm:two", "id") is not None
    again.write([chain("timm:one")], RUN)
    assert Journal(tmp_path).find("timm:one", "id") is not None
    assert Journal(tmp_path).find("timm:two", "id") is not None


def test_damage_of_the_same_length_is_told_when_it_is_read_and_the_next_run_captures_again(
    journal, tmp_path
):
    journal.write([chain("timm:one")], RUN)
    settled = journal.find("timm:one", "id")
    file = tmp_path / "000000.parquet"
    content, status = bytearray(file.read_bytes()), file.stat()
    content[4:64] = bytes(60)
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    again = Journal(tmp_path)
    with pytest.raises(CorpusError, match="run again to capture them"):
        again.rows([settled])
    assert Journal(tmp_path).find("timm:one", "id") is None


@pytest.mark.parametrize("damage", [None, b"no database at all" * 64])
def test_a_store_that_is_lost_is_made_of_the_batches(journal, tmp_path, damage, caplog):
    journal.write([chain("timm:one"), lost("timm:two")], RUN)
    journal.write([chain("timm:one", length=5)], RUN)
    journal.close()
    store = tmp_path / "journal.sqlite"
    store.unlink() if damage is None else store.write_bytes(damage)
    again = Journal(tmp_path)
    assert again.find("timm:one", "id").batch == 1
    assert again.find("timm:two", "id").record.failure.kind == "died"
    assert again.run_of(0) == RUN
    assert ("made anew" in caplog.text) is (damage is not None)


def test_a_batch_whose_writer_died_before_the_store_knew_of_it_counts(journal, tmp_path):
    journal.write([chain("timm:one")], RUN)
    journal.close()
    other = Journal(tmp_path / "other")
    other.write([chain("timm:two")], RUN)
    (tmp_path / "other/000000.parquet").rename(tmp_path / "000001.parquet")
    assert Journal(tmp_path).find("timm:two", "id").batch == 1


def test_a_store_that_cannot_be_written_is_told_and_the_batch_is_not_lost(journal, tmp_path):
    journal.write([chain("timm:one")], RUN)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite", timeout=0)) as other:
        other.execute("BEGIN EXCLUSIVE")
        journal._store._open.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(CorpusError, match=r"cannot be written .*locked"):
            journal.write([chain("timm:two")], RUN)
    journal.close()
    assert Journal(tmp_path).find("timm:two", "id").batch == 1


def test_a_workspace_that_was_copied_keeps_its_captures(journal, tmp_path):
    journal.write([chain("timm:one")], RUN)
    journal.close()
    os.utime(tmp_path / "000000.parquet", ns=(1, 1))
    for _ in range(2):
        again = Journal(tmp_path)
        assert again.find("timm:one", "id") is not None
        again.close()


def test_batches_of_older_versions_are_taken_in(tmp_path):
    one = chain("timm:one")
    entry = write_shard(tmp_path / "000003.parquet", [one.row])
    record = BatchRecord(entry=entry, items=(one.record, lost("timm:two").record), run=RUN)
    Ledger(tmp_path, BatchRecord).add("000003", record)
    write_shard(tmp_path / "000004.parquet", [chain("timm:three").row])
    (tmp_path / "000004.json").write_text("{")
    journal = Journal(tmp_path)
    assert journal.find("timm:one", "id").record == one.record
    assert journal.find("timm:two", "id").record.failure.kind == "died"
    assert journal.find("timm:three", "id") is None
    journal.write([chain("timm:three")], RUN)
    assert journal.find("timm:three", "id").batch == 5


def test_looking_into_a_journal_leaves_nothing(tmp_path):
    assert Journal(tmp_path / "none", is_read_only=True).latest("timm:one") is None
    assert not (tmp_path / "none").exists()
    writer = Journal(tmp_path)
    writer.write([chain("timm:one")], RUN)
    (tmp_path / "journal.sqlite").rename(tmp_path / "elsewhere")
    assert Journal(tmp_path, is_read_only=True).latest("timm:one").record.name == "timm:one"
    assert not (tmp_path / "journal.sqlite").exists()


@pytest.mark.slow
def test_many_small_batches_become_few_and_all_is_found(journal, tmp_path):
    names = [f"timm:{number:02d}" for number in range(20)]
    for number, name in enumerate(names):
        journal.write([lost(name) if number % 5 == 0 else chain(name, 3 + number)], RUN)
    rows = {name: row.exact for name, row in journal.rows(_all(journal, names)).items()}
    journal.compact(8)
    for each in (journal, Journal(tmp_path)):
        assert len(list(tmp_path.glob("*.parquet"))) == 3
        settled = _all(each, names)
        assert {name: row.exact for name, row in each.rows(settled).items()} == rows
        assert sum(each.record.failure is not None for each in settled) == 4
        runs = [each.run_of(batch) for batch in sorted({item.batch for item in settled})]
        assert sum(run.seconds for run in runs) == 20 * RUN.seconds
    journal.compact(8)
    assert len(list(tmp_path.glob("*.parquet"))) == 3


def _all(journal: Journal, names: list[str]) -> list[SettledModel]:
    return [journal.find(name, "id") for name in names]


def test_compacting_drops_what_later_captures_replaced_and_keeps_the_last_two(journal, tmp_path):
    for number in range(4):
        journal.write([chain("timm:one", 3 + number, identity=f"version {number}")], RUN)
    journal.write([chain("timm:one", 9, identity="version 3")], RUN)
    journal.compact(8)
    assert journal.find("timm:one", "version 1") is None
    assert journal.find("timm:one", "version 2").batch == 2
    assert journal.latest("timm:one").record.identity == "version 3"
    assert len(list(tmp_path.glob("*.parquet"))) == 2


def test_batches_of_other_labels_or_workers_stay_apart(journal):
    other = RUN.model_copy(update={"labels": "other tables"})
    for number in range(8):
        journal.write([chain(f"timm:{number}")], other if number % 2 else RUN)
    journal.compact(8)
    labels = [
        journal.run_of(journal.find(f"timm:{number}", "id").batch).labels for number in (0, 1)
    ]
    assert labels == ["tables", "other tables"]


@pytest.mark.slow
def test_a_model_takes_less_than_200_bytes_of_memory(journal):
    # Whatever is kept of a model: captures that a journal has are read when they are asked for.
    few, many = (_held(journal, range(*numbers)) for numbers in ((0, 500), (500, 2_500)))
    assert many - few < 200 * 1_500


def _held(journal: Journal, numbers: range) -> int:
    tracemalloc.start()
    try:
        for start in numbers[::100]:
            journal.write([lost(f"timm:{start + each}") for each in range(100)], RUN)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_a_batch_is_written_by_the_clock_where_no_other_result_comes(
    journal, tmp_path, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr("cluster.journal.time.monotonic", lambda: now[0])
    writer = BatchWriter(journal, 64, 10.0, RUN)
    writer.add(chain("timm:one"))
    now[0] += 4
    assert writer.write_old() == 6
    assert Journal(tmp_path).find("timm:one", "id") is None
    now[0] += 6
    assert writer.write_old() == 10
    assert Journal(tmp_path).find("timm:one", "id") is not None


@pytest.mark.parametrize(("size", "patience_s", "batches"), [(2, 60.0, 2), (9, 0.0, 4), (9, 60, 0)])
def test_a_batch_is_written_when_it_is_full_or_old(journal, tmp_path, size, patience_s, batches):
    writer = BatchWriter(journal, size, patience_s, RUN)
    for number in range(4):
        writer.add(chain(f"timm:{number}"))
    assert len(list(tmp_path.glob("*.parquet"))) == batches
    writer.close()
    assert all(Journal(tmp_path).find(f"timm:{number}", "id") for number in range(4))
