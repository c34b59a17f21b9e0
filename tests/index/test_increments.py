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
from nar.index.increments import Increment, RowComparison, descriptions, is_of_corpus
from nar.index.publishing import go_back, show_difference
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


def test_what_is_new_changed_and_gone_is_told_by_what_rows_say(index):
    relabelled = replace(ROWS[3], family="other")
    new = row("new", 1, 1)
    comparison, right = compared(index, [*ROWS[:3], relabelled, *ROWS[5:], new])
    assert right == [True] * 3 + [False] + [True] * 35 + [False]
    assert (comparison.changed, comparison.vanished) == (2, [ROWS[4].id])


def test_only_a_tenth_is_written_in_place(index):
    for changed, is_small in ((4, True), (5, False)):
        rows = [replace(each, flops=7) for each in ROWS[:changed]] + ROWS[changed:]
        assert compared(index, rows)[0].is_small(removes=True) == is_small
    comparison, _ = compared(index, ROWS[5:])
    assert (comparison.is_small(removes=False), comparison.is_small(removes=True)) == (True, False)


def test_rows_of_another_encoder_are_worth_nothing(index):
    assert len(descriptions(index, "f" * 64)) == 0
    assert not is_of_corpus(index, "f" * 64, CORPUS, len(ROWS))


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


def test_a_row_that_does_not_read_back_is_an_error(index):
    increment = Increment(index, batch_rows=10)
    increment.load(ROWS[:2])
    index.delete([ROWS[0].id])
    with pytest.raises(IndexVerificationError, match="of 2 rows that were written, 1 read back"):
        increment.finish([], "")


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
    with running_milvus(tmp_path, port) as server, open_index(server.uri) as index:
        load(index, ROWS, CORPUS)
        increment = Increment(index, batch_rows=10)
        increment.load(ROWS[:1])
        increment.finish([], "d" * 16)
    with running_milvus(tmp_path, port) as server, open_index(server.uri) as index:
        assert is_of_corpus(index, ENCODER, "d" * 16, len(ROWS))
        load(index, ROWS, CORPUS)
        # Killed in between, a write leaves rows that are not those of the corpus.
        show_difference(index.follow())
    with running_milvus(tmp_path, port) as server, open_index(server.uri) as index:
        assert not is_of_corpus(index, ENCODER, CORPUS, len(ROWS))


def open_index(uri):
    return ArchitectureIndex(IndexConfig(uri=uri, alias="restarted"))


@on_both
def test_a_bulk_load_is_taken_back_and_again(index, config):
    load(index, ROWS[:3])
    before = go_back(index.live.milvus, config.alias)
    index.follow()
    assert (index.live.name, index.count()) == (before.name, len(ROWS))
    assert len(index.search(np.eye(1, DIM, dtype=np.float32), 100)[0]) == len(ROWS)
    go_back(index.live.milvus, config.alias)
    index.follow()
    assert index.count() == 3


@pytest.mark.slow
@on_both
def test_one_collection_is_kept_and_the_one_before_it_goes(index):
    first = index.live.name
    load(index, ROWS[:2])
    second = index.live.name
    load(index, ROWS[:3])
    names = index.live.milvus.client.list_collections()
    assert (first in names, second in names) == (False, True)


def test_without_a_collection_before_there_is_nothing_to_go_back_to(index, config):
    with pytest.raises(IndexUnavailableError, match="no collection is kept from before"):
        go_back(index.live.milvus, config.alias)
