"""The numbers on the front page are those of the tables."""

from pathlib import Path

import pytest

from nar.evaluation.reporting.tables import read_part

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("asked", "table", "protocol", "metric"),
    [
        ("designs never seen, of families seen", "distinct", "distinct-named", "map@20"),
        ("families never seen", "unseen", "unseen-named", "map@20"),
        ("the same design in another library (MRR@20)", "twins", "twins", "mrr@20"),
        ("a changed model finds its family first", "edits", "edits-family", "success@1"),
        ("a part of a model has its original among five", "parts", "parts-original", "success@5"),
    ],
)
def test_a_line_of_the_front_page_says_what_its_table_says(asked, table, protocol, metric):
    rows = read_part(ROOT / "results", table, "real", protocol)["rows"]
    scores = {row["method"]: row["scores"][metric] for row in rows}
    ours = scores["default"]
    untrained = max(scores[row["method"]]["mean"] for row in rows if not row["learns"])
    lines = (ROOT / "README.md").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"| {asked} |"))
    _, _, reached, best, linear, _ = (cell.strip() for cell in line.split("|"))
    assert reached == f"{ours['mean']:.3f} ({ours['low']:.3f}-{ours['high']:.3f})"
    assert best.split(",")[0] == f"{untrained:.3f}"
    assert linear == f"{scores['linear']['mean']:.3f}"
