"""What was aimed at beside what was reached: read off the tables, nothing made up."""

import json
from pathlib import Path

import pytest

from benchmark.reporting.sets import EVERY, SETS, find_set
from benchmark.scoring.metrics import METRICS
from benchmark.targets import CHANGES, FIRST, TARGETS, as_markdown

RESULTS = Path(__file__).parents[2] / "results"
MEASURED = [name for metric in METRICS for name in metric.names()]


def row(method, mean, **kinds):
    score = {"mean": mean, "low": mean - 0.01, "high": mean + 0.01}
    told = {name: {"queries": 1, "mean": value} for name, value in kinds.items()}
    return {
        "method": method,
        "title": f"the {method}",
        "learns": method != "size",
        "scores": dict.fromkeys(MEASURED, score),
        "kinds": told,
    }


def write(directory, table, protocol, *rows):
    ceiling = {"scores": {name: {"mean": 0.99} for name in MEASURED}}
    parts = [{"data": "real", "protocol": protocol, "rows": rows, "ceiling": ceiling}]
    (directory / f"{table}.json").write_text(json.dumps({"parts": parts}))


def lines(directory, start):
    return [line for line in as_markdown(directory).splitlines() if line.startswith(start)]


def test_what_ships_is_what_the_tables_beside_it_say():
    assert (RESULTS / "targets.md").read_text() == as_markdown(RESULTS)


def test_every_target_names_a_task_of_its_table():
    for each in TARGETS:
        assert (each.data, each.protocol) in find_set(each.table).tasks
    for table, data, protocol in FIRST:
        assert (data, protocol) in find_set(table).tasks
    for each in CHANGES:
        assert ("real", each.protocol) in find_set(each.table).tasks


def test_a_table_that_is_not_there_is_said_to_be_missing(tmp_path):
    told = as_markdown(tmp_path)
    assert told.count("not run") == len(TARGETS) + 1 + len(FIRST) + len(CHANGES)


@pytest.mark.parametrize(("mean", "met"), [(0.9296, "yes"), (0.9294, "no, by 0.001")])
def test_a_target_is_met_by_the_number_that_is_shown(tmp_path, mean, met):
    others = (row("size", 0.5), row("gcn", 0.6))
    write(tmp_path, "distinct", "distinct-named", *others, row("default", mean))
    (line, first) = lines(tmp_path, "| real, distinct-named |")
    assert line == (
        f"| real, distinct-named | MAP@20 | 0.930 | {met} | {mean:.3f} | {mean - 0.01:.3f} to "
        f"{mean + 0.01:.3f} | 0.990 | 0.600, the gcn | 0.500, the size |"
    )
    assert first == "| real, distinct-named | 9 of 9 |  |"


def test_novelty_is_held_to_its_aim_beside_the_best_others(tmp_path):
    areas = [
        {"method": name, "mean": mean, "low": mean - 0.01, "high": mean + 0.01}
        for name, mean in (("size", 0.6), ("operators", 0.7), ("linear", 0.8), ("default", 0.9))
    ]
    (tmp_path / "novelty.json").write_text(json.dumps({"areas": areas}))
    assert lines(tmp_path, "| real, novelty |") == [
        "| real, novelty | area under ROC | 0.930 | no, by 0.030 | 0.900 | 0.890 to 0.910 | 1.000 "
        "| 0.800, presence, s<=1, one trained projection | 0.700, bag of operators |"
    ]


def test_every_protocol_of_a_table_is_compared_with_every_other_method():
    compared = {table for table, *_ in FIRST}
    assert compared >= {name for name, each in SETS.items() if each.methods == EVERY}


def test_a_column_that_another_wins_or_shares_is_named(tmp_path):
    other = row("paper", 0.9)
    other["scores"] = {**other["scores"], "map@20": {"mean": 0.95}, "ndcg@50": {"mean": 0.9301}}
    write(tmp_path, "unseen", "unseen-named", row("size", 0.5), other, row("default", 0.93))
    assert lines(tmp_path, "| real, unseen-named |")[1] == (
        "| real, unseen-named | 7 of 9 | the paper: MAP@20 0.950, NDCG@50 the same |"
    )


def test_changes_are_held_to_their_own_aims_the_strictest_first(tmp_path):
    ours = row("default", 0.9, width_2=0.1, renumbered=0.999, depth_1=0.95)
    other = row("size", 0.9, width_2=0.3, renumbered=0.5, depth_1=0.2)
    write(tmp_path, "rewrites", "rewrites", other, ours)
    told = [line for aim in ("| renu", "| wi", "| de") for line in lines(tmp_path, aim)]
    assert told == [
        "| renumbered | 1 | 1.00 | 0.999, missed | 0.500, the size |",
        "| width_2 | 1 | 0.95 | 0.100, missed | 0.300, the size |",
        "| depth_1 | 1 | 0.95 | 0.950 | 0.200, the size |",
    ]
    assert as_markdown(tmp_path).index("renumbered |") < as_markdown(tmp_path).index("width_2 |")
