"""Increments: a collection is brought to a corpus in place, and a bulk load can be taken back."""

from dataclasses import replace

import numpy as np
import pytest
from backends import ENCODER, on_both
from milvus_server import free_port, running_milvus
from oracle import DIM, row

from nar.base.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import IndexVerificationError
from nar.index.digests import packed_rows
from nar.index.history import go_back
from nar.index.increments import Increment, RowComparison, descriptions, is_of_corpus
from nar.index.publishing import show_difference
from nar.index.settings import IndexConfig

ROWS = [row(f"row {number}", 1, number) for number in range(40)]
CORPUS = "c" * 16


@pytest.fixture
def index(config):
    with ArchitectureIndex(config) as index:
        load(index, ROWS, CORPUS)
        yield index


def load(index, rows, corpus=""):
    with index.build(ENCODER, DIM) as build:
        build.upsert(rows)
        build.publish(keep_before=True, corpus=corpus)


def compared(index, rows):
    comparison = RowComparison(descriptions(index, ENCODER))
    asked = packed_rows({each.id: each.description() for each in rows})
    return comparison, comparison.are_right(asked).tolist()


@pytest.mark.slow
def test_what_is_new_changed_and_gone_is_told_by_what_rows_say(index):
    relabelled = replace(ROWS[3], family="other")
    new = row("new", 1, 1)
    comparison, right = compared(index, [*ROWS[:3], relabelled, *ROWS[5:], new])
    assert right == [True] * 3 + [False] + [True] * 35 + [False]
    assert (comparison.changed, comparison.vanished) == (2, [ROWS[4].id])


@pytest.mark.slow
def test_only_a_tenth_is_written_in_place(index):
    for changed, is_small in ((4, True), (5, False)):
        rows = [replace(each, flops=7) for each in ROWS[:changed]] + ROWS[changed:]
        assert compared(index, rows)[0].is_small(removes=True) == is_small
    comparison, _ = compared(index, ROWS[5:])
    assert (comparison.is_small(removes=False), comparison.is_small(removes=True)) == (True, False)


@pytest.mark.slow
def test_rows_of_another_encoder_are_worth_nothing(index):
    assert len(descriptions(index, "f" * 64)) == 0
    assert not is_of_corpus(index, "f" * 64, CORPUS, len(ROWS))


@pytest.mark.slow
@on_both
def test_an_increment_equals_a_build_from_nothing_digest_for_digest(index):
    wanted = [replace(ROWS[0], embedding=np.ones(DIM, np.float32)), *ROWS[2:], row("new", 2, 2)]
    increment = Increment(index, batch_rows=1)
    increment.load([wanted[0], wanted[-1]])
    assert increment.finish([ROWS[1].id], "d" * 16) == len(wanted)
    in_place = list(index.live.digest_pages())
    assert is_of_corpus(index, ENCODER, "d" * 16, len(wanted))
    load(index, wanted)
    assert list(index.live.digest_pages()) == in_place


@pytest.mark.slow
def test_a_row_that_does_not_read_back_is_an_error(index):
    increment = Increment(index, batch_rows=10)
    increment.load(ROWS[:2])
    index.delete([ROWS[0].id])
    with pytest.raises(IndexVerificationError, match="of 2 rows that were written, 1 read back"):
        increment.finish([], "")


@pytest.mark.slow
@on_both
def test_who_writes_single_rows_takes_off_the_name_of_the_corpus(index):
    assert is_of_corpus(index, ENCODER, CORPUS, len(ROWS))
    assert not is_of_corpus(index, ENCODER, CORPUS, len(ROWS) - 1)
    assert not is_of_corpus(index, ENCODER, "d" * 16, len(ROWS))
    index.upsert(ROWS[:1])
    assert not is_of_corpus(index, ENCODER, CORPUS, len(ROWS))


@pytest.mark.milvus_server
def test_a_restart_of_milvus_forgets_nothing_of_what_was_written(tmp_path):
    port = free_port()
    with (
        running_milvus(tmp_path, port, is_eager=True) as server,
        open_index(server.uri, "whole") as index,
        open_index(server.uri, "cut_off") as other,
    ):
        load(index, ROWS, CORPUS)
        increment = Increment(index, batch_rows=10)
        increment.load(ROWS[:1])
        increment.finish([], "d" * 16)
        load(other, ROWS, CORPUS)
        # Killed in between, a write leaves rows that are not those of the corpus.
        show_difference(other.follow())
    with (
        running_milvus(tmp_path, port, is_eager=True) as server,
        open_index(server.uri, "whole") as index,
        open_index(server.uri, "cut_off") as other,
    ):
        assert is_of_corpus(index, ENCODER, "d" * 16, len(ROWS))
        assert not is_of_corpus(other, ENCODER, CORPUS, len(ROWS))


def open_index(uri, alias):
    return ArchitectureIndex(IndexConfig(uri=uri, alias=alias))


@pytest.mark.slow
@on_both
def test_a_bulk_load_is_taken_back_and_again(index):
    first = index.live.name
    load(index, ROWS[:3])
    go_back(index, None)
    index.follow()
    assert (index.live.name, index.count()) == (first, len(ROWS))
    assert len(index.search(np.eye(1, DIM, dtype=np.float32), 100)[0]) == len(ROWS)
    go_back(index, None)
    index.follow()
    assert index.count() == 3


def change(index, written, gone=(), by="embed"):
    increment = Increment(index, batch_rows=2, by=by)
    increment.load(written)
    increment.finish([row.id for row in gone], "")


def held(index):
    [*pages] = index.live.digest_pages()
    return {key: code for page in pages for key, code in page.items()}


@pytest.mark.slow
@on_both
def test_one_goes_back_to_monday_after_a_week_of_every_kind_of_change(index):
    """Monday and so on are what the index holds after the job of the day."""
    days = [held(index)]
    other = [replace(each, flops=7) for each in ROWS[:3]]
    change(index, [*other, row("new", 1, 1)], ROWS[10:12])
    days.append(held(index))
    change(index, [replace(ROWS[0], flops=8), row("newer", 1, 1)], [row("new", 1, 1)])
    days.append(held(index))
    load(index, ROWS[5:9])
    days.append(held(index))
    change(index, [row("newest", 1, 1)], ROWS[5:6])
    days.append(held(index))
    jobs = [each.change for each in index.history.kept()]
    assert [(each.number, each.kind) for each in jobs] == [
        (4, "changed"),
        (3, "replaced"),
        (2, "changed"),
        (1, "changed"),
    ]
    assert {each.encoder for each in jobs} == {ENCODER}
    for number in (4, 2, 1, 3):
        back_to(index, number, days[number - 1])


def back_to(index, number, wanted):
    """Go back behind a job, look, and undo that."""
    now = held(index)
    go_back(index, number)
    index.follow()
    assert held(index) == wanted
    go_back(index, None)
    index.follow()
    assert held(index) == now


@pytest.mark.slow
def test_rows_that_clients_wrote_since_stay(index):
    change(index, [replace(ROWS[0], flops=7)])
    index.upsert([row("of a client", 1, 1)])
    go_back(index, 1)
    assert index.count() == len(ROWS) + 1
    assert index.get([ROWS[0].name])[ROWS[0].name].flops == ROWS[0].flops


@pytest.mark.slow
def test_so_many_jobs_and_rows_are_kept(tmp_path):
    config = IndexConfig(uri=str(tmp_path / "kept.db"), alias="kept", kept_jobs=3, kept_rows=50)
    with ArchitectureIndex(config) as index:
        load(index, ROWS)
        for number in range(5):
            change(index, [replace(ROWS[0], flops=number)])
        assert [each.change.number for each in index.history.kept()] == [5, 4, 3]
        load(index, ROWS[:2])
        assert [each.change.number for each in index.history.kept()] == [6, 5, 4]
        load(index, ROWS)
        load(index, ROWS)
        # Forty rows of the last job, two and not forty more of the ones before.
        assert [each.change.rows for each in index.history.kept()] == [40, 2]


@pytest.mark.slow
def test_a_job_that_is_not_kept_is_refused_with_those_that_are(index):
    with pytest.raises(
        IndexUnavailableError, match=r"nothing is kept of the last job .*kept: none"
    ):
        go_back(index, None)
    change(index, ROWS[:1])
    with pytest.raises(IndexUnavailableError, match=r"nothing is kept of job 9 .*kept: 1"):
        go_back(index, 9)
