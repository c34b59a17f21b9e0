"""The page of figures, and the lines that it is made of."""

import json
import sys

import pytest
import yaml

from benchmark.campaigns import report
from benchmark.campaigns.report import KEPT, PAGE, ROWS, TRACK_RECORD, page_of

LINE = {
    "campaign": "kills lite",
    "met": True,
    "done": 200,
    "wanted": 200,
    "figures": {"acknowledged": 100_000},
    "faults": [],
    "fault_count": 0,
    "seed": 1,
    "seconds": 900.0,
    "date": "2026-11-23",
    "command": "make campaign-kills",
    "machine": "2 cores",
}


@pytest.mark.parametrize(
    ("change", "met"),
    [
        ({}, "| yes |"),
        ({"wanted": 3, "done": 3}, "| at a smaller size |"),
        ({"met": False, "faults": ["row 7 is lost"], "fault_count": 1}, "| no |"),
    ],
)
def test_a_row_of_the_page(change, met):
    page = page_of([json.dumps({**LINE, "met": False}), json.dumps(LINE | change)], [])
    [row] = [each for each in page.splitlines() if "acknowledged 100000" in each]
    assert met in row
    assert ("the first of its faults: row 7 is lost" in page) is bool(change.get("faults"))
    assert page.count("| not run |") == len(ROWS) - 1


def test_a_campaign_that_is_run_again_changes_its_row_alone():
    kept = [json.dumps(LINE), json.dumps({**LINE, "campaign": "kills server"})]
    again = json.dumps({**LINE, "figures": {"acknowledged": 7}})
    page = page_of([*kept, again], [])
    assert page.count("acknowledged 7;") == page.count("acknowledged 100000;") == 1


def test_an_older_log_changes_no_row():
    older = json.dumps({**LINE, "date": "2026-11-22", "figures": {"acknowledged": 7}})
    assert "acknowledged 7;" not in page_of([json.dumps(LINE), older], [])


def test_a_campaign_without_a_row_is_named_and_not_kept(tmp_path, monkeypatch, capsys):
    paths = {"KEPT": tmp_path / "kept.jsonl", "PAGE": tmp_path / "page.md"}
    log = tmp_path / "log"
    paths["KEPT"].write_text("")
    log.write_text(f"{json.dumps(LINE)}\n{json.dumps({**LINE, 'campaign': 'overload name'})}\n")
    for name, path in paths.items():
        monkeypatch.setattr(report, name, path)
    monkeypatch.setattr(sys, "argv", ["report", str(log)])
    report.main()
    assert capsys.readouterr().err.endswith("no row for it: overload name\n")
    assert paths["KEPT"].read_text() == f"{json.dumps(LINE)}\n"


def test_the_page_is_made_of_what_is_kept_beside_it():
    track_record = yaml.safe_load(TRACK_RECORD.read_text())
    assert PAGE.read_text() == page_of(KEPT.read_text().splitlines(), track_record)


def test_the_track_record_reads():
    found = {"fault": "a", "found": "b", "fixed": "c", "command": "d"}
    assert "| a | b | c | d |" in page_of([], [found])
