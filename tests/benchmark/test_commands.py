"""`python -m benchmark`: one cell, as a table and as JSON, and the pages made of many."""

import json

import pytest
from typer.testing import CliRunner

from benchmark.commands import app

CELL = ("cell", "real", "copies", "size")


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.slow
def test_a_cell_is_run_and_told(tmp_path):
    done = run(*CELL, "--seed", "1", "--work", str(tmp_path), "--json")
    told = json.loads(done.stdout)
    assert (told["method"], told["split"], told["seed"]) == ("size", "copies", 1)
    assert told["protocols"].keys() == {
        "twins",
        "twins-differing",
        "rewrites",
        "rewrites-differing",
        "rewrites-design",
    }
    reached = told["protocols"]["twins"]["scores"]["mrr@20"]["mean"]
    assert 0.3 < reached < 0.9
    only = ("--seed", "1", "--protocol", "twins", "--work", str(tmp_path))
    table = run(*CELL, *only).stdout
    assert f"{reached:.3f}" in table
    assert "real.copies.size.1" in table
    assert "rewrites" not in table


@pytest.mark.slow
def test_what_selects_a_model_is_not_what_is_tested(tmp_path):
    held = json.loads(run(*CELL, "--work", str(tmp_path), "--validation", "--json").stdout)
    test = json.loads(run(*CELL, "--work", str(tmp_path), "--json").stdout)
    assert (held["held"], test["held"]) == ("validation", "test")
    counts = [told["protocols"]["twins"]["queries"] for told in (held, test)]
    assert counts[0] < counts[1]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (("real", "copies", "magic"), "method: wanted one of random, size"),
        (("real", "hearsay", "size"), "split: wanted one of paper, distinct"),
        (("unreal", "copies", "size"), "data: wanted one of real, nas-2"),
    ],
)
def test_what_there_is_not_is_one_line(tmp_path, cell, message):
    done = run("cell", *cell, "--work", str(tmp_path))
    assert done.exit_code == 1
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_what_is_made_of_many_cells_has_a_command_each():
    told = run("--help").stdout
    for name in (
        "cell", "novelty", "misses", "targets", "parts-of", "rewriting", "freeze",
        "rewritten", "edited", "draw-edited", "run", "speed", "campaign", "pictures",
    ):  # fmt: skip
        assert name in told


@pytest.mark.slow
def test_misses_of_cells_that_were_not_run_are_said_to_be_missing(tmp_path):
    done = run("misses", "--results", str(tmp_path), "--work", str(tmp_path))
    assert done.exit_code == 1
    assert "real.distinct.default.0.parquet holds no cell" in done.stderr.replace("\n", "")
