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


def cells_of(page, first, heading=""):
    """Cells of the first row of a page, below a heading, that begins with these texts."""
    text = (ROOT / "results" / page).read_text()
    text = text[text.index(heading) :]
    rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines())
    return next(row for row in rows if tuple(row[: len(first)]) == first)


def percent(cell):
    return f"{100 * float(cell.split()[0]):.0f}"


def test_concepts_say_of_verdicts_what_their_table_says():
    _, queries, said, right = cells_of("verdicts.md", ("a family of the atlas",), "## Test")
    foreign = cells_of("verdicts.md", ("a member of a family that does not answer",), "## Test")
    told = sum(float(cell.split()[0]) for cell in foreign[4:6])
    text = " ".join((ROOT / "docs" / "concepts.md").read_text().split())
    assert (
        f"Of {queries} test designs whose family the atlas has, {percent(said)}% get a family as "
        f"their own, rightly in {percent(right)} of 100 answers; of designs of other families "
        f"{told:.0%} get a family"
    ) in text


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("designs of families never seen", "a design of a family never seen reads {}"),
        ("parts of known models", "a part of a known model {}"),
        ("edits of known models", "an edit {}"),
        ("new designs of known families", "a new member of a known family {}"),
    ],
)
def test_concepts_say_of_novelty_what_its_table_says(kind, sentence):
    _, _, median, *_ = cells_of("calibration.md", (kind,))
    text = " ".join((ROOT / "docs" / "concepts.md").read_text().split())
    assert sentence.format(median) in text


def test_the_page_of_the_cluster_says_what_an_own_encoder_gains():
    shipped, few, many = (
        cells_of("own_encoder.md", ("12", encoder))[2]
        for encoder in ("shipped", "pretrained on 100", "pretrained on 1,000")
    )
    text = " ".join((ROOT / "docs" / "cluster.md").read_text().split())
    assert f"(MAP@20 {few} for {shipped}; {many} with 1,000)" in text
