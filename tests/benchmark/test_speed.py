"""Figures of a benchmark beside the stored ones."""

import json
import sys

import pytest

from benchmark.speed import measure

STORED = [
    {"of": "numpy", "p50 / p99": "2.0 / 4.0", "nodes/s": "1,000", "note": "-"},
    {"of": "nar", "p50 / p99": "1.0 / 2.0", "nodes/s": "500", "note": 0},
    {"of": "nar", "p50 / p99": "8.0 / 9.0", "nodes/s": "10", "note": "x"},
]


def test_every_number_is_divided_by_the_stored_one_of_its_row_and_column():
    now = [
        {"of": "numpy", "p50 / p99": "3.0 / 4.0", "nodes/s": "1,500", "note": "-"},
        {"of": "new", "p50 / p99": "1.0 / 1.0", "nodes/s": "1", "note": "-"},
        {"of": "nar", "p50 / p99": "0.5 / 2.0", "nodes/s": 500, "note": 7},
        {"of": "nar", "p50 / p99": "8.0", "nodes/s": "5", "note": "x"},
    ]
    assert [list(row.values()) for row in measure.ratios(now, STORED)] == [
        ["numpy", "1.50 / 1.00", "1.50", "-"],
        ["new", "-", "-", "-"],
        ["nar", "0.50 / 1.00", "1.00", "-"],
        ["nar", "-", "0.50", "-"],
    ]


def test_what_is_kept_is_what_the_next_run_is_compared_with(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(measure, "STORED", tmp_path)
    monkeypatch.setattr(sys, "argv", ["some.py", str(tmp_path / "some.json")])
    measure.report("Some", STORED)
    assert "ratios" not in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["some.py"])
    measure.report("Some", STORED)
    said = " ".join(capsys.readouterr().out.split())
    assert "as ratios of what some.json has stored" in said


@pytest.mark.parametrize("path", sorted(measure.STORED.glob("*.json")), ids=lambda path: path.stem)
def test_stored_figures_are_of_a_benchmark_that_exists(path):
    stored = json.loads(path.read_text())
    assert stored["rows"]
    assert stored["date"]
    assert (measure.STORED.parents[1] / f"benchmark/speed/{path.stem}.py").exists()
