"""The journal: whatever was written survives, whatever is damaged was never there."""

import numpy as np
import pytest

from cluster.journal import BatchWriter, Journal, Result, RunRecord, captured, failed
from nar.corpus import read_shard
from nar.corpus.manifest import Failure
from nar.graphs.architecture import Labels, architecture
from nar.graphs.assumed import Assumed, AssumedValue
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id
from nar.zoo.spec import CaptureSeconds, ZooCapture

RUN = RunRecord(seconds=1.5, workers=2, cores=4, labels="tables")


ASSUMED = Assumed(("x=1x3x8x8",), values=(AssumedValue("width", "64", "its name"),))


def chain(name: str, length: int = 3) -> Result:
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
    return captured(
        ZooCapture(row, {"aten::odd": 2}, CaptureSeconds(1.0, 2.0, 0.5), assumed=ASSUMED), "id", 4.0
    )


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


@pytest.mark.parametrize("suffix", ["json", "parquet"])
@pytest.mark.parametrize("damage", [None, b"{"])
def test_a_damaged_batch_was_never_written(journal, tmp_path, suffix, damage):
    journal.write([chain("timm:one")], RUN)
    journal.write([chain("timm:two")], RUN)
    file = tmp_path / f"000000.{suffix}"
    file.unlink() if damage is None else file.write_bytes(damage)
    again = Journal(tmp_path)
    assert again.find("timm:one", "id") is None
    assert again.find("timm:two", "id") is not None
    again.write([chain("timm:one")], RUN)
    assert Journal(tmp_path).find("timm:one", "id") is not None
    assert Journal(tmp_path).find("timm:two", "id") is not None


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
    assert len(list(tmp_path.glob("*.json"))) == batches
    writer.close()
    assert all(Journal(tmp_path).find(f"timm:{number}", "id") for number in range(4))
