"""The numbers on the front page and in the findings are those of the tables."""

from pathlib import Path

import pytest

from benchmark.reporting.sets import SETS
from benchmark.reporting.tables import read_part

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


def summary():
    """Protocol, metric and numbers of every line of the findings under "In short"."""
    text = (ROOT / "results" / "findings.md").read_text()
    lines = text.split("## In short")[1].split("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    return [line for line in cells if line[0] not in {"protocol", "---"}]


@pytest.mark.parametrize("line", summary(), ids=lambda line: "-".join(line[:2]))
def test_a_line_of_the_summary_says_what_its_table_says(line):
    protocol, metric, reached, linear, untrained, ceiling = line
    (table,) = (
        name
        for name, chosen in SETS.items()
        if ("real", protocol) in chosen.tasks
        and chosen.held == "test"
        and "linear" in chosen.methods
    )
    part = read_part(ROOT / "results", table, "real", protocol)
    key = {"first right": "success@1"}.get(metric, metric.lower())
    scores = {row["method"]: row["scores"][key] for row in part["rows"]}
    ours = scores["default"]
    best = max(
        (row for row in part["rows"] if not row["learns"]),
        key=lambda row: row["scores"][key]["mean"],
    )
    assert reached == f"{ours['mean']:.3f} ({ours['low']:.3f}-{ours['high']:.3f})"
    assert linear == f"{scores['linear']['mean']:.3f}"
    assert untrained == f"{best['scores'][key]['mean']:.3f}, {best['title']}"
    assert ceiling == f"{part['ceiling']['scores'][key]['mean']:.3f}"
