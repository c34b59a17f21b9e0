"""The dashboard and the rules, asked of a real Prometheus that scrapes a live server."""

import json
import time
from pathlib import Path

import pytest
from authority import Authority
from live_server import live_server
from prometheus_server import prometheus
from tiny_index import known
from waiting import wait_for

from nar.client.client import Client
from nar.wire.settings import ClientConfig

DEPLOY = Path(__file__).parents[2] / "deploy"
PANELS = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
TARGETS = [
    pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")
    for panel in PANELS
    for target in panel["targets"]
    # A cluster of Ray has these; `tests/cluster/test_job_submit.py` looks at them there.
    if "ray_nar" not in target["expr"]
]


def call_every_method(client):
    graph = known("timm:plain")
    client.search(graph)
    client.embed([graph])
    client.get(["timm:plain"])
    client.describe()


# What two jobs have kept of themselves.
KEPT = """# TYPE nar_job_last_success_timestamp_seconds gauge
nar_job_last_success_timestamp_seconds{{name="{job}"}} {now:.3f}
# TYPE nar_job_duration_seconds gauge
nar_job_duration_seconds{{name="{job}"}} 31.500
# TYPE nar_job_rows gauge
nar_job_rows{{name="{job}",outcome="captured"}} 280.000
# TYPE nar_job_failures gauge
nar_job_failures{{name="{job}",kind="onnx"}} 3.000
"""


@pytest.fixture(scope="module")
def scraped(embedder, index, tmp_path_factory):
    """A Prometheus that has seen a server before and after some calls."""
    directory = tmp_path_factory.mktemp("prometheus")
    authority = Authority(directory, "authority")
    certificate, key = authority.issue("server")
    tls = {"certificate_file": certificate, "key_file": key}
    trust = ClientConfig(ca_file=authority.file)
    with live_server(embedder, index, tls=tls) as server:
        target = server.metrics_url.removeprefix("http://").removesuffix("/metrics")
        jobs = directory / "metrics"
        jobs.mkdir()
        for job in ("extract", "embed"):
            text = KEPT.format(job=job, now=time.time())
            (jobs / f"nar_job_{job}.prom").write_text(text)
        with (
            prometheus(directory, target, jobs) as running,
            Client(server.target, config=trust) as one,
        ):
            wait_for(lambda: running.values('nar_rpc_requests_total{method="Search"}') != [])
            call_every_method(one)
            wait_for(lambda: running.values("nar:search_duration_seconds:p99_rate5m") != [])
            yield running


@pytest.mark.slow
@pytest.mark.parametrize("expression", TARGETS)
def test_every_panel_shows_something(scraped, expression):
    asked = expression.replace("$instance", ".*").replace("$__rate_interval", "1m")
    wait_for(lambda: scraped.values(asked) != [])


@pytest.mark.slow
def test_what_has_not_failed_shows_as_zero(scraped):
    assert scraped.values("nar:rpc_errors:ratio_rate5m") == [0]
    assert set(scraped.values("rate(nar_store_errors_total[1m])")) == {0}
    assert set(scraped.values("rate(nar_rpc_rejected_total[1m])")) == {0}


@pytest.mark.slow
def test_prometheus_evaluates_every_rule_and_none_fires_on_a_new_server(scraped):
    def rules():
        return [rule for group in scraped.get("rules")["groups"] for rule in group["rules"]]

    wait_for(lambda: all(rule["health"] == "ok" for rule in rules()))
    alerts = {rule["name"]: rule["state"] for rule in rules() if rule["type"] == "alerting"}
    # The certificate of the test ends in a day.
    assert {name for name, state in alerts.items() if state != "inactive"} <= {
        "NarCertificateExpires",
        "NarCertificateEndsToday",
    }
    assert len(alerts) > 10
