"""Results: what a set shows is written, and what is missing or damaged is named."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmark.cells import RankedCell, Sample, cell_path, write_cell
from benchmark.reporting import figures, results, sets
from benchmark.reporting.results import write_results
from benchmark.reporting.sets import CellSet
from benchmark.scoring.ranking import best_ranking
from benchmark.tasks.datasets import REAL
from nar.base.errors import CorpusError

pytestmark = pytest.mark.slow


@pytest.fixture
def small(monkeypatch, tmp_path, real, real_task):
    """A set whose cells are written, and where they are."""
    chosen = CellSet(
        "Small",
        ((REAL, "paper"), (REAL, "family")),
        ("size", "default"),
        shows=("table", "maps"),
        seeds=(0,),
    )
    monkeypatch.setattr(sets, "SETS", {"small": chosen})
    names = tuple(card.labels.name for card in real.cards[:8])
    asked = real_task("paper", 0).asked
    every = {
        each.digest(): best_ranking(each, np.arange(len(each.ids)), depth=100)
        for each in asked.values()
    }
    for cell in chosen.cells():
        sample = Sample(names, np.eye(8, dtype=np.float32), 20)
        write_cell(cell_path(tmp_path, cell), RankedCell(cell, every, 0, 8, 1.0, sample))
    return tmp_path


def test_a_set_writes_its_table_and_its_maps(small, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "tsne", lambda vectors: vectors[:, :2])
    draw = results.neighbourhood_map
    monkeypatch.setattr(
        results,
        "neighbourhood_map",
        lambda path, panels: drawn.extend(panels) or draw(path, panels),
    )
    write_results(tmp_path / "results", "small", small)
    told = json.loads((tmp_path / "results" / "small.json").read_text())
    assert [part["protocol"] for part in told["parts"]] == ["paper", "family"]
    for part in told["parts"]:
        assert [row["method"] for row in part["rows"]] == ["size", "default"]
        assert part["rows"][0]["scores"]["map@20"]["mean"] == 1.0
        assert 0.99 < part["ceiling"]["scores"]["map@20"]["mean"] <= 1.0
    assert (tmp_path / "results" / "small.png").read_bytes().startswith(b"\x89PNG")


def test_a_map_says_how_many_are_drawn_and_shows_the_papers_classes(small, real):
    cell = sets.SETS["small"].cells()[0]
    panel = results._panel(cell, small)
    assert panel.title == "size only, real: 8 of 20"
    assert panel.classes == tuple(card.paper_block for card in real.cards[:8])


def test_without_the_method_that_all_are_compared_with_nothing_is_written(small, tmp_path):
    cells = sets.SETS["small"].cells()
    cell_path(small, cells[1]).unlink()
    with pytest.raises(CorpusError, match="small lacks cells of default; run them with"):
        write_results(tmp_path / "results", "small", small)
    assert not (tmp_path / "results").exists()


def test_another_method_that_lacks_a_cell_is_left_out_and_named(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sets.SETS, "small", replace(sets.SETS["small"], shows=("table",)))
    cell_path(small, sets.SETS["small"].cells()[0]).unlink()
    write_results(tmp_path / "results", "small", small)
    assert "Not run yet: size only." in (tmp_path / "results" / "small.md").read_text()


@pytest.fixture
def two_splits(small, real_task, tmp_path, monkeypatch):
    """The table of a set that learns two splits, written once, and where its files are."""
    chosen = replace(sets.SETS["small"], tasks=((REAL, "paper"), (REAL, "twins")), shows=("table",))
    monkeypatch.setitem(sets.SETS, "small", chosen)
    asked = real_task("copies", 0).asked["twins"]
    every = {asked.digest(): best_ranking(asked, np.arange(len(asked.ids)), depth=100)}
    for cell in chosen.cells():
        if cell.split == "copies":
            write_cell(cell_path(small, cell), RankedCell(cell, every, 0, 8, 1.0))
    write_results(tmp_path / "results", "small", small)
    return tmp_path / "results"


def test_parts_of_one_split_are_written_and_the_others_stay(small, two_splits):
    before = {path: path.read_text() for path in two_splits.iterdir()}
    for cell in sets.SETS["small"].cells():
        if cell.split == "paper":
            cell_path(small, cell).unlink()
    write_results(two_splits, "small", small, ["copies"])
    assert {path: path.read_text() for path in two_splits.iterdir()} == before


def test_a_part_that_answers_other_questions_does_not_stay(small, two_splits):
    path = two_splits / "small.json"
    told = json.loads(path.read_text())
    told["parts"][0]["ceiling"]["queries"] += 1
    path.write_text(json.dumps(told))
    with pytest.raises(CorpusError, match="real, paper asks today; run its split as well: paper"):
        write_results(two_splits, "small", small, ["copies"])
    path.unlink()
    with pytest.raises(CorpusError, match=r"small\.json holds no answers"):
        write_results(two_splits, "small", small, ["copies"])


def test_a_damaged_cell_is_refused(small, tmp_path):
    path = cell_path(small, sets.SETS["small"].cells()[0])
    path.write_bytes(b"no cell")
    with pytest.raises(CorpusError, match=path.name):
        write_results(tmp_path / "results", "small", small)
