"""Tables: what a reader finds in them, from cells whose every query reached what its method did."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmark.cells import CellResult
from benchmark.methods.registry import find_method
from benchmark.reporting.rows import printed_rows
from benchmark.reporting.sets import SETS, find_set
from benchmark.reporting.tables import DEFINITIONS, write_table
from benchmark.scoring import metrics
from benchmark.scoring.evaluate import Scored, summarise
from benchmark.tasks.datasets import REAL
from benchmark.tasks.frozen import SEEDS
from benchmark.tasks.protocols import PROTOCOLS
from benchmark.tasks.task import protocols_of
from nar.base.errors import InvalidInputError

QUERIES, FAMILIES = ("a", "b", "c"), ("x", "x", "y")
MEASURED = [name for metric in metrics.METRICS for name in metric.names()]
# Of table 3; the two losses are alike but for one family.
REACHED = {"paper-ce": [0.5, 0.5, 0.5], "paper-cl": [0.1, 0.1, 0.4], "paper": [0.5, 0.5, 0.5]}


def pooled(name):
    """A set as if every method was run with every seed."""
    return replace(find_set(name), seeds=SEEDS, network_seeds=len(SEEDS))


def cells(name, reached, queries=QUERIES):
    """What came of a set whose methods reach the same on every task, seed and metric."""
    results = {}
    for cell in pooled(name).cells():
        values = np.array(reached.get(cell.method, [0.25] * 3))
        scored = Scored(queries, FAMILIES, 7, dict.fromkeys(MEASURED, values))
        for protocol in protocols_of(cell.data, cell.split):
            result = CellResult(cell, scored, 10 + cell.seed, 1024, 1.0 + cell.seed)
            results[cell, protocol] = result
    return results


def ceilings(name):
    """As if a perfect ranking reached 0.99 on every task."""
    perfect = Scored(QUERIES, FAMILIES, 7, dict.fromkeys(MEASURED, np.full(3, 0.99)))
    return dict.fromkeys(pooled(name).tasks, summarise([perfect]))


def table(directory, name, reached, queries=QUERIES):
    found = cells(name, reached, queries)
    write_table(directory / "results", name, pooled(name), found, ceilings(name))
    told = json.loads((directory / "results" / f"{name}.json").read_text())
    return (directory / "results" / f"{name}.md").read_text(), told


def lines(text, title):
    """The columns of each row of that title."""
    rows = [[part.strip() for part in line.strip("| ").split(" | ")] for line in text.splitlines()]
    return [row[1:] for row in rows if row[0] == title]


def test_it_says_what_the_numbers_mean_and_how_to_get_them(tmp_path):
    text, told = table(tmp_path, "table3", REACHED)
    assert text.startswith("# Table 3: parts of the loss\n")
    assert "python -m benchmark run table3 --results results" in text
    assert all(f"- {each}" in text for each in (*DEFINITIONS, *told["definitions"]))
    assert "the paper's Table 3" in text
    assert [part["asked"] in text for part in told["parts"]] == [True, True]
    asked = "15 queries of 2 families over 5 seeds; 7 may answer. Ceiling of MAP@20: 0.990."
    assert text.count(asked) == 2
    assert told["parts"][0]["ceiling"]["scores"]["map@20"]["mean"] == pytest.approx(0.99)


def test_who_was_run_with_fewer_seeds_says_so_and_does_not_compete(tmp_path):
    few = {**REACHED, "paper-cl": [0.9, 0.9, 0.9]}
    found = {
        (cell, protocol): result
        for (cell, protocol), result in cells("table3", few).items()
        if cell.method != "paper-cl" or cell.seed == 3
    }
    write_table(tmp_path, "table3", pooled("table3"), found, ceilings("table3"))
    text = (tmp_path / "table3.md").read_text()
    assert lines(text, "NAR paper, CL alone (1 seed)")[0][0] == "0.900"
    assert lines(text, "NAR paper")[0][0] == "**0.500**"
    row = next(
        row
        for row in json.loads((tmp_path / "table3.json").read_text())["parts"][0]["rows"]
        if row["method"] == "paper-cl"
    )
    assert (row["seeds"], row["difference"]["mean"]) == (1, pytest.approx(0.4))


def test_seeds_are_pooled_into_a_row_a_method(tmp_path):
    text, told = table(tmp_path, "table3", REACHED)
    of_real, of_nas = lines(text, "NAR paper, CL alone")[::2]
    assert of_real == [*["0.200"] * 9, "0.100 to 0.400", "0.250", "1,024", "3.0"] == of_nas
    row = next(row for row in told["parts"][0]["rows"] if row["method"] == "paper-cl")
    assert row["learns"]
    assert (row["seeds"], row["queries"], row["dim"], row["learned"]) == (5, 15, 1024, 12)
    assert row["scores"]["map@20"]["mean"] == pytest.approx(0.2)
    assert [part["data"] for part in told["parts"]] == [REAL, "nas-4"]


def test_the_best_of_a_column_is_bold_and_so_is_its_equal(tmp_path):
    text, _ = table(tmp_path, "table3", REACHED)
    for title in ("NAR paper, CE alone", "NAR paper"):
        *means, _, macro = lines(text, title)[0][:11]
        assert {*means, macro} == {"**0.500**"}
    assert text.count("**") == 2 * 2 * 10 * 2  # ends, equals, columns, tasks


def test_printed_rows_stand_below_ours_and_are_never_bold(tmp_path):
    text, told = table(tmp_path, "table3", REACHED)
    of_real, of_nas = lines(text, "printed: CE+CL")
    assert of_real[:3] == ["0.825", "0.826", "0.826"]
    assert of_nas[:3] == ["1.000", "1.000", "1.000"]
    assert text.index("| NAR paper |") < text.index("| printed: CE |")
    assert [row["title"] for row in told["parts"][1]["printed"]] == [
        "printed: CE",
        "printed: CL",
        "printed: CE+CL",
    ]
    assert told["parts"][0]["printed"][1]["scores"]["ndcg@100"] == 0.451


@pytest.mark.parametrize(
    ("number", "data", "titles"),
    [
        (1, REAL, ["printed: GCN", "printed: GAT", "printed: NAR"]),
        (1, "nas-8", []),
        (None, REAL, []),
        (2, "nas-4", [f"printed: {row}" for row in ("NODE NUM", "MOTIF NUM", "RANDOM", "NAR")]),
    ],
)
def test_printed_rows_are_those_of_table_and_data(number, data, titles):
    assert [row.title for row in printed_rows(number, data)] == titles


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_printed_row_is_compared_with_a_row_of_ours(number):
    methods = pooled(f"table{number}").methods
    for data in (REAL, "nas-4"):
        assert {row.method for row in printed_rows(number, data)} <= set(methods)


def test_it_says_by_how_much_ours_differ_from_the_printed_numbers(tmp_path):
    text, _ = table(tmp_path, "table3", REACHED)
    of_real, _of_nas = lines(text, "NAR paper, CL alone, less printed: CL")
    assert of_real == [
        "-0.365",
        "-0.372",
        "-0.373",
        "-0.134",
        "-0.148",
        "-0.173",
        "-0.302",
        "-0.255",
        "-0.251",
    ]


@pytest.mark.slow
def test_a_set_of_ours_alone_quotes_nobody(tmp_path):
    text, told = table(tmp_path, "distinct", {})
    assert "Rows marked `printed`" not in text
    assert told["parts"][0]["printed"] == []


def test_the_best_that_learns_nothing_is_named(tmp_path):
    text, _ = table(tmp_path, "family", {"operators": [0.3] * 3, "gcn": [0.4] * 3})
    assert "Best untrained baseline, by MAP@20: bag of operators, 0.300." in text


def test_differences_are_to_the_last_method_and_none_where_they_may_be_chance(tmp_path):
    reached = {"paper-ce": [0.6, 0.6, 0.3], "paper-cl": [0.4, 0.4, 0.3], "paper": [0.5] * 3}
    text, told = table(tmp_path, "table3", reached)
    assert "Differences: MAP@20 less that of NAR paper," in text
    assert lines(text, "NAR paper, CE alone")[1] == ["none", "-0.200 to 0.100"]
    assert lines(text, "NAR paper, CL alone")[1] == ["-0.133", "-0.200 to -0.100"]
    assert len(lines(text, "NAR paper")) == 2  # one a task: it is not compared with itself
    found = {row["method"]: row["difference"] for row in told["parts"][0]["rows"]}
    assert found["paper-cl"]["mean"] == pytest.approx(-0.4 / 3)
    assert found["paper"] is None


def test_the_same_cells_give_the_same_files(tmp_path):
    found = cells("table3", REACHED)
    for directory, given in (("one", found), ("two", dict(reversed(found.items())))):
        chosen = pooled("table3")
        write_table(tmp_path / directory, "table3", chosen, given, ceilings("table3"))
    for ending in ("md", "json"):
        one, two = (tmp_path / name / f"table3.{ending}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_an_unknown_set_is_refused():
    with pytest.raises(InvalidInputError, match="table9"):
        pooled("table9")


def test_methods_that_were_not_run_are_named(tmp_path):
    chosen = replace(pooled("table3"), methods=("paper-untrained", "paper"))
    write_table(tmp_path, "table3", chosen, cells("table3", REACHED), ceilings("table3"))
    text = (tmp_path / "table3.md").read_text()
    assert "Not run yet: NAR paper, CL alone, as printed, NAR paper, as printed" in text
    assert json.loads((tmp_path / "table3.json").read_text())["not_run"][-1] == "paper-cl"


def test_every_protocol_stands_in_a_table_and_is_explained_there():
    tasks = {task for chosen in SETS.values() for task in chosen.tasks}
    assert {protocol for data, protocol in tasks if data == REAL} == PROTOCOLS.keys() - {"novelty"}


@pytest.mark.parametrize("name", [name for name in SETS if "table" in SETS[name].shows])
def test_every_table_has_a_row_that_learns_nothing(name):
    assert not all(find_method(method).learns for method in SETS[name].methods)


def test_rewrites_are_judged_by_the_first_answer_and_told_apart(tmp_path):
    queries = ("timm:a@renumbered", "timm:a@depth_1", "timm:b@renumbered")
    reached = {"default": [1.0, 0.5, 0.9]}
    text, told = table(tmp_path, "rewrites", reached, queries)
    header = next(line for line in text.splitlines() if line.startswith("| method | First right |"))
    assert header.endswith("| First right, 95% | First right, macro | dim | seconds |")
    assert "Best untrained baseline, by First right: random, 0.250." in text
    assert lines(text, "renumbered") == [["10", "0.250", "0.950"]] * 3
    assert lines(text, "depth_1") == [["5", "0.250", "0.500"]] * 3
    assert told["parts"][0]["rows"][-1]["kinds"]["depth_1"] == {"queries": 5, "mean": 0.5}


def test_twins_are_judged_by_the_place_of_the_first(tmp_path):
    text, _ = table(tmp_path, "twins", {})
    assert "| MRR@20, 95% | MRR@20, macro |" in text
