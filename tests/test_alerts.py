"""The alert rules and the dashboard: valid, tested both ways, and about metrics that exist."""

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import grpc
import pytest
import yaml
from prometheus_client import generate_latest

from cluster.telemetry import KEPT, SHOWN
from nar.index.rows import ERRORS, IndexState
from nar.serve import telemetry
from nar.serve.telemetry import Arrivals, StoreMetrics

DEPLOY = Path(__file__).parents[1] / "deploy"
RULES = yaml.safe_load((DEPLOY / "rules.yml").read_text())
RULE_TESTS = yaml.safe_load((DEPLOY / "rules_test.yml").read_text())["tests"]
RUNBOOK = (DEPLOY / "RUNBOOK.md").read_text()
DASHBOARD = json.loads((DEPLOY / "dashboard.json").read_text())

EVERY_RULE = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS = [rule["alert"] for rule in EVERY_RULE if "alert" in rule]
RECORDED = {rule["record"] for rule in EVERY_RULE if "record" in rule}
PANELS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
EXPRESSIONS = [rule["expr"] for rule in EVERY_RULE] + PANELS

CLOSED_SETS = {
    "method": telemetry.METHODS,
    "code": telemetry.CALL_CODES,
    "stage": telemetry.STAGES,
    "reason": telemetry.REJECTIONS,
    "kind": ERRORS,
    "job": ("nar",),
}


def promtool(*arguments: str, cwd: Path = DEPLOY, stdin: bytes = b"") -> tuple[int, str]:
    """Exit code and output of promtool, which `make prometheus` puts beside the interpreter."""
    beside = Path(sys.executable).with_name("promtool")
    program = str(beside) if beside.exists() else shutil.which("promtool")
    assert program, "promtool is missing: run `make prometheus`"
    done = subprocess.run([program, *arguments], cwd=cwd, input=stdin, capture_output=True)
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "rules.yml"),
        ("test", "rules", "rules_test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_accepts(arguments):
    code, output = promtool(*arguments)
    assert code == 0, output


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_is_tested_firing_and_silent(alert):
    cases = [case for test in RULE_TESTS for case in test["alert_rule_test"]]
    outcomes = {bool(case["exp_alerts"]) for case in cases if case["alertname"] == alert}
    assert outcomes == {True, False}


def test_every_alert_has_an_entry_in_the_runbook_and_leads_to_it():
    entries = re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE)
    assert entries == ALERTS
    links = [rule["annotations"]["runbook_url"] for rule in EVERY_RULE if "alert" in rule]
    assert links == [f"RUNBOOK.md#{entry.lower()}" for entry in entries]


def test_every_entry_says_what_users_see_where_to_look_what_to_do_and_when_it_is_over():
    titles = [rule["alert"] for rule in EVERY_RULE if "alert" in rule]
    for alert, text in zip(titles, re.split(r"^## \w+$", RUNBOOK, flags=re.M)[1:], strict=True):
        severity = next(rule for rule in EVERY_RULE if rule.get("alert") == alert)["labels"]
        assert text.strip().startswith(f"**{severity['severity'].capitalize()}.**"), alert
        parts = [word for word in re.findall(r"\*\*(\w+)", text)[1:] if word[0].isupper()]
        assert {"Users", "Look", "Over"} <= set(parts), alert
        assert re.search(r"\*\*[Dd]o\*\*", text), alert


def test_links_of_the_runbook_lead_to_entries():
    titles = {alert.lower() for alert in ALERTS}
    assert set(re.findall(r"\]\(#(\w+)\)", RUNBOOK)) <= titles


@pytest.mark.slow
def test_queries_of_the_runbook_are_valid_and_about_metrics_that_are_served(tmp_path):
    code = re.findall(r"`([^`]+)`", RUNBOOK)
    queries = [text for text in code if metrics_of(text) and "{{" not in text]
    rules = [{"record": f"runbook:{n}", "expr": expr} for n, expr in enumerate(queries)]
    groups = {"groups": [{"name": "runbook", "rules": rules}]}
    (tmp_path / "runbook.yml").write_text(yaml.safe_dump(groups))
    done, output = promtool("check", "rules", "runbook.yml", cwd=tmp_path)
    assert done == 0, output
    assert {name for query in queries for name in metrics_of(query)} - offered() == set()
    assert len(queries) > 15


@pytest.mark.slow
@pytest.mark.parametrize("expression", ["vector(1) > 2", "vector(1)"], ids=["never", "always"])
def test_the_rule_tests_notice_an_alert_that_fires(tmp_path, expression):
    broken = [rule | {"expr": expression} if "alert" in rule else rule for rule in EVERY_RULE]
    rules = {"groups": [{"name": "broken", "rules": broken}]}
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
    shutil.copy(DEPLOY / "rules_test.yml", tmp_path)
    code, output = promtool("test", "rules", "rules_test.yml", cwd=tmp_path)
    assert code != 0
    assert [alert for alert in ALERTS if alert not in output] == []


def test_every_panel_asks_a_valid_question(tmp_path):
    plain = [panel.replace("$__rate_interval", "5m") for panel in PANELS]
    rules = [{"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(plain)]
    groups = {"groups": [{"name": "panels", "rules": rules}]}
    (tmp_path / "panels.yml").write_text(yaml.safe_dump(groups))
    code, output = promtool("check", "rules", "panels.yml", cwd=tmp_path)
    assert code == 0, output


def test_promtool_finds_no_fault_in_the_metrics():
    code, output = promtool("check", "metrics", stdin=generate_latest(served().registry))
    assert (code, output) == (0, "")


def test_rules_and_dashboard_name_metrics_that_are_served():
    wanted = {name for expression in EXPRESSIONS for name in metrics_of(expression)}
    assert wanted - offered() == set()
    assert len(wanted) > 10


def test_rules_and_dashboard_name_label_values_that_occur():
    pairs = {
        (label, value)
        for expression in EXPRESSIONS
        for label, values in re.findall(r'(\w+)!?=~?"([^"$]+)"', expression)
        for value in values.split("|")
    }
    assert {(label, value) for label, value in pairs if value not in CLOSED_SETS[label]} == set()
    assert ("method", "Search") in pairs


def test_every_fault_of_the_server_burns_the_budget():
    faults = "|".join(telemetry.FAULT_CODES)
    ratios = [rule for rule in EVERY_RULE if "rpc_errors" in rule.get("record", "")]
    assert len(ratios) == 4
    assert all(f'{{code=~"{faults}"}}' in rule["expr"] for rule in ratios)


class Asked:
    """What an index says of its store."""

    agreed_s, stale_since, errors = 0.0, None, dict.fromkeys(ERRORS, 0)
    state = IndexState("arch_1", is_in_memory=True, is_writable=False, visible_within_s=2)


def served() -> telemetry.Telemetry:
    metrics = telemetry.Telemetry()
    metrics.identify(version="0.2.0", fingerprint="aa", name="paper", dim=512)
    metrics.registry.register(StoreMetrics(Asked()))
    assert grpc_server()
    metrics.registry.register(Arrivals())
    return metrics


@cache
def grpc_server() -> grpc.Server:
    """What counts the calls that arrive, for as long as it is there."""
    return grpc.server(ThreadPoolExecutor(1))


def offered() -> set[str]:
    """Every name that an expression may ask for."""
    text = generate_latest(served().registry).decode()
    return set(re.findall(r"^(\w+)[{ ]", text, re.MULTILINE)) | RECORDED | {"up", *KEPT, *SHOWN}


def metrics_of(expression: str) -> set[str]:
    """Names in a PromQL expression that stand before a selector, a range, or on their own."""
    return set(
        re.findall(
            r"\b(?:(?:ray_)?nar[_:]|process_|up\b)[\w:]*", re.sub(r'"[^"]*"', "", expression)
        )
    )
