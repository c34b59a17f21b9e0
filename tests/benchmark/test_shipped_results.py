"""The numbers of results/: run again, a row of a table is what stands there, or it says its age."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.cells import run_on
from benchmark.reporting.rows import rows_of
from benchmark.reporting.sets import find_set
from benchmark.targets import OLDER, is_older
from nar.corpus import shipped_corpus
from nar.corpus.manifest import Manifest

PROTOCOL = "distinct-named"
RESULTS = Path(__file__).parents[2] / "results"
TABLES = sorted(path for path in RESULTS.glob("*.json") if "parts" in json.loads(path.read_text()))


def shipped():
    return Manifest.read(shipped_corpus()).digest


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_a_table_of_another_corpus_says_so(table):
    is_of_another = json.loads(table.read_text())["corpus"] != shipped()
    assert (OLDER in table.with_suffix(".md").read_text()) == is_of_another


def test_pages_made_of_tables_say_it_too():
    assert (OLDER in (RESULTS / "targets.md").read_text()) == is_older(RESULTS)


def reproduced(rows, real_task):
    """The row of a simple method, run again, beside the row that stands there."""
    stands = next(row for row in rows if row["method"] == "operators")
    cells = find_set("distinct").cells_of("real", PROTOCOL, "operators")
    results = [answered(cell, real_task(cell.split, cell.seed)) for cell in cells]
    return rows_of([results], "map@20")[0].to_dict(), stands


def answered(cell, task):
    """A cell that is asked this alone."""
    asked = task.asked[PROTOCOL]
    return run_on(cell, replace(task, asked={PROTOCOL: asked})).scored(asked)


@pytest.mark.slow
def test_a_row_that_is_run_again_is_the_row_that_stands_there(real_task):
    table = json.loads((RESULTS / "distinct.json").read_text())
    again, stands = reproduced(table["parts"][0]["rows"], real_task)
    assert again["scores"].keys() == stands["scores"].keys()
    if table["corpus"] != shipped():
        # Other graphs, other ids: the same method reaches about as much, and no more is held.
        assert again["scores"]["map@20"]["mean"] == pytest.approx(
            stands["scores"]["map@20"]["mean"], abs=0.1
        )
        return
    assert (again["queries"], again["gallery"]) == (stands["queries"], stands["gallery"])
    for metric, values in again["scores"].items():
        assert values == pytest.approx(stands["scores"][metric], abs=1e-6)
