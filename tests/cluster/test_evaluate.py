"""The benchmark on Ray: cells run in parallel, are kept, and run again when they have to."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from benchmark.cells import Cell, cell_path, content_of, questions_of, read_cell
from benchmark.commands import app
from benchmark.methods.registry import METHODS
from benchmark.reporting import sets
from benchmark.running import chosen_cells, content, data_digest, evaluate
from benchmark.tasks.frozen import SEEDS
from cluster.config import EvaluateConfig
from nar.base.errors import InvalidInputError
from nar.base.workspace import Workspace

CELLS = [Cell("real", "copies", method, seed) for method in ("random", "size") for seed in (0, 1)]
DATA = "any"


@pytest.mark.ray
def test_the_command_writes_a_table_and_runs_again_what_is_gone(tmp_path, ray_cluster, monkeypatch):
    small = sets.CellSet("Small", (("real", "twins"),), ("random", "size"))
    monkeypatch.setattr(sets, "SETS", {"twins": small})
    options = ["run", "twins", "--work", str(tmp_path), "--results", str(tmp_path / "results")]
    done = CliRunner().invoke(app, [*options, "--workers", "1", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["ran"] == 10
    table = json.loads((tmp_path / "results" / "twins.json").read_text())
    assert [row["method"] for row in table["parts"][0]["rows"]] == ["random", "size"]
    assert "size only" in (tmp_path / "results" / "twins.md").read_text()

    kept = Workspace(tmp_path).evaluation
    paths = [cell_path(kept, cell) for cell in CELLS]
    assert [read_cell(path).cell for path in paths] == CELLS
    asked = [questions_of(cell, cache_directory=kept)["twins"] for cell in CELLS]
    results = [read_cell(path).scored(each) for path, each in zip(paths, asked, strict=True)]
    random, _, size, _ = (result.scored.values["mrr@20"].mean() for result in results)
    assert size > random
    assert [content_of(path) for path in paths] == [content(cell, data_digest()) for cell in CELLS]

    # A cell that fails is named, and the rest is kept.
    wrong = Cell("real", "no-such-split", "random", 0)
    paths[1].write_bytes(b"damaged")
    again = evaluate([*CELLS, wrong], kept, EvaluateConfig(num_workers=1))
    assert (again.ran, again.kept) == (1, 3)
    assert read_cell(paths[1]).cell == CELLS[1]
    assert list(again.failures) == [str(wrong)]
    assert "wanted one of paper, distinct" in again.failures[str(wrong)]


def test_a_cell_is_run_anew_when_its_method_says_so(monkeypatch):
    cell = CELLS[0]
    before, other = content(cell, DATA), content(CELLS[1], DATA)
    changed = replace(METHODS["random"], version=2)
    monkeypatch.setitem(METHODS, "random", changed)
    assert content(cell, DATA) != before
    monkeypatch.setitem(METHODS, "random", replace(changed, version=1, settings="dim=8"))
    assert content(cell, DATA) != before
    monkeypatch.undo()
    assert (content(cell, DATA), content(CELLS[1], DATA)) == (before, other)


def test_a_new_metric_or_another_module_runs_no_cell_anew(monkeypatch):
    before = [content(cell, DATA) for cell in CELLS]
    monkeypatch.setattr("benchmark.scoring.metrics.METRICS", ())
    monkeypatch.setattr("benchmark.methods.baselines.__name__", "benchmark.moved")
    assert [content(cell, DATA) for cell in CELLS] == before


def test_the_command_takes_sets_methods_and_seeds():
    cells = chosen_cells(["distinct", "unseen"], method=["default"], seed=[0, 2])
    assert cells == [
        Cell("real", split, "default", seed) for split in ("distinct", "unseen") for seed in (0, 2)
    ]
    of_one = chosen_cells(["distinct", "unseen"], split=["unseen"], method=["default"], seed=[])
    assert of_one == [Cell("real", "unseen", "default", seed) for seed in SEEDS]
    with pytest.raises(InvalidInputError, match="table1"):
        chosen_cells(["table9"])


def test_what_no_cell_is_of_is_refused_with_what_there_is():
    wanted = r"method: wanted one of random, .*, came 'defualt'"
    with pytest.raises(InvalidInputError, match=wanted):
        chosen_cells(["twins"], method=["default", "defualt"])
    with pytest.raises(InvalidInputError, match="split: wanted one of copies, came 'twins'"):
        chosen_cells(["twins", "rewrites"], split=["twins"])


def test_an_unknown_set_is_one_line_with_the_way_out():
    done = CliRunner().invoke(app, ["run", "table9"])
    assert done.exit_code == 1
    assert "wanted one of table1" in done.stderr
