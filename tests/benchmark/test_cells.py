"""Cells: run on a small task, kept as files, read back as they were."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from tasks import small_task

from benchmark import cells
from benchmark.cells import (
    Cell,
    CellResult,
    content_of,
    read_cell,
    read_sample,
    run_cell,
    run_on,
    write_cell,
)
from benchmark.methods import macro, paper
from benchmark.methods.registry import METHODS
from benchmark.tasks.questions import questions
from nar.base.errors import CorpusError, InvalidInputError
from nar.encoding import training


@pytest.fixture(autouse=True)
def one_thread():
    """Small matrices: threads would wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def reached(ranked) -> CellResult:
    return ranked.scored(ASKED)


CELL = Cell("small", "paper", "codes-2-presence", 0)
ASKED = small_task().asked["family"]


def test_a_cell_reads_back_as_it_was(tmp_path):
    result = run_on(CELL, small_task())
    path = tmp_path / "cells" / "one.parquet"
    write_cell(path, result, content="abc")
    again = read_cell(path)
    assert (again.cell, again.dim, again.learned) == (CELL, result.dim, 0)
    one, other = (each.ranking(ASKED) for each in (result, again))
    assert (one.items == other.items).all()
    assert (one.nearest == other.nearest).all()
    one, other = (each.scored(ASKED).scored for each in (result, again))
    assert (one.queries, one.clusters) == (other.queries, other.clusters)
    assert (one.values["map@20"] == other.values["map@20"]).all()
    assert content_of(path) == "abc"


def test_protocols_that_ask_the_same_share_a_ranking_and_others_do_not(tmp_path):
    task = small_task()
    elsewhere = np.arange(9) % 3 == 0
    asked = {
        "family": ASKED,
        "halves": questions(ASKED.ids, ["a", "b", "b"] * 3, queries=ASKED.queries),
        "others": questions(ASKED.ids, ["a", "a", "b"] * 3, queries=elsewhere),
    }
    path = tmp_path / "one.parquet"
    write_cell(path, run_on(CELL, replace(task, asked=asked)))
    again = read_cell(path)
    assert len(again.rankings) == 2
    assert again.ranking(asked["halves"]) is again.ranking(ASKED)
    assert again.scored(asked["others"]).scored.queries == tuple(ASKED.ids[i] for i in (0, 3, 6))


def test_a_cell_that_answers_other_questions_says_so():
    other = questions(["1", "2"], ["a", "a"])
    with pytest.raises(InvalidInputError, match="delete its file, then run it again"):
        run_on(CELL, small_task()).scored(other)


def test_some_vectors_stand_beside_a_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "SAMPLED_ITEMS", 4)
    task, path = small_task(), tmp_path / "one.parquet"
    drawn = {}
    for method in ("random", "size"):
        write_cell(path, run_on(replace(CELL, method=method), task))
        drawn[method] = read_sample(path)
        assert (drawn[method].of, len(drawn[method].names)) == (9, 4)
    assert drawn["random"].names == drawn["size"].names
    rows = [ASKED.ids.index(name) for name in drawn["size"].names]
    assert (drawn["size"].vectors == METHODS["size"].embed(task)[rows]).all()


def test_vectors_that_are_not_there_are_named(tmp_path):
    with pytest.raises(CorpusError, match=r"no vectors beside .*one\.parquet"):
        read_sample(tmp_path / "one.parquet")


def test_a_damaged_cell_is_named_and_run_again(tmp_path):
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"no parquet")
    assert content_of(path) is None
    assert content_of(tmp_path / "missing.parquet") is None
    with pytest.raises(CorpusError, match=r"bad\.parquet holds no cell"):
        read_cell(path)


def test_an_unknown_method_is_refused_with_all_names(tmp_path):
    with pytest.raises(InvalidInputError, match="codes-2-presence"):
        run_cell(Cell("real", "paper", "magic", 0), cache_directory=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_embeds_every_graph(method, monkeypatch):
    for networks in (paper, macro):
        monkeypatch.setattr(networks, "NAS_NETWORKS", 20)
    # What it learns is not looked at: two epochs of each stage take all its ways.
    all_epochs = training._epochs
    monkeypatch.setattr(training, "_epochs", lambda *stage: islice(all_epochs(*stage), 2))
    task = small_task()
    result = run_on(Cell("small", "paper", method, 0), task)
    assert len(result.ranking(ASKED).queries) == 3
    assert result.learned == (len(task.train) if METHODS[method].learns else 0)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "gcn", "paper"])
def test_the_same_seed_gives_the_same_vectors(method):
    task = small_task()
    embed = METHODS[method].embed
    assert (embed(task) == embed(task)).all()
    assert (embed(task) != embed(replace(task, seed=1))).any()


def test_training_brings_a_family_together():
    cell = Cell("small", "paper", "gcn", 0)
    assert reached(run_on(cell, small_task())).scored.values["map@20"].mean() == 1.0
