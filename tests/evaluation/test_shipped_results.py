"""The numbers of results/: run again, a row of a table is what stands there."""

import json
from pathlib import Path

import pytest

from nar.evaluation.cells import questions_of, run_cell
from nar.evaluation.reporting.rows import rows_of
from nar.evaluation.reporting.sets import find_set

TABLE = Path(__file__).parents[2] / "results" / "distinct.json"


def test_a_row_that_is_run_again_is_the_row_that_stands_there(tmp_path):
    rows = json.loads(TABLE.read_text())["parts"][0]["rows"]
    stands = next(row for row in rows if row["method"] == "operators")
    cells = find_set("distinct").cells_of("real", "distinct", "operators")
    results = [
        run_cell(cell, cache_directory=tmp_path).scored(
            questions_of(cell, cache_directory=tmp_path)
        )
        for cell in cells
    ]
    again = rows_of([results], "distinct")[0].to_dict()
    assert (again["queries"], again["gallery"]) == (stands["queries"], stands["gallery"])
    assert again["scores"].keys() == stands["scores"].keys()
    for metric, values in again["scores"].items():
        assert values == pytest.approx(stands["scores"][metric], abs=1e-6)
